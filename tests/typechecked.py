"""What checks annotations while the tests run; a whole number passes for a real one, as everywhere in Python."""

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def without_shapes(name: str) -> None:
    """Check the functions of a module by beartype alone: jaxtyping, which looks for shapes too, takes many times as long.

    Checks of arguments name no shapes, and theory calls them millions of times: a sixth of the time of all tests.
    """
    module = import_module(name)
    for function in vars(module).copy().values():
        if inspect.isfunction(function) and function.__module__ == name:
            setattr(module, function.__name__, _unless_disabled(function))


def _unless_disabled(function: Callable[..., Any]) -> Callable[..., Any]:
    checked = check(function)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return (function if jaxtyping.config.jaxtyping_disable else checked)(*args, **kwargs)

    return called
