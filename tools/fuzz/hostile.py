"""Values that do not belong where they are put, by the kind of argument whose place they take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
NONSENSE: list[Any] = [object(), {}, {1.0}, b"text", lambda: None]

NEVER_NUMBERS: list[Any] = [
    1j, np.array([[1 + 1j, 2], [3, 4]]), np.datetime64("2020-01-01"), np.array(["2020-01-01"], "M8[D]"),
    np.timedelta64(3, "D"), MASKED, True, np.array([True, False]), "text", ["a", "b"], [None], [[1.0], [1.0, 2.0]],
    np.array([1.0, None], object), *NONSENSE[:4],
]  # fmt: skip
NOT_A_NUMBER: list[Any] = [np.nan, np.array([[np.nan, 1.0], [1.0, 1.0]])]

NEVER: dict[str, list[Any]] = {
    "number": NEVER_NUMBERS + NOT_A_NUMBER,
    "count": [*NEVER_NUMBERS, *NOT_A_NUMBER, 1.5, 2.0, np.inf, -7, 10**30, np.ones(3)],
    "counts": [None, "text", 3.0, (1.5, 2), (True, 2), (None,), (-1, 2), ("a",), np.ones((2, 2)), {}, object()],
    "word": ["nonsense", 3.0, 1j, None, [], *NONSENSE[:4]],
    "function": [3.0, "text", None, [], *NONSENSE[:4]],
    "truth": ["yes", 2.0, None, [], *NONSENSE],
    "layers": [None, "text", 3.0, [], [None], [np.nan * np.eye(2)], [1j * np.eye(2)], [MASKED],
               [np.eye(2), np.eye(3)], [np.ones(2)], {}],
    "object": [3.0, "text", None, [], *NONSENSE],
    "maker": [3.0, "text", None, [], *NONSENSE[:4]],
    "key": [None, "text", 1.5, True, 1j, np.ones(3), np.nan, 10**30, *NONSENSE],
    "path": [None, 3.0, 1j, [], np.ones(3), "", *NONSENSE],
    "names": [3.0, 1j, np.ones((2, 2)), [None], [3.0], "nonsense", *NONSENSE[:1]],
    "classes": [None, 1j, np.array([1j, 2]), np.array(["2020-01-01"], "M8[D]"), MASKED, [None], [[1.0], [1.0, 2.0]],
                *NONSENSE[:3]],
    "text": [None, 3.0, 1j, [], *NONSENSE],
    "any": [],
}  # fmt: skip
"""What can never be right in the place of an argument of that kind."""


def foreign() -> list[Any]:
    """Arrays and tables of other libraries: taken as the numbers that they hold, or refused."""
    import jax.numpy as jnp
    import pandas as pd
    import scipy.sparse as sparse
    import torch

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    return [
        frame, frame["a"], pd.DataFrame({"a": ["x", "y"]}), pd.Series([1, None], dtype="Int64"), pd.NA, pd.NaT,
        pd.Timestamp("2020-01-01"), sparse.eye(2), torch.eye(2), torch.eye(2, requires_grad=True), torch.tensor(1j),
        jnp.eye(2), jnp.array(1j),
    ]  # fmt: skip


ODD: list[Any] = [
    np.inf, -np.inf, -1.0, 0.0, 0.5, 1e-320, -1, 0, 1, 2, 3, 10**30, 2**40, [], (), np.zeros((0, 2)), np.ones(3),
    np.ones((2, 2, 2)), np.ones((1, 1)), np.zeros((2, 2)), np.float32(0.25), np.array(0.3), np.int64(2), np.array(2),
    1e300, -1e300, np.full((2, 2), 1e300), "", "\x1b[31mred", "a" * 10_000, "\0", Path("nowhere"), Path(),
    [np.ones((2, 2))], [[1, 2], [3, 4]], range(3), {"a": 1.0}, (3, 2), (0, 2), [1.0, 2.0], False, 2**31, -5,
]  # fmt: skip
"""What may be right: a number of another size, an array of another shape, another type."""


def kind_of(value: Any) -> str:
    """The kind of an argument, by a value that is right."""
    for kind, test in _TESTS:
        if test(value):
            return kind
    return "number"


_TESTS: list[tuple[str, Callable[[Any], bool]]] = [
    ("truth", lambda value: isinstance(value, bool)),
    ("word", lambda value: isinstance(value, str)),
    ("path", lambda value: isinstance(value, Path)),
    ("count", lambda value: isinstance(value, int)),
    ("object", lambda value: hasattr(value, "_fields") or type(value).__module__.split(".")[0] == "lineament"),
    ("counts", lambda value: isinstance(value, tuple) and all(isinstance(entry, int) for entry in value)),
    ("function", callable),
    ("layers", lambda value: isinstance(value, list | tuple) and len(value) > 0 and np.ndim(value[0]) == 2),
]
