"""The roofline: both roofs, every point, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from symflow.errors import InputError
from symflow.plot.roofline import roofline


def test_the_roof_has_its_ridge_where_both_limits_meet() -> None:
    figure = roofline({"ours": [(1.0, 2e9), (50.0, 8e10)], "theirs": [(50.0, 1e10)]}, 1e11, 2e10)
    axes = figure.axes[0]
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(y, np.minimum(1e11, 2e10 * x))
    assert x[0] < 5.0 < x[-1]  # operations per byte at which the machine is as fast as its memory
    drawn = {line.get_label(): line.get_xydata().tolist() for line in axes.lines[1:]}
    assert drawn == {"ours": [[1.0, 2e9], [50.0, 8e10]], "theirs": [[50.0, 1e10]]}


@pytest.mark.parametrize(
    ("points", "speed", "words"),
    [({}, 1.0, "at least one"), ({"a": []}, 1.0, "at least one"), ({"a": [(1.0, 0.0)]}, 1.0, "'a'"),
     ({"a": [(1.0, 1.0)]}, float("inf"), "speed")],
)  # fmt: skip
def test_what_has_no_roof_is_refused(
    points: dict[str, list[tuple[float, float]]], speed: float, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        roofline(points, speed, 1.0)


def test_products_are_a_lower_roof() -> None:
    figure = roofline({"ours": [(1.0, 2e9)]}, 1e11, 2e10, products=8e10)
    assert figure.axes[0].lines[1].get_ydata() == [8e10, 8e10]
    with pytest.raises(InputError, match="products"):
        roofline({"ours": [(1.0, 2e9)]}, 1e11, 2e10, products=0.0)
