"""What a claim returns: checks, numbers, what was done, and data for its figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..core import arguments
from .check import Check
from .figure import Figure
from .verdict import Kind, Verdict, all_checks, judge, reason


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a claim returns: the checks that decide, further numbers, what was done, and the figure.

    Attributes:
        checks: What must be so for the statement (in its corrected form, where there is one) to hold.
        printed: Checks of the statement as printed, given only where a correction is offered. The verdict is
            "holds, corrected" when these fail and `checks` pass.
        correction: The corrected statement in LaTeX, with `printed`.
        numbers: Further numbers worth showing.
        settings: What was run beyond the claim's table of settings: what data were at hand, sizes that follow.
        protocol: What was done, under the names under which the claim says what the paper did.
        figure: Data for the figure.
        remarks: Plain sentences on what was seen, shown with the evidence.
    """

    checks: Sequence[Check]
    printed: Sequence[Check] = ()
    correction: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    protocol: Mapping[str, str] = field(default_factory=dict)
    figure: Figure | None = None
    remarks: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("checks", "printed"):
            all_checks(name, getattr(self, name))
        if not self.checks:
            raise ValueError("evidence needs at least one check: a claim that cannot fail says nothing")
        arguments.text("correction", self.correction)
        if bool(self.printed) != bool(self.correction):
            raise ValueError("`printed` checks and a `correction` come together: one without the other was given")

    def verdict(self, kind: Kind) -> Verdict:
        """Read the verdict off the checks."""
        return judge(self.checks, self.printed, kind)

    def reason(self) -> str:
        """Name the numbers that decided."""
        return reason(self.checks, self.printed)
