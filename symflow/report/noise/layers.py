"""Random layers: what is derived from their definition, and their exponents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symflow.derive.noise import field_covariance, noise_derivation
from symflow.errors import CertificateError
from symflow.noise.common import CommonNoise
from symflow.report.blocks import Grid, Paragraph, Section
from symflow.report.part import Part, decided, derived

_SIZES, _BIASES = (5, 64, 128), ("0", "0.1")
_ACTIVATIONS = ("relu", "tanh", "sigmoid", "silu")
_CLAIMS = (
    "ABGSR26/field-covariance",
    "ABGSR26/pair-generator",
    "ABGSR26/lyapunov-formula",
    "ABGSR26/relu-exponents",
    "ABGSR26/energy-decay",
)
_DIGITS = 8


def layers_part(out: Path) -> Part:
    """Return the derivations: from a layer to the covariance of its field, the pair of tokens, exponents."""
    steps = derived(
        [(r"A layer with ReLU: covariance, pair of tokens, exponents", noise_derivation("relu"))], True
    )
    others = derived(
        [(rf"The covariance of a layer with {name}", field_covariance(name)) for name in ("erf", "tanh")]
    )
    blocks, verdicts = decided(_CLAIMS, out)
    said = (
        r"A layer adds $G(y) = m^{-1/2}W\phi(d^{-1/2}Uy + b_U) + b_W$. Its covariance at two tokens is "
        r"$\kappa(\langle x, y\rangle)I$ for every width, and all that follows depends on $\kappa$ alone. "
        r"Two tokens are a diffusion with the generator $Lf = G_0f' + G_1f''$ in their cosine $u$; where "
        r"they meet it has a Lyapunov exponent $\lambda_1$, and moments of their distance have exponents "
        r"$\Lambda(p)$, $\bar\lambda = \Lambda(2)$."
    )
    section = Section(
        "From a layer to its exponents",
        "noise-layers",
        (Paragraph(said), *steps.blocks, *others.blocks, *blocks),
    )
    counted = (steps.steps[0] + others.steps[0], steps.steps[1] + others.steps[1])
    return Part(section, steps=counted, verdicts=verdicts, citations=(*steps.citations, *others.citations))


def exponents_part(out: Path) -> Part:
    """Return the table of exponents."""
    del out
    rows = []
    for name in _ACTIVATIONS:
        for size in _SIZES:
            for bias in _BIASES:
                noise = CommonNoise(name, bias, bias, dim=size)
                cells = (_shown(noise.lyapunov), _shown(noise.dissipation), _shown(noise.critical_exponent))
                rows.append((noise.activation.name, str(size), bias, *cells))
    head = ("activation", "$d$", r"$\sigma$", r"$\lambda_1$", r"$\bar\lambda$", r"$p^*$")
    caption = (
        r"$\sigma = \sigma_W = \sigma_U$. Digits are certified: enclosures in balls are far narrower than "
        r"the last one shown. Close tokens synchronise where $\lambda_1 < 0$; moments of their distance "
        r"below the order $p^*$, $\Lambda(p^*) = 0$, decay even where $\bar\lambda = \Lambda(2) > 0$."
    )
    section = Section("Exponents", "noise-exponents", (Grid(head, tuple(rows), caption, align="llrrrr"),))
    return Part(section)


def _shown(ball: Any) -> str:
    """Return a number of which every digit shown is certified.

    Raises
    ------
    CertificateError
        If the ball is too wide for that.
    """
    middle, radius = float(ball), float(ball.radius)
    if radius > 10.0 ** (-_DIGITS - 2) * abs(middle):
        raise CertificateError(f"{ball}: {_DIGITS} digits are not certified")
    return f"${middle:.{_DIGITS}g}$"
