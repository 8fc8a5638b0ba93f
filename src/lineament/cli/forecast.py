"""`lineament forecast`: what a network will learn from a table, and when."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .forecast_network import Init, Loss, Optimiser
from .options import SeedOption, at_least_zero, positive, refuse, tell, whole, writable

if TYPE_CHECKING:
    from lineament.data.tables import Table


class Impute(StrEnum):
    """How missing values are filled."""

    median = "median"


def forecast(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="A file (.csv, .tsv, .npz, .parquet, .xlsx), or a bundled data set."),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column to predict: its name, or number.", show_default="the last"),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="COLS", help="Feature columns to use, such as a,b,c.", show_default="all"),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="COLS", help="Columns to leave out, such as a,b.")] = None,
    impute: Annotated[
        Impute | None, typer.Option(help="Fill missing values, instead of leaving their rows out.")
    ] = None,
    scale_target: Annotated[bool, typer.Option("--scale-target", help="Scale the target to deviation 1.")] = False,
    depth: Annotated[int, typer.Option(parser=whole(1), metavar="N", help="Layers of the linear network.")] = 2,
    start: Annotated[float, typer.Option(parser=positive, metavar="SCALE", help="Scale of a balanced start.")] = 1e-3,
    lr: Annotated[
        float | None,
        typer.Option(parser=positive, metavar="ETA", help="Step size.", show_default="a 20th of the largest stable"),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(parser=whole(1), metavar="K", help="Steps to look ahead.", show_default="until 99.9 % is learnt"),
    ] = None,
    whiten: Annotated[bool, typer.Option("--whiten", help="Whiten the inputs.")] = False,
    classes: Annotated[bool, typer.Option("--classes", help="Take the numbers of the target as classes.")] = False,
    network: Annotated[
        str,
        typer.Option(metavar="NAME", help="linear, mlp (two hidden layers of ReLU), or module:function of your own."),
    ] = "linear",
    width: Annotated[int, typer.Option(parser=whole(1), metavar="N", help="Width of hidden layers.")] = 256,
    init: Annotated[
        Init | None, typer.Option(help="How weights begin.", show_default="he; balanced for linear")
    ] = None,
    optimiser: Annotated[Optimiser, typer.Option(help="How it is trained; momentum is 0.9.")] = Optimiser.sgd,
    batch: Annotated[
        int | None, typer.Option(parser=whole(1), metavar="B", help="Rows a step.", show_default="all")
    ] = None,
    weight_decay: Annotated[
        float, typer.Option(parser=at_least_zero, metavar="LAMBDA", help="Of the penalty (λ/2)‖θ‖², as in PyTorch.")
    ] = 0.0,
    renew: Annotated[
        int | None,
        typer.Option(
            parser=whole(0),
            metavar="N",
            help="Tangents beyond that of the start; 0 for that one alone.",
            show_default="60",
        ),
    ] = None,
    loss: Annotated[
        Loss | None,
        typer.Option(
            help="The loss.", show_default="cross-entropy for classes; square for numbers, and by components"
        ),
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Train the network too, and compare.")] = False,
    more_rows: Annotated[
        bool, typer.Option("--more-rows", help="Say whether more rows would help a linear fit, and how much.")
    ] = False,
    seed: SeedOption = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page with figures, and JSON, here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Forecast what a network will learn from a table, and when, before it is trained.

    By default the network is deep, linear, balanced, and trained on all rows at once: its components, and when each is
    learnt. With --init, --batch, --optimiser momentum or --loss cross-entropy a linear network is followed row by row.
    With --network mlp it is an ordinary one, linearised on its way. Both tell the test curve on rows kept aside, the
    answers, the rows that come late, and the step until which all that is safe.

    Features are centred and standardised, targets centred. Words as targets name classes; columns of words become one
    column for each word. Rows with missing values and constant columns are left out, and it is said so. The exit code
    is 0 whatever training shows: a forecast that differs is a finding.
    """
    if out is not None:
        writable("--out", out)
    from lineament.data import tables
    from lineament.forecasting import forecast_table

    try:
        used, dropped = _names(columns), _names(drop)
        table = tables.read(
            data, target, use=used, drop=dropped, impute="median" if impute else None, classes=classes or None
        )
        row_by_row = init is not None or batch is not None or optimiser != "sgd" or loss == "cross-entropy"
        row_by_row |= weight_decay > 0
        if renew is not None and network == "linear":
            refuse("--renew", "is for a network that is not linear: a linear one is followed without a tangent")
        if network != "linear":
            _refuse_given(context, "is for a linear network; a network of hidden layers has its own", "depth", "start")
        elif not row_by_row:
            _refuse_given(context, "is for networks that are followed row by row: name one (--network mlp)", "width")
        if network != "linear" or row_by_row:
            for option, given in (("--whiten", whiten), ("--more-rows", more_rows)):
                if given:
                    refuse(option, "is for a linear network that starts balanced and sees all rows at every step")
            begins = None if init is None else str(init)
            own = {"width": width, "depth": depth, "start": begins, "start_scale": start}
            own |= {"optimiser": str(optimiser), "batch_size": batch, "weight_decay": weight_decay}
            if renew is not None:
                own["renew"] = renew
            own |= {"loss": None if loss is None else str(loss), "step_size": lr, "steps": steps or 1500}
            own |= {"classes": classes or None, "scale_target": scale_target, "seed": seed}
            named = {"target": target, "columns": ",".join(used) or None, "drop": ",".join(dropped) or None}
            named |= {"impute": "median" if impute else None, "scale-target": scale_target, "network": network}
            if network == "linear":
                named |= {"depth": depth, "start": start}
            named |= {"width": width, "init": init, "optimiser": optimiser, "batch": batch, "loss": loss, "lr": lr}
            named |= {"weight-decay": weight_decay or None, "renew": renew}
            named |= {"steps": steps, "classes": classes, "train": train, "seed": seed}
            _network(table, network, own, train, out, as_json, data, named)
            return
        made = forecast_table(
            table, depth=depth, start_scale=start, step_size=lr, steps=steps, whiten=whiten, classes=classes or None,
            scale_target=scale_target, seed=seed,
        )  # fmt: skip
    except ValueError as error:
        refuse("DATA", str(error))
    run = None
    if train:
        from lineament.execution import worker
        from lineament.forecasting import train as train_network

        worker.prepare()
        try:
            run = train_network(made)
        except ValueError as error:
            refuse("--steps", str(error))
    curve = None
    if more_rows:
        from lineament.forecasting.learning_curve import from_moments

        try:
            curve = from_moments(made.moments, made.name, seed=seed)
        except ValueError as error:
            refuse("--more-rows", str(error))
    if as_json:
        from lineament.report import forecast_json

        typer.echo(forecast_json.to_json(made, run, curve))
    else:
        from lineament.report import forecast_console

        forecast_console.show(made, run, curve)
    if out is not None:
        from lineament.report import forecast_page

        named: dict[str, object] = {
            "target": target,
            "columns": ",".join(used) or None,
            "drop": ",".join(dropped) or None,
        }
        named |= {"impute": "median" if impute else None, "scale-target": scale_target, "depth": depth}
        named |= {"start": start, "lr": lr, "steps": steps, "whiten": whiten}
        named |= {"classes": classes, "train": train, "more-rows": more_rows, "seed": seed}
        page = forecast_page.write(out, made, run, forecast_page.command_line(data, named), curve)
        if not as_json:
            tell(page)


def _network(
    table: "Table",
    network: str,
    settings: dict[str, Any],
    train: bool,
    out: Path | None,
    as_json: bool,
    data: str,
    named: dict[str, object],
) -> None:
    from lineament.report.forecast_page import command_line

    from . import forecast_network

    forecast_network.run(table, network, settings, train, out, as_json, command_line(data, named))


def _refuse_given(context: typer.Context, why: str, *names: str) -> None:
    """Refuse options that the command line gives although nothing would be made of them."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            refuse(f"--{name}", why)


def _names(given: list[str] | None) -> tuple[str, ...]:
    """Names of columns, separated by commas or given one by one."""
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())
