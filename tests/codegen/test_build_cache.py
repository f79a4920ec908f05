"""Build and cache: every way in which a file, a compiler or another process can be in the way."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symflow
from symflow import Attention, Softmax, clear_cache, compile
from symflow.codegen import build, cache, forms, kinds, shipped, versions
from symflow.codegen.cache import cache_info
from symflow.codegen.keys import model_key
from symflow.codegen.load import load_capsules, module_name
from symflow.errors import BackendWarning, BuildError, NotGaussianPreserving
from symflow.models.attention.model import SPACES
from symflow.models.registry import attention_models

ROOT = Path(symflow.__file__).parents[1]
SCORE = "3*dot(x, A*y)"

#: What a child process runs; it prints one line of JSON.
SCRIPT = """
import json, logging, sys, time, warnings
lines = []
class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
logging.getLogger("symflow.build").addHandler(Keep())
logging.getLogger("symflow.build").setLevel(logging.INFO)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from symflow import Attention, Softmax, compile
    start = time.perf_counter()
    kernel = compile(MODEL, backend="BACKEND")
    wall = time.perf_counter() - start
    mean, cov = kernel(0.0, [1, 0], [[1, 0], [0, 2]], A=[[1, 2], [0, 1]], V=[[1, 0], [0, 1]])
