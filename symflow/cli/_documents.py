"""Documents that commands write into a folder."""

from __future__ import annotations

from pathlib import Path


def write_document(folder: Path, name: str, text: str) -> Path:
    """Write a text that ends in a newline, making the folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    return path
