"""Generated source → shared object, in a child process, under a lock, by one rename.

The child starts before the model is derived, so that importing Cython and deriving overlap.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from symflow.codegen import cache
from symflow.codegen.load import Missing as Missing
from symflow.codegen.load import module_name
from symflow.codegen.versions import COMPILE_FLAGS, OPTIONAL_FLAGS
from symflow.errors import BuildError

#: Lines of the compiler's output that a message shows; ``BuildError.log`` has all of it.
_SHOWN = 8

_COMPILERS = ("cc", "gcc", "clang")


def compiler() -> list[str] | Missing:
    """Return the command of the C compiler: ``CC`` if set, else Python's own, else cc, gcc or clang."""
    remedy = "install one (Debian: apt install gcc; macOS: xcode-select --install) or set CC"
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        try:
            command = shlex.split(chosen)
        except ValueError as error:  # a quotation that does not end
            return Missing(f"the C compiler CC={chosen} cannot be read ({error})", "correct CC or unset it")
        if not command or shutil.which(command[0]) is None:
            return Missing(f"the C compiler CC={chosen} is not on PATH", "correct CC or unset it")
        return command
    for name in (*_pythons_own(), *_COMPILERS):
        if shutil.which(name) is not None:
            return [name]
    return Missing("no C compiler is on PATH", remedy)


def _pythons_own() -> tuple[str, ...]:
    words = shlex.split(str(sysconfig.get_config_var("CC") or ""))
    return tuple(words[:1])


def missing() -> Missing | None:
    """Return what keeps this machine from building kernels, or None."""
    if importlib.util.find_spec("Cython") is None:
        return Missing("Cython is not installed", "pip install cython")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        return Missing(
            f"the Python headers are missing ({header})", "install them (Debian: apt install python3-dev)"
        )
    found = compiler()
    return found if isinstance(found, Missing) else None


class Builder:
    """The right to build one kernel, and a child process that has Cython loaded; use it as a context manager.

    The child starts at once. Where another process is building the same model, it is stopped again, and
    entering the context waits for that process to finish.

    Parameters
    ----------
    name : str
        Names the lock: processes with the same name build one after the other.

    Attributes
    ----------
    waited : bool
        Whether another process was building: the kernel may be there now.
    """

    def __init__(self, name: str) -> None:
        lacking = missing()
        if lacking is not None:
            raise BuildError(f"this kernel cannot be compiled: {lacking}")
        self._name = name
        self.waited = False
        self._child: subprocess.Popen[str] | None = None
        self._lock: Any = None

    def __enter__(self) -> Builder:
        self._child = _start_child()
        try:
            self._acquire()
        except BaseException:  # Ctrl-C while waiting: nothing else would end the child
            self._stop()
            raise
        return self

    def _acquire(self) -> None:
        from filelock import FileLock, Timeout

        self._root = cache.writable_dir()
        self._lock = FileLock(str(self._root / "locks" / f"{self._name}.lock"))
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            self.waited = True
            self._stop()
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._stop()
        self._lock.release()

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def build(
        self,
        source: str,
        key: str,
        data: dict[str, Any],
        stamp: dict[str, str],
        pointed_by: str | None = None,
        flags: tuple[tuple[str, ...], tuple[str, ...]] = (COMPILE_FLAGS, OPTIONAL_FLAGS),
    ) -> cache.Entry:
        """Return the kernel of ``source``: the cached one where there is one already.

        Parameters
        ----------
        source : str
            Cython text.
        key : str
            Content key of the kernel; names folder and module.
        data : dict
            Written to ``kernel.json``.
        stamp : dict
            What the kernel depends on besides its source.
        pointed_by : str, optional
            Key of a model that is to lead to this kernel.
        flags : (tuple of str, tuple of str)
            For the compiler; without the second ones where it refuses them.

        Raises
        ------
        BuildError
            If Cython or the compiler refuses the source, ``log`` is their output; or if the files cannot be
            written.
        """
        from filelock import FileLock

        try:
            with FileLock(str(self._root / "locks" / f"kernel-{key}.lock")):  # two models may have one source
                entry = cache.find(key, stamp, self._root) or self._install(
                    source, key, {**data, "stamp": stamp}, flags
                )
            if pointed_by is not None:
                cache.point(pointed_by, key, self._root)
        except OSError as error:  # a full disk, or a cache that was removed meanwhile
            raise BuildError(
                f"this kernel cannot be built in {self._root}: {error}; free space or set SYMFLOW_CACHE_DIR"
            ) from error
        return entry

    def _install(
        self, source: str, key: str, data: dict[str, Any], flags: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> cache.Entry:
        folder = Path(tempfile.mkdtemp(dir=self._root / "kernels", prefix=".new-"))
        try:
            self._run(folder, source, module_name(key), flags)
            return cache.install(folder, key, data, self._root)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self, folder: Path, source: str, module: str, flags: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> None:
        (folder / "kernel.pyx").write_text(source, encoding="utf-8")
        command = compiler()
        if isinstance(command, Missing):
            raise BuildError(f"this kernel cannot be compiled: {command}")
        job = {
            "folder": str(folder),
            "module": module,
            "compiler": command,
            "flags": [*_linking(), *flags[0], *_includes()],
            "optional": list(flags[1]),
        }
        child = self._child = self._child or _start_child()
        output, _ = child.communicate(json.dumps(job))
        self._child = None
        if child.returncode != 0 or not (folder / "kernel.so").exists():
            raise _failure(child.returncode, output, command)
        (folder / "kernel.c").unlink()


def _start_child() -> subprocess.Popen[str]:
    """Start the child; it imports Cython and waits for a job on its standard input."""
    spec = importlib.util.find_spec("Cython")
    assert spec is not None and spec.origin is not None
    worker = str(Path(__file__).with_name("_worker.py"))
    site = str(Path(spec.origin).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-S", "-E", "-B", worker, site],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def _linking() -> list[str]:
    return ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]


def _includes() -> list[str]:
    from symflow_ext.contract import HEADER

    return [f"-I{HEADER.parent}", f"-I{sysconfig.get_path('include')}"]


def _failure(code: int, output: str, command: list[str]) -> BuildError:
    lines = [line for line in output.splitlines() if line.strip()]
    who = "Cython" if code == 3 else shlex.join(command)
    shown = "\n".join(f"  {line[:160]}" for line in lines[-_SHOWN:])
    message = (
        f"this kernel could not be compiled: {who} failed with status {code}. Its output ends:\n{shown}\n"
        "The whole output is in the attribute 'log' of this error.\n"
        "Remedy: check that the compiler works (CC selects another one), or use backend='numpy'."
    )
    return BuildError(message, log=output)
