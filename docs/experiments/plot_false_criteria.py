r"""
Two criteria that do not hold
=============================

The sign of :math:`S = VA + A^\top V^\top` is often taken to decide the fate of a covariance under softmax
attention: negative, it would tend to a limit of low rank; with a positive eigenvalue, it would blow up.
Both are false for general (V, A). The package finds a counterexample to each, and a certificate that can
be checked without the search.
"""

import numpy as np
from measure import keep, read_options
from sympy import sympify

import symflow
from symflow.plot import CovariancePath, cone, eigenvalues

OPTIONS = read_options()
POINTS = 400 if OPTIONS.size == "paper" else 80

# %%
# The verdicts
# ------------

verdicts = {name: symflow.check(f"CACP25/{name}") for name in ("low-rank-limit", "blow-up-criterion")}
for name, verdict in verdicts.items():
    print(f"{name}: {verdict.status}, replayed: {verdict.replay()}")
    print(verdict.witness)


def matrix(name: str, key: str) -> np.ndarray:
    """Return a matrix of rationals from a witness."""
    return np.array(sympify(verdicts[name].witness[key]), dtype=float)


# %%
# Runs from the witnesses
# -----------------------
# S is negative definite, and yet the covariance stays on its ray and blows up; S has a positive
# eigenvalue, and yet the covariance exists for all times and tends to rank one.

runs, paths = {}, []
titles = {
    "low-rank-limit": r"$S \prec 0$, and blow-up",
    "blow-up-criterion": r"$\lambda_{\max}(S) > 0$, no blow-up",
}
for name, end in (("low-rank-limit", 1.0), ("blow-up-criterion", 6.0)):
    V, A, cov = (matrix(name, key) for key in ("V", "A", "Sigma(0)"))
    S = V @ A + A.T @ V.T
    law = symflow.Gaussian(np.zeros(2), cov)
    run = runs[name] = symflow.solve(
        symflow.Softmax(), law, {"V": V, "A": A}, (0, end), t_eval=np.linspace(0, end, POINTS)
    )
    proved = symflow.long_time(symflow.Softmax(), law, {"V": V, "A": A})
    print(f"{name}: eigenvalues of S {np.linalg.eigvalsh(S).round(4).tolist()}")
    print(f"    run: {run.message}")
    print(f"    proved: {proved}")
    star = None if proved.blow_up_time is None else float(proved.blow_up_time)
    limit = None if proved.limit is None else np.array(proved.limit, float)
    paths.append(CovariancePath(titles[name], run.t, run.cov, limit=limit, t_star=star))

eigenvalue_figure = eigenvalues(paths)
keep(eigenvalue_figure, OPTIONS, "false_criteria_eigenvalues")

# %%
# In the cone
# -----------
# The first runs up a ray to infinity, the second along a line to the boundary.

cone_figure = cone(
    {path.label: [CovariancePath("", path.t, path.cov, limit=path.limit)] for path in paths}, columns=2
)
keep(cone_figure, OPTIONS, "false_criteria_cone")

# %%
# What holds instead
# ------------------

for name in ("low-rank-limit-commuting", "blow-up-time", "bounded-positive", "limit-zero-positive"):
    print(symflow.check(f"CACP25/{name}"))
