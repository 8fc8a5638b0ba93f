"""The mirrored start: two equal copies, so that training begins at the zero function."""

from collections.abc import Callable
from typing import Any

from ..core import arguments
from ..core.keys import AnyKey
from ..models.mirrored import Mirrored, Pair
from .fit import refuse


def mirrored(model: Mirrored, key: AnyKey, start: Callable[..., Any], **options: Any) -> Pair:
    """Two equal copies of a start of the plain network.

    ```python
    parameters = starts.mirrored(model, key, starts.gaussian, deviation=1.0)
    ```

    Args:
        model: The mirrored network.
        key: The source of randomness.
        start: Makes the start of the plain network, from it and the key.
        options: Further arguments of `start`.
    """
    if not isinstance(model, Mirrored):
        refuse("mirrored", "a Mirrored network", model)
    parameters = arguments.function("start", start)(model.plain, key, **options)
    return Pair(parameters, parameters)
