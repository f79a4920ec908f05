"""Child process of a build: warms Cython up while the parent derives, then compiles what it reads on stdin.

Run by path with ``python -S -E``: it imports nothing of symflow and nothing that it does not need. Of the
second that Cython 3.3 takes for a kernel 0.1 s depends on it; the rest is over before the source arrives.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Read one job as JSON from stdin; exit 0 when the library is there."""
    gc.disable()  # a short life
    sys.path.append(sys.argv[1])
    _warm_up()
    text = sys.stdin.read()
    if not text:
        return 0  # the parent gave up: the model was refused, or another process had built the kernel
    job = json.loads(text)
    os.chdir(job["folder"])
    if not _cythonise("kernel", job["module"]):
        return 3
    return _compile(job["compiler"], job["flags"], job["optional"])


def _cythonise(stem: str, module: str) -> bool:
    """Translate ``stem.pyx`` in the current folder to C; Cython prints what it objects to."""
    compiler = importlib.import_module("Cython.Compiler.Main")
    options = compiler.CompilationOptions(output_file=f"{stem}.c", language_level=3)
    return not compiler.compile_single(f"{stem}.pyx", options, full_module_name=module).num_errors


def _warm_up() -> None:
    """Translate an empty module: imports, tables and the scanner are then in memory."""
    _narrow_scanner()
    with tempfile.TemporaryDirectory(prefix="symflow-") as folder:
        os.chdir(folder)
        Path("warm.pyx").write_text("cdef int warm = 0\n", encoding="utf-8")
        _cythonise("warm", "warm")
        os.chdir(os.path.dirname(folder))


def _narrow_scanner() -> None:
    """Let identifiers be ASCII, as in every generated source: making the scanner takes 0.01 s, not 0.5 s."""
    lexicon = importlib.import_module("Cython.Compiler.Lexicon")
    alphabet = {
        "unicode_start_ch_any": "_",
        "unicode_start_ch_range": "AZaz",
        "unicode_continuation_ch_any": "_",
        "unicode_continuation_ch_range": "09",
    }
    if all(isinstance(getattr(lexicon, name, None), str) for name in alphabet):
        for name, letters in alphabet.items():
            setattr(lexicon, name, letters)


def _compile(compiler: list[str], flags: list[str], optional: list[str]) -> int:
    """Run the compiler, without the optional flags where it refuses them."""
    files = ["kernel.c", "-o", "kernel.so"]
    for tried in ([*compiler, *flags, *optional, *files], [*compiler, *flags, *files]):
        done = subprocess.run(
            tried, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if done.returncode == 0:
            return 0
    sys.stderr.write(" ".join(tried) + "\n" + done.stdout + done.stderr)
    return 4


if __name__ == "__main__":
    raise SystemExit(main())
