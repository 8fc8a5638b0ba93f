"""How exactly float32 products are computed: the one place where it is decided.

On a recent GPU a product of float32 matrices keeps ten bits of each factor by default (TF32). Numbers that are laid
beside a theory must not depend on that, so that whatever lineament computes uses all of float32 unless TF32 is asked
for; what was used stands in the settings of a run. On a CPU, and in float64, both are the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

import jax

from . import checks

Precision = Literal["float32", "tf32"]
AS_JAX_NAMES_IT = {"float32": "highest", "tf32": "default"}

P = ParamSpec("P")
R = TypeVar("R")


def products(precision: Precision) -> AbstractContextManager[None]:
    """Compute float32 products with the given precision inside a `with` block."""
    checks.one_of("precision", precision, tuple(AS_JAX_NAMES_IT))
    return jax.default_matmul_precision(AS_JAX_NAMES_IT[precision])


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Compute all products of a function in full float32."""

    @wraps(function)
    def with_full_precision(*args: P.args, **kwargs: P.kwargs) -> R:
        with products("float32"):
            return function(*args, **kwargs)

    return with_full_precision
