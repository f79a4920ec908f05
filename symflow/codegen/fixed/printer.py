"""Straight-line code and a tableau as a Cython module: the template holds the structure, this the text."""

from __future__ import annotations

import hashlib
from typing import Any

from symflow.codegen.cython_printer import Printed
from symflow.codegen.fixed.unroll import Straight
from symflow.codegen.program import Program

#: How long a right-hand side may be to be fused with each of the sixteen places that call it.
MOST_INLINED = 70


def lanes_source(
    program: Program, straight: Straight, lanes: int, title: str, abi: str, versions: str
) -> Printed:
    """Return the Cython text of one right-hand side with its stepper.

    Parameters
    ----------
    program : Program
        Where it came from; its name says what becomes infinite at a singularity.
    straight : Straight
        The same at fixed sizes.
    lanes : int
        Members per register, 1, 2, 4 or 8.
    title, versions : str
        Shown in the docstring.
    abi : str
        Hash of the headers; part of the capsule's name.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("symflow.codegen", "templates")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("lanes.pyx.jinja")
    rho, rate = _growth(program, straight)
    values: dict[str, Any] = {
        "title": title.replace("\\", "/").replace('"', "'").replace("\n", " "),
        "versions": versions,
        "abi": abi,
        "lanes": lanes,
        "sizes": ", ".join(
            f"{array.name} {shape}" for array, shape in zip(program.inputs, straight.shapes, strict=True)
        ),
        "states": ", ".join(f"{program.inputs[n].name}[{i}, {j}]" for n, i, j in straight.slots),
        "parameters": ", ".join(f"{name}[{i}, {j}]" for name, i, j in straight.parameters) or "none",
        "n_states": len(straight.slots),
        "n_parameters": len(straight.parameters),
        "coefficients": straight.coefficients,
        "tableau": tableau_macros(),
        "inlined": int(len(straight.body) <= MOST_INLINED),
        "body": straight.body,
        "slopes": straight.slopes,
        "singular": straight.singular,
        "outside": straight.outside,
        "rho": rho,
        "rate": rate,
    }
    key = hashlib.sha256(template.render(**values, key="").encode()).hexdigest()[:32]
    return Printed(template.render(**values, key=key), key)


def _growth(program: Program, straight: Straight) -> tuple[str, str]:
    """Return tr(cov) and its derivative: |F|² of a factor, the trace of the covariance itself."""
    watched = [(n, slot) for n, slot in enumerate(straight.slots) if slot[0] > 0 or len(straight.shapes) == 1]
    if program.name == "moments":
        diagonal = [n for n, (_, i, j) in watched if i == j]
        return " + ".join(f"y[{n}]" for n in diagonal), " + ".join(f"dy[{n}]" for n in diagonal)
    rho = " + ".join(f"y[{n}]*y[{n}]" for n, _ in watched)
    rate = " + ".join(f"y[{n}]*dy[{n}]" for n, _ in watched)
    return rho, f"2.0*({rate})"


def tableau_macros() -> list[tuple[str, str]]:
    """Return the tableau of DOP853 as the rows X(stage, weight) that the header reads."""
    from symflow_ext.tableau import TABLEAUX

    table = TABLEAUX["dop853"]
    assert table.error_order == 7, "the header takes an eighth root"
    stages = len(table.c)
    rows = {f"ROW_{n}(X)": row for n, row in enumerate(table.a) if n > 0}
    rows |= {"ROW_B(X)": table.b, "ROW_ERROR(X)": table.error, "ROW_LOW(X)": table.error_low}
    rows |= {f"DENSE_ROW_{n}(X)": row for n, row in enumerate(table.dense_a)}
    rows |= {f"DENSE_WEIGHTS_{n}(X)": row for n, row in enumerate(table.dense)}
    found = [("STAGES", str(stages)), ("DENSE_STAGES", str(len(table.dense_a)))]
    found += [("DENSE_TERMS", str(len(table.dense)))]
    found += [(name, " ".join(f"X({j}, {w!r})" for j, w in row.items())) for name, row in rows.items()]
    found += [("ALL_STAGES", " ".join(f"STAGE({n});" for n in range(1, stages)))]
    found += [("DENSE_ALL_STAGES", " ".join(f"DENSE_STAGE({n});" for n in range(len(table.dense_a))))]
    found += [("DENSE_ALL_TERMS", " ".join(f"DENSE_TERM({n});" for n in range(len(table.dense))))]
    return found
