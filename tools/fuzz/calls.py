"""Calls of public functions in which one right argument is replaced by a hostile one."""

import inspect
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .hostile import NEVER, NOT_A_NUMBER, ODD, foreign
from .judge import Outcome, judge
from .surface import Call


class Trial(NamedTuple):
    """One call: the function's name, the argument that was replaced, what by, and how it ended."""

    name: str
    argument: str
    value: Any
    outcome: Outcome

    @property
    def fault(self) -> str:
        """What is wrong: "traceback", "hang" or "silent" (taken, though it can never be right); empty if all is well."""
        return "silent" if self.outcome.kind == "result" else self.outcome.kind.replace("refused", "")

    def __str__(self) -> str:
        shown = repr(self.value).replace("\n", " ")
        return f"{self.fault:9} {self.name}({self.argument}={shown[:60]}): {' '.join(self.outcome.told.split())[:200]}"


def never_right(name: str, call: Call) -> Iterator[tuple[str, Any]]:
    """Every argument of a call, with every value that can never be right for it."""
    for argument in call.arguments:
        for value in NEVER[call.kinds[argument]]:
            if not is_documented(name, argument, value, default_of(call, argument)):
                yield argument, value


def draw(calls: dict[str, Call], number: int, seed: int) -> Iterator[Trial]:
    """Calls at random, over functions first, so that those of many arguments are not met more often."""
    rng = random.Random(seed)
    names, odd = list(calls), ODD + foreign()
    for _ in range(number):
        name = rng.choice(names)
        call = calls[name]
        argument = rng.choice(list(call.arguments))
        never = NEVER[call.kinds[argument]]
        value = rng.choice(never if never and rng.random() < 0.4 else odd)
        yield tried(name, call, argument, value)


def every(calls: dict[str, Call]) -> Iterator[Trial]:
    """Every hostile value in the place of every argument, once."""
    odd = ODD + foreign()
    for name, call in calls.items():
        for argument in call.arguments:
            for value in [*NEVER[call.kinds[argument]], *odd]:
                yield tried(name, call, argument, value)


def tried(name: str, call: Call, argument: str, value: Any) -> Trial:
    """Make one call; a result is a fault if the value can never be right."""
    outcome = judge(call.function, **{**call.arguments, argument: value})
    wrong = any(value is never for never in NEVER[call.kinds[argument]])
    if outcome.kind == "result" and not (
        wrong and not is_documented(name, argument, value, default_of(call, argument))
    ):
        outcome = Outcome("refused", "a result that is documented, or may be right")
    return Trial(name, argument, value, outcome)


def default_of(call: Call, argument: str) -> Any:
    """The default value of an argument."""
    parameters = inspect.signature(call.function).parameters
    return parameters[argument].default if argument in parameters else inspect.Parameter.empty


MISSING = re.compile(
    r"evidence\.figure\.|recording\.|core\.(run|ensembles)\.|problems\.base\.predict|report\.plot\.learning_order"
    r"|forecasting\.|measure\.compact\.principal"
)
TRAINED = re.compile(r"(core|models|problems|starts|train)\.")
DIVERGED = re.compile(r"measure\.(spectra|alignment|balance|neurons)\.")


def is_documented(name: str, argument: str, value: Any, default: Any) -> bool:
    """Whether the docstring says what comes of a value that is refused elsewhere."""
    nan = any(value is known for known in NOT_A_NUMBER) or _holds_nan(value)
    return (
        (value is None and default is None)
        # What diverged is to be measured too: its measures are not a number.
        or (nan and DIVERGED.match(name) is not None)
        or (nan and MISSING.match(name) is not None)
        # Truth values are drawn as 0 and 1.
        or (name.startswith("evidence.figure.") and isinstance(value, np.ndarray) and value.dtype == bool)
        # A float that is whole counts as a whole number where networks are trained: 1e4 steps.
        or (isinstance(value, float) and value == 2.0 and TRAINED.match(name) is not None)
        or (value is NOT_A_NUMBER[0] and (name, argument) == ("measure.order.group_means", "by"))
    )


def _holds_nan(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(v, np.ndarray) and v.dtype.kind == "f" and np.isnan(v).any() for v in value
    )
