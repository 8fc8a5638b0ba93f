"""How exactly float32 products are computed: the one place where it is decided.

On a recent GPU a product of float32 matrices keeps ten bits of each factor by default (TF32). Numbers that are laid
beside a theory must not depend on that, so that whatever lineament computes uses all of float32 unless less is asked
for: TF32, or factors of bfloat16 (seven bits), whose products are added in float32; what a convolution adds up is then
rounded to bfloat16 as well. What was used stands in the settings of a run. A CPU computes float32 products in full
whatever is asked for. Products in float64 are left alone by TF32; bfloat16 is refused for them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

import jax
import jax.numpy as jnp

from . import checks

Precision = Literal["float32", "tf32", "bf16"]
AS_JAX_NAMES_IT = {"float32": "highest", "tf32": "default", "bf16": "BF16_BF16_F32"}

P = ParamSpec("P")
R = TypeVar("R")


def products(precision: Precision) -> AbstractContextManager[None]:
    """Compute float32 products with the given precision inside a `with` block."""
    checks.one_of("precision", precision, tuple(AS_JAX_NAMES_IT))
    return jax.default_matmul_precision(AS_JAX_NAMES_IT[precision])


def factor(x: jax.Array) -> jax.Array:
    """What a product keeps of a factor, for convolutions: JAX's setting reaches none but products of matrices."""
    asked = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    return x.astype(jnp.bfloat16) if asked == AS_JAX_NAMES_IT["bf16"] else x


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Compute all products of a function in full float32."""

    @wraps(function)
    def with_full_precision(*args: P.args, **kwargs: P.kwargs) -> R:
        with products("float32"):
            return function(*args, **kwargs)

    return with_full_precision
