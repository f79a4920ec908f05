"""Requirements as pyproject.toml states them: ``floors`` (every lower bound as ==) or the names of extras."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def floors() -> list[str]:
    """Return each runtime dependency at its oldest supported version."""
    return [re.sub(">=", "==", requirement) for requirement in PROJECT["dependencies"]]


def extras(names: list[str]) -> list[str]:
    """Return what the extras ask for."""
    return sorted({requirement for name in names for requirement in PROJECT["optional-dependencies"][name]})


if __name__ == "__main__":
    arguments = sys.argv[1:]
    print("\n".join(floors() if arguments == ["floors"] else extras(arguments)))
