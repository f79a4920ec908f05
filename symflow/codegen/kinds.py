"""What can be generated of a model: the equations of Gaussian laws, and the system of its tokens.

Everything that needs SymPy is imported when something is generated: a kernel that exists needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from symflow.codegen.versions import COMPILE_FLAGS, OPTIONAL_FLAGS, package_version, register_bits, stamp

if TYPE_CHECKING:
    from symflow.codegen.interface import Interface
    from symflow.codegen.program import Program
    from symflow.codegen.tokens.program import TokenProgram

#: For the compiler; the second ones it may refuse.
Flags = tuple[tuple[str, ...], tuple[str, ...]]


class Kind(Protocol):
    """The way from a model to text.

    Attributes
    ----------
    name : str
        Part of the key of what is built.
    flags : (tuple of str, tuple of str)
        For the compiler.
    """

    name: str

    @property
    def flags(self) -> Flags:
        """Flags of the compiler, and those it may lack."""
        ...

    def stamp(self) -> dict[str, str]:
        """Return what a compiled kernel depends on besides its source."""

    def lower(self, model: Any, names: frozenset[str]) -> Any:
        """Derive and lower a model for the parameters with these names."""

    def interface(self, lowered: Any) -> Interface:
        """Return names and shapes of what was lowered."""

    def cython(self, model: Any, lowered: Any) -> str:
        """Return its Cython text."""

    def numpy(self, model: Any, lowered: Any) -> str:
        """Return its NumPy text."""


def _title(model: Any) -> str:
    return f"{model.name}: s(x, y) = beta/temperature * ({model.score}), v(y) = {model.value}"


def _plain_title(model: Any) -> str:
    return _title(model).replace("\\", "/").replace('"', "'")


class _Gaussian:
    """Mean and covariance of Gaussian laws."""

    name = "gaussian"
    flags: Flags = (COMPILE_FLAGS, OPTIONAL_FLAGS)

    def stamp(self) -> dict[str, str]:
        return stamp()

    def lower(self, model: Any, names: frozenset[str]) -> Mapping[str, Program]:
        from symflow.codegen.lower import programs_of

        return programs_of(model, names)

    def interface(self, lowered: Mapping[str, Program]) -> Interface:
        from symflow.codegen.interface import of_programs

        return of_programs(lowered)

    def cython(self, model: Any, lowered: Mapping[str, Program]) -> str:
        from symflow.codegen.cython_printer import Kernelset, cython_source
        from symflow_ext.contract import abi_hash

        kernel = Kernelset(next(iter(lowered.values())).model, tuple(lowered.values()))
        return cython_source([kernel], _title(model), abi_hash(), f"symflow {package_version()}").text

    def numpy(self, model: Any, lowered: Mapping[str, Program]) -> str:
        from symflow.codegen.numpy_printer import numpy_source

        return numpy_source(lowered.values(), _plain_title(model))


class _Tokens:
    """Velocities of n tokens."""

    name = "tokens"

    @property
    def flags(self) -> Flags:
        """Never -ffast-math; of the copies for registers of every width, this machine's and the least one."""
        host = f"-DSYMFLOW_HOST={register_bits()}" if register_bits() else ""
        flags = ("-O3", "-fPIC", "-DNDEBUG", "-fno-math-errno", "-fwrapv", "-ffp-contract=off", "-w", host)
        return tuple(flag for flag in flags if flag), ()

    def stamp(self) -> dict[str, str]:
        from symflow_ext.contract import pairs_hash

        return {**stamp(), "pairs": pairs_hash(), "flags": " ".join((*self.flags[0], *self.flags[1]))}

    def lower(self, model: Any, names: frozenset[str]) -> TokenProgram:
        from symflow.codegen.tokens.lower import token_program_of

        return token_program_of(model, names)

    def interface(self, lowered: TokenProgram) -> Interface:
        from symflow.codegen.interface import of_tokens

        return of_tokens(lowered)

    def cython(self, model: Any, lowered: TokenProgram) -> str:
        from symflow.codegen.tokens.cython_source import cython_source
        from symflow_ext.contract import abi_hash

        return cython_source([lowered], _title(model), abi_hash(), f"symflow {package_version()}").text

    def numpy(self, model: Any, lowered: TokenProgram) -> str:
        from symflow.codegen.tokens.numpy_source import numpy_source

        return numpy_source(lowered, _plain_title(model))


GAUSSIAN: Kind = _Gaussian()
TOKENS: Kind = _Tokens()
