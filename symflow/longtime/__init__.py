r"""The fate of a Gaussian law: closed forms, limits and their rank, blow-up times.

:func:`long_time` reads a model with numbers exactly and asks the criteria one after the other. Each decides
its hypotheses in exact or ball arithmetic; what none of them decides stays None, with the reason.
"""

import symflow.longtime.pickling  # noqa: F401 (registers reducers)
from symflow.longtime.entry import long_time

__all__ = ["long_time"]