print(json.dumps({"cov": cov.tolist(), "backend": kernel.backend, "log": lines, "wall": wall,
                  "warnings": [[w.category.__name__, str(w.message)] for w in caught]}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache under a path with a space and Greek letters (B052)."""
    path = tmp_path / "sym flow β" / "k"
    monkeypatch.setenv("SYMFLOW_CACHE_DIR", str(path))
    return path


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CC is a wrapper that writes one line per call; it refuses -fopenmp (B055)."""
    log = tmp_path / "calls"
    log.touch()
    real = build.compiler()
    assert not isinstance(real, build.Missing)
    wrapper = tmp_path / "a compiler"
    wrapper.write_text(
        '#!/bin/sh\ncase " $* " in *" -fopenmp "*) exit 1;; esac\n'
        f'echo call >> "{log}"\nexec {" ".join(real)} "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", f"'{wrapper}'")
    return log


def calls(log: Path) -> int:
    return len(log.read_text().splitlines())


def value(kernel: Any) -> Any:
    return kernel(0.0, [1.0, 0.0], np.diag([1.0, 2.0]), A=[[1.0, 2.0], [0.0, 1.0]], V=np.eye(2))[1].tolist()


def start(
    model: str = f"Attention({SCORE!r})", backend: str = "auto", **environment: str
) -> subprocess.Popen[str]:
    code = SCRIPT.replace("MODEL", model).replace("BACKEND", backend)
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], env=env, stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def nothing_partial(folder: Path) -> None:
    leftovers = [p for p in folder.rglob("*") if p.name.startswith((".new-", ".old-", ".part-"))]
    assert not leftovers


def test_eight_processes_build_once(folder: Path, counter: Path) -> None:
    """B049."""
    found = [finish(process) for process in [start() for _ in range(8)]]
    assert len({json.dumps(f["cov"]) for f in found}) == 1
    assert {f["backend"] for f in found} == {"compiled"}
    assert calls(counter) == 1
    assert cache_info()["entries"] == 1
    nothing_partial(folder)


def test_second_process_needs_no_compiler(folder: Path, counter: Path) -> None:
    """B058: a hit in another process, with a log line and within a second."""
    first = value(compile(Attention(SCORE)))
    found = finish(start(PATH="/nonexistent", CC=""))
    assert found["cov"] == first
    assert found["backend"] == "compiled"
    assert found["warnings"] == []
    assert found["wall"] < 1.0
    assert any("cache hit" in line for line in found["log"])
    assert calls(counter) == 1


def test_hit_imports_nothing_heavy(folder: Path) -> None:
    """What a kernel that is there already does not need: expressions, derivations, generators, NumPy."""
    score = "dot(Q*x, K*y) - norm2(K*y)/sqrt(d)"
    compile(Attention(score))
    code = (
        "import sys, symflow, sympy; before = set(sys.modules); "
        f"symflow.compile(symflow.Attention({score!r}), backend='compiled'); "
        "print(*sorted(set(sys.modules) - before))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CC": "", "PATH": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    imported = done.stdout.split()
    heavy = ("symflow.algebra.grammar", "symflow.algebra.words", "symflow.derive", "symflow.codegen.lower")
    heavy += ("numpy", "scipy", "Cython", "jinja2", "filelock", "sympy.")
    assert not [name for name in imported if name.startswith(heavy)]
    assert "symflow_ext.call" in imported


def test_hit_derives_nothing(folder: Path, counter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile(Attention(SCORE))
    monkeypatch.setattr(kinds.GAUSSIAN, "lower", lambda *_: pytest.fail("lowering ran on a cache hit"))
    monkeypatch.setattr(build, "compiler", lambda: pytest.fail("the compiler was looked for on a cache hit"))
    compile(Attention(SCORE, beta=2, temperature=5))
    assert calls(counter) == 1


@pytest.mark.parametrize("damage", ["truncate", "flip", "metadata"])
def test_damaged_entry_is_rebuilt(folder: Path, counter: Path, damage: str) -> None:
    before = value(compile(Attention(SCORE)))
    (library,) = folder.glob("kernels/*/kernel.so")
    described = library.with_name("kernel.json")
    content = library.read_bytes()
    library.unlink()  # a new file: what this process has mapped stays whole
    if damage == "truncate":
        library.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        library.write_bytes(content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])
    elif damage == "metadata":
        library.write_bytes(content)
        described.write_text(described.read_text()[:40])
    assert value(compile(Attention(SCORE))) == before
    assert calls(counter) == 2
    nothing_partial(folder)


@pytest.mark.parametrize(
    "field", ["symflow", "python", "numpy", "cython", "scipy", "platform", "flags", "cpu", "abi"]
)
def test_entry_of_another_version_is_not_loaded(field: str, tmp_path: Path) -> None:
    """B056: neither its stamp nor its key fits."""
    now = versions.stamp()
    entry = tmp_path / "kernels" / "key"
    entry.mkdir(parents=True)
    (entry / "kernel.so").write_bytes(b"library")
    data = {"stamp": now, "size": 7, "sha256": __import__("hashlib").sha256(b"library").hexdigest()}
    (entry / "kernel.json").write_text(json.dumps(data))
    assert cache.find("key", now, tmp_path) is not None
    (entry / "kernel.json").write_text(json.dumps({**data, "stamp": {**now, field: "0"}}))
    assert cache.find("key", now, tmp_path) is None


@pytest.mark.parametrize("field", sorted(versions.stamp()))
def test_key_covers_everything_that_a_kernel_depends_on(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B056: under other versions, flags or another processor the entry is not even looked at."""
    now, names = versions.stamp(), frozenset({"A", "V"})
    assert {"python", "numpy", "cython", "symflow", "platform", "flags"} <= set(now)
    key = forms._index_key(Attention(SCORE), names, kinds.GAUSSIAN)
    monkeypatch.setattr(kinds, "stamp", lambda: {**now, field: "another"})
    assert forms._index_key(Attention(SCORE), names, kinds.GAUSSIAN) != key


def test_key_of_tokens_covers_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops over pairs are compiled into a kernel: it is outdated where one of their headers changes."""
    key = forms._index_key(Attention(SCORE), frozenset({"A", "V"}), kinds.TOKENS)
    assert key != forms._index_key(Attention(SCORE), frozenset({"A", "V"}), kinds.GAUSSIAN)
    monkeypatch.setattr("symflow_ext.contract.pairs_hash", lambda: "another")
    assert forms._index_key(Attention(SCORE), frozenset({"A", "V"}), kinds.TOKENS) != key


def test_kernels_never_ask_for_openmp() -> None:
    """B055: they are serial, so that a compiler without it builds the same kernel, and the page says so."""
    assert symflow.show_config()["openmp"] is False
    assert not any("openmp" in flag for flag in symflow.show_config()["flags"])


def test_versions_without_imports_are_the_imported_ones() -> None:
    import Cython
    import scipy
    import sympy

    found = versions.installed_versions()
    modules = {"cython": Cython, "numpy": np, "scipy": scipy, "sympy": sympy}
    assert found == {name: module.__version__ for name, module in modules.items()}


def test_relative_cache_and_chdir(tmp_path: Path, counter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B053."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYMFLOW_CACHE_DIR", "./k")
    paths = list(sys.path)
    first, second = compile(Attention(SCORE)), compile(Attention("4*dot(x, A*y)"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    third = compile(Attention(SCORE))
    assert value(first) == value(third) != value(second)
    assert sys.path == paths
    assert Path.cwd() == tmp_path / "elsewhere"
    assert (tmp_path / "k").is_dir()


def test_unwritable_cache_falls_back_to_a_private_one(
    tmp_path: Path, counter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B050; a file in the way stops root, too."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("SYMFLOW_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="SYMFLOW_CACHE_DIR") as caught:
        kernel = compile(Attention(SCORE))
    assert len(caught) == 1
    assert kernel.backend == "compiled"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = compile(Attention(SCORE))
    assert value(again) == value(kernel)
    assert calls(counter) == 1


def test_read_only_cache_still_serves_hits(folder: Path, counter: Path) -> None:
    before = value(compile(Attention(SCORE)))
    for path in (folder, folder / "kernels", folder / "index", folder / "locks"):
        path.chmod(0o555)
    try:
        assert value(compile(Attention(SCORE))) == before
    finally:
        for path in (folder, folder / "kernels", folder / "index", folder / "locks"):
            path.chmod(0o755)
    assert calls(counter) == 1


def test_import_writes_nothing(tmp_path: Path) -> None:
    """B050."""
    code = "import symflow; symflow.compile; symflow.Softmax(); symflow.show_config()"
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "c"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    del env["SYMFLOW_CACHE_DIR"]
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_without_compiler_a_users_model_runs_on_numpy_with_one_warning(folder: Path) -> None:
    """B047."""
    found = finish(start(PATH="/nonexistent", CC=""))
    assert found["backend"] == "numpy"
    ((category, message),) = found["warnings"]
    assert category == BackendWarning.__name__
    for word in ("no C compiler", "NumPy", "CC", "install"):
        assert word in message
    assert found["cov"] == value(compile(Attention(SCORE), backend="numpy"))
    assert not folder.exists()


def test_without_compiler_compiled_is_a_short_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B047."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("CC", "")
    with pytest.raises(BuildError) as caught:
        compile(Attention(SCORE), backend="compiled")
    assert len(str(caught.value).splitlines()) <= 15
    assert "install" in str(caught.value)
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(BuildError, match="CC=no-such-compiler"):
        compile(Attention(SCORE), backend="compiled")
    monkeypatch.setenv("CC", 'gcc "-m64')
    with pytest.raises(BuildError, match="correct CC"):
        compile(Attention(SCORE), backend="compiled")


def test_failing_compiler_is_a_short_error_with_the_log(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo error $i >&2; done\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(BuildError) as caught:
        compile(Attention(SCORE), backend="compiled")
    text = str(caught.value)
    assert len(text.splitlines()) <= 15
    assert "error 12" in text
    assert "Remedy" in text
    assert "error 1\n" in caught.value.log
    nothing_partial(folder)
    with pytest.warns(BackendWarning, match="could not be compiled") as warned:
        kernel = compile(Attention(SCORE))
    assert len(warned) == 1
    assert kernel.backend == "numpy"


def test_compiler_that_refuses_native_code_is_used_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = build.compiler()
    assert not isinstance(real, build.Missing)
    script = tmp_path / "cc"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-march=native*) exit 1;; esac\nexec {" ".join(real)} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    assert compile(Attention(SCORE)).backend == "compiled"


def test_a_refused_model_leaves_no_process_and_no_file(folder: Path) -> None:
    with pytest.raises(NotGaussianPreserving):
        compile(Attention("dot(x, A*y)**2"), entry="moments")
    assert cache_info()["entries"] == 0


def test_a_full_disk_is_a_build_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "install", full)
    with pytest.raises(BuildError, match="No space left"):
        compile(Attention(SCORE), backend="compiled")
    with pytest.warns(BackendWarning, match="No space left"):
        assert compile(Attention(SCORE)).backend == "numpy"
    nothing_partial(folder)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="Permission"):
        cache.write_atomically(tmp_path / "file", b"text")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_vanishes_before_it_is_loaded_is_built_again(
    folder: Path, counter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = value(compile(Attention(SCORE)))
    load, attempts = forms.load_capsules, []

    def cleared_first(*args: Any) -> Any:
        """As another process sees it: this one has the library mapped and would load it from memory."""
        attempts.append(args)
        if len(attempts) == 1:
            clear_cache()
            raise ImportError("cannot open shared object file")
        return load(*args)

    monkeypatch.setattr(forms, "load_capsules", cleared_first)
    assert value(compile(Attention(SCORE))) == before
    assert calls(counter) == 2


def test_an_interrupt_while_waiting_ends_the_child(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children = []

    def interrupted(builder: build.Builder) -> None:
        children.append(builder._child)
        raise KeyboardInterrupt

    monkeypatch.setattr(build.Builder, "_acquire", interrupted)
    with pytest.raises(KeyboardInterrupt), build.Builder("name"):
        pass
    assert children[0] is not None
    assert children[0].poll() is not None


def test_info_passes_over_what_is_no_kernel(folder: Path) -> None:
    for name, content in (("a", "[]"), ("b", "{}"), ("c", "{")):
        (folder / "kernels" / name).mkdir(parents=True)
        (folder / "kernels" / name / "kernel.json").write_text(content)
    assert cache_info()["entries"] == 0


def test_info_and_clear(folder: Path) -> None:
    assert clear_cache() == {"path": str(folder), "entries": 0, "bytes": 0}
    kernel = compile(Attention(SCORE))
    text = kernel.source
    info = cache_info()
    assert info["path"] == str(folder)
    assert info["entries"] == 1
    assert info["bytes"] > 10_000
    assert info["kernels"][0]["name"] == "attention"
    assert clear_cache()["entries"] == 1
    assert cache_info()["entries"] == 0
    assert kernel.source == text  # what is loaded stays usable
    assert value(kernel) == value(compile(Attention(SCORE), backend="numpy"))


def test_flags_never_flush_denormals() -> None:
    assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"} & {
        *versions.COMPILE_FLAGS,
        *versions.OPTIONAL_FLAGS,
    }


def test_log_names_hit_and_miss(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="symflow.build"):
        compile(Attention(SCORE))
        compile(Attention(SCORE))
    assert [record.getMessage().split()[1] for record in caplog.records] == ["miss", "hit"]


def test_every_shipped_model_is_generated_in_every_parametrisation(tmp_path: Path) -> None:
    """What ``setup.py`` writes compiles, and holds one capsule per parametrisation; one is built."""
    modules = shipped.generate(tmp_path)
    index = json.loads((tmp_path / shipped.INDEX).read_bytes())
    of_laws = [name for name in modules if name in attention_models()]
    assert {"l2", "softmax"} <= set(of_laws) < set(attention_models())  # sigmoid does not close
    assert set(index["open"]).isdisjoint(index["forms"]["gaussian"])
    for name in of_laws:
        model = attention_models()[name]()
        keys = [model_key(model, names) for names in model.parametrisations()]
        wanted = [index["forms"]["gaussian"][key] for key in keys]
        assert {entry["module"] for entry in wanted} == {name}
        text = (tmp_path / f"{name}.pyx").read_text()
        assert all(text.count(f'"{entry["interface"]["name"]}": PyCapsule_New') == 1 for entry in wanted)
        assert text.count(": PyCapsule_New") == len(wanted)
        assert frozenset(index["defaults"][model_key(model)]) == model.parametrisations()[0]
    with build.Builder("softmax") as builder:
        text = (tmp_path / "softmax.pyx").read_text()
        built = builder.build(text, "softmax", {}, versions.stamp())
    capsules = load_capsules(built.library, module_name("softmax"))
    assert text.count(": PyCapsule_New") == len(capsules) == len(Softmax().parametrisations())
    for model in (kind(space=space) for kind in attention_models().values() for space in SPACES):
        for names in model.parametrisations():
            found = index["forms"]["tokens"][model_key(model, names)]
            text = (tmp_path / f"{found['module']}.pyx").read_text()
            assert text.count(f'"{found["interface"]["name"]}": PyCapsule_New') == 1


def test_installed_kernels_need_neither_cython_nor_compiler(tmp_path: Path) -> None:
    if shipped.find(Softmax(), Softmax().parametrisations()[0]) is None:
        pytest.skip("this checkout was not built by setup.py, or has changed since")
    code = (
        "import sys; sys.modules['Cython'] = None; from symflow import Softmax, compile; "
        "print(compile(Softmax(), backend='compiled'))"
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": "/nonexistent",
        "SYMFLOW_CACHE_DIR": str(tmp_path / "c"),
    }
    out = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    assert out.stdout.startswith("Kernel(softmax-A;")
    assert not (tmp_path / "c").exists()


def test_cython_still_has_the_alphabet_that_the_worker_narrows() -> None:
    """Without it every build takes half a second longer, and nothing else would tell."""
    from Cython.Compiler import Lexicon

    for kind in ("start", "continuation"):
        assert isinstance(getattr(Lexicon, f"unicode_{kind}_ch_any"), str)
        assert isinstance(getattr(Lexicon, f"unicode_{kind}_ch_range"), str)
