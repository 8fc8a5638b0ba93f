"""`lineament forecast --network`: an ordinary network, or one of the user's own, forecast on a table."""

import importlib
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .options import refuse, tell

if TYPE_CHECKING:
    from lineament.data.tables import Table


class Optimiser(StrEnum):
    """How the network is trained."""

    sgd = "sgd"
    momentum = "momentum"


class Loss(StrEnum):
    """What is minimised."""

    square = "square"
    cross_entropy = "cross-entropy"


class Init(StrEnum):
    """Where weights begin."""

    balanced = "balanced"
    glorot = "glorot"
    he = "he"
    torch = "torch"


KNOWN = ("mlp", "linear")
"""Networks that are made here; others are functions of the user's own."""


def run(
    table: "Table", network: str, settings: dict[str, Any], train: bool, out: Path | None, as_json: bool, command: str
) -> None:
    """Forecast, train if asked to, and show or write what came out."""
    from lineament.forecasting import forecast_network_table, train_network

    if train:
        from lineament.execution import worker

        worker.prepare()
    build: Any = network if network in KNOWN else _named(find(network), network)
    try:
        own = None if network in KNOWN else _foreign(build)
        made = forecast_network_table(table, network=build, own=own, **settings)
        compared = train_network(made) if train else None
        from lineament.report import network_console, network_page

        if as_json:
            typer.echo(network_page.to_json(made, compared))
        else:
            network_console.show(made, compared)
    except ValueError as error:
        refuse("--network", str(error))
    if out is not None:
        page = network_page.write(out, made, compared, command)
        if not as_json:
            tell(page)


def find(name: str) -> Any:
    """The function that `module:function` names; modules of the working folder count."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        refuse("--network", f"{name!r} must be 'mlp', 'linear' or module:function")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        refuse("--network", f"{name!r} must be a function of a module that can be imported; {error}")
    if not callable(found):
        refuse(
            "--network",
            f"{name!r} must be a function of the numbers of inputs and outputs; got {type(found).__name__}",
        )
    return found


def _named(build: Any, name: str) -> Any:
    """The function, whose own errors are told with its name."""

    def own(inputs: int, outputs: int) -> Any:
        try:
            return build(inputs, outputs)
        except Exception as error:  # whatever the user's own code raises
            raise ValueError(
                f"{name!r} must make a network from the numbers of inputs and outputs; called with {inputs} and "
                f"{outputs} it raised {type(error).__name__}: {error}"
            ) from error

    return own


def _foreign(build: Any) -> Any:
    """How to linearise a PyTorch module that the function makes; None where it makes a lineament model."""

    def own(rows: Any, settings: dict[str, Any]) -> Any:
        import torch

        from lineament.torch import linearise

        torch.manual_seed(settings["seed"])
        module = build(rows.X.shape[1], rows.y.shape[1]).eval()
        like = next(module.parameters())
        as_tensor = lambda part: torch.as_tensor(part, dtype=like.dtype, device=like.device)  # noqa: E731
        return linearise(module, as_tensor(rows.X), rows.y, as_tensor(rows.X_test), rows.y_test, **settings)

    if "torch" not in sys.modules:  # a function that makes a PyTorch module has imported PyTorch
        return None
    import torch

    tried = build(2, 2)
    return own if isinstance(tried, torch.nn.Module) else None
