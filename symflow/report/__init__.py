"""The main job: one folder with derivations, verdicts, simulations, figures and verification."""

from symflow.report.write import Written, write_report

__all__ = ["Written", "write_report"]
