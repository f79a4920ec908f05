"""Derive the shipped models, generate their kernels, and compile these and the hand-written runtime.

Metadata is in pyproject.toml. Every extension is optional: without a compiler symflow installs and runs on
NumPy.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # an isolated build does not see the package that it builds

from symflow_ext.sources import COMPILE_ARGS, COMPILER_DIRECTIVES, EXTENSIONS, INCLUDE_DIRS  # noqa: E402

KERNELS = "symflow_ext.kernels"

#: Without debug information a wheel is a third of the size.
FLAGS = [*COMPILE_ARGS, "-g0"]


def runtime() -> list[Extension]:
    """Return the hand-written extensions."""
    return [
        Extension(name, [source], include_dirs=INCLUDE_DIRS, extra_compile_args=FLAGS, optional=True)
        for name, source in EXTENSIONS.items()
    ]


class BuildKernels(build_ext):
    """``build_ext`` that first writes the kernels of the shipped models."""

    def finalize_options(self) -> None:
        """Use every core; several modules are independent."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        """Generate, translate, compile, and put text and index beside the compiled kernels."""
        from Cython.Build import cythonize

        folder = Path(self.build_temp, "kernels")
        written = self._generated(folder)
        translated = cythonize(
            [*runtime(), *written],
            build_dir=self.build_temp,
            include_path=[str(ROOT)],
            compiler_directives=COMPILER_DIRECTIVES,
        )
        for extension in translated:
            extension._needs_stub = False  # setuptools sets it before cythonize makes new ones
        self.extensions[:] = translated
        super().run()
        target = ROOT if self.inplace else Path(self.build_lib)
        package = target.joinpath(*KERNELS.split("."))
        package.mkdir(parents=True, exist_ok=True)
        for path in (*folder.glob("*.pyx"), folder / "index.json"):
            shutil.copyfile(path, package / path.name)

    def _generated(self, folder: Path) -> list[Extension]:
        """Return the extensions of the shipped models, after writing their sources to ``folder``."""
        from symflow.codegen.shipped import generate

        return [
            Extension(
                f"{KERNELS}.{name}",
                [os.path.relpath(folder / f"{name}.pyx")],
                include_dirs=INCLUDE_DIRS,
                extra_compile_args=FLAGS,
                optional=True,
            )
            for name in generate(folder)
        ]


setup(ext_modules=runtime(), cmdclass={"build_ext": BuildKernels})
