"""The error of a run whose loss is no longer a number."""


class Diverged(ArithmeticError):  # noqa: N818 (it says what happened)
    """A run diverged. Its attributes say which member, at which step or time, and the last finite loss."""

    def __init__(
        self, *, loss: float, remedy: str, member: int | None = None, step: float | None = None, others: int = 0
    ) -> None:
        self.member, self.step, self.loss = member, step, loss
        who = "the run" if member is None else f"member {member}"
        further = f" (and {others} other members)" if others > 0 else ""
        super().__init__(f"{who}{further} diverged at step {step}: the last finite loss was {loss:.4g}; {remedy}")
