"""Certificates: claims with their proof objects, as JSON.

A certificate stores the claim id, the *statement* (model, system and domain, as text of the small grammar),
the scope and lemmas it admits to, the kind of its proof object, and the proof object.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from symflow.errors import CertificateError

FORMAT = "symflow-certificate"
VERSION = 1
_STATUSES = ("proved", "refuted")
_KEYS = ("format", "version", "claim", "status", "kind", "statement", "scope", "assumes", "proof", "versions")
MAX_CHARACTERS = 4_000_000  #: of a certificate file
VERDICT_KEYS = ("claim", "status", "scope", "assumes")  #: what a verdict repeats of its certificate


@dataclass(frozen=True)
class Certificate:
    """A claim together with an object that proves it.

    Attributes
    ----------
    claim : str
        Id of the claim.
    status : str
        ``"proved"`` or ``"refuted"``.
    kind : str
        Name of the kind of proof object.
    statement : Mapping
        What is claimed, as text.
    scope : str
        For what it is claimed; follows from the statement and must agree with it.
    assumes : tuple of str
        Names of the lemmas used; follows from the proof and must agree with it.
    proof : Mapping
        The proof object.
    versions : Mapping of str to str
        Of the software that wrote it; for information only.
    """

    claim: str
    status: str
    kind: str
    statement: Mapping[str, Any]
    scope: str
    assumes: tuple[str, ...]
    proof: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for key in ("claim", "status", "kind", "scope"):
            if not isinstance(getattr(self, key), str):
                raise CertificateError(f"{key!r} must be text")
        if self.status not in _STATUSES:
            raise CertificateError(f"status {self.status!r}: a certificate is for {' or '.join(_STATUSES)}")
        for key in ("statement", "proof", "versions"):
            if not isinstance(getattr(self, key), Mapping):
                raise CertificateError(f"{key!r} must be an object")
        if not all(isinstance(text, str) for text in self.versions.values()):
            raise CertificateError("'versions' must be texts")
        if not isinstance(self.assumes, tuple) or not all(isinstance(name, str) for name in self.assumes):
            raise CertificateError("'assumes' must be a list of names of lemmas")
        _check_texts([getattr(self, key) for key in _KEYS[2:]])

    def to_json(self, indent: int | None = 1) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_record(), indent=indent, ensure_ascii=False)

    def to_record(self) -> dict[str, Any]:
        """Return the certificate as plain data."""
        own = {key: getattr(self, key) for key in _KEYS[2:]}
        return {"format": FORMAT, "version": VERSION, **own, "assumes": list(self.assumes)}

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate from JSON text.

        Raises
        ------
        CertificateError
            If the text is not JSON or does not follow the schema; the message names the fault.
        """
        return cls.from_record(load_json(text))

    @classmethod
    def from_record(cls, record: Any) -> Certificate:
        """Read a certificate from plain data; raises `CertificateError` as :meth:`from_json`."""
        _check_frame(record)
        assumes = record["assumes"]
        fields = {key: record[key] for key in _KEYS[2:]}
        return cls(**fields | {"assumes": tuple(assumes) if isinstance(assumes, list) else assumes})

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate, or the one inside a verdict, from a file.

        Raises
        ------
        CertificateError
            If the file cannot be read or does not follow the schema, or if it holds a verdict that disagrees
            with its certificate.
        """
        record = read_file(path)
        if not isinstance(record, dict) or "format" in record or not record.get("certificate"):
            return cls.from_record(record)
        certificate = cls.from_record(record["certificate"])
        stored = certificate.to_record()
        for key in VERDICT_KEYS:
            if record.get(key) != stored[key]:
                raise CertificateError(
                    f"the verdict in {str(path)!r} has another {key!r} than its certificate"
                )
        return certificate


def software() -> dict[str, str]:
    """Return the versions that are written into new certificates."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in ("symflow", "sympy")}}


def version_of(name: str) -> str:
    """Return the version of an installed distribution, or "source"."""
    try:
        return str(metadata.version(name))
    except metadata.PackageNotFoundError:  # run from a source tree
        return "source"


def read_file(path: str | Path) -> Any:
    """Return the data of a JSON file; raises `CertificateError` with its name where there is none."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateError(f"certificate {str(path)!r} cannot be read: {error}") from error
    try:
        return load_json(text)
    except CertificateError as error:
        raise CertificateError(f"certificate {str(path)!r}: {error}") from error


def load_json(text: str) -> Any:
    """Return the data of a JSON text of moderate length without repeated keys.

    Raises
    ------
    CertificateError
        If the text is something else.
    """
    if len(text) > MAX_CHARACTERS:
        raise CertificateError(
            f"a certificate of {len(text)} characters is too long (at most {MAX_CHARACTERS})"
        )
    try:
        return json.loads(text, object_pairs_hook=_refuse_repeated)
    except CertificateError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError also for an integer of too many digits
        raise CertificateError(f"the text is not JSON: {error}") from error


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise CertificateError(f"the key {repeated!r} is given twice")
    return found


def _check_texts(parts: list[Any]) -> None:
    """Refuse data that JSON does not have, texts that do not print as they are, and too much of either."""
    pending, seen = list(parts), 0
    while pending:
        part = pending.pop()
        seen += 1
        if isinstance(part, str):
            seen += len(part)
            if not part.isprintable():
                raise CertificateError(f"the text {part[:60]!a} has characters that cannot be printed")
        elif isinstance(part, Mapping):
            pending += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple)):
            pending += part
        elif part is not None and not isinstance(part, (bool, int, float)):
            raise CertificateError(f"a {type(part).__name__} cannot be part of a certificate")
        if seen + len(pending) > MAX_CHARACTERS:
            raise CertificateError(f"the certificate is too long (at most {MAX_CHARACTERS} characters)")


def _check_frame(record: Any) -> None:
    """Refuse a record of another format, of another version, or with other keys."""
    if not isinstance(record, Mapping):
        raise CertificateError("a certificate is a JSON object")
    missing = [key for key in _KEYS if key not in record]
    unknown = [str(key) for key in record if key not in _KEYS]
    if missing or unknown:
        fault = f"lacks {', '.join(missing)}" if missing else f"has the unknown key {', '.join(unknown)}"
        raise CertificateError(f"the certificate {fault}; its keys are {', '.join(_KEYS)}")
    if record["format"] != FORMAT:
        raise CertificateError(f"format is {record['format']!r}, expected {FORMAT!r}")
    if type(record["version"]) is not int or record["version"] != VERSION:
        raise CertificateError(f"version {record['version']!r} cannot be read; this is version {VERSION}")
