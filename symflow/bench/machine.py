"""What the numbers of a benchmark depend on: machine, load, versions, compiler."""

from __future__ import annotations

import os
import platform


def machine() -> dict[str, str]:
    """Return what the numbers depend on."""
    from symflow.codegen.build import compiler
    from symflow.codegen.versions import installed_versions

    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "?")
    versions = " ".join(f"{name} {version}" for name, version in installed_versions().items())
    cores, load = os.cpu_count(), os.getloadavg()[0]
    return {
        "machine": f"{model}, {cores} cores, load {load:.2f}",
        "python": f"{platform.python_version()}, {platform.platform()}",
        "versions": versions,
        "compiler": str(compiler()),
    }
