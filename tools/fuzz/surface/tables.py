"""A valid call of everything that takes data: data sets, tables, forecasts of them, evidence and plots."""

import inspect
from pathlib import Path

import numpy as np

from lineament import data, evidence, forecasting
from lineament.claims import registry
from lineament.data import catalogue, components, frequency, gaussian, photos, pixels, tables
from lineament.evidence import check, figure, verdict
from lineament.execution import open_experiment, reproduce, store, stores, sweep
from lineament.report import plot

from . import Call, Is, call
from .theory import EYE, X

IMAGES = np.random.default_rng(0).normal(size=(6, 4, 4, 1))
LABELS = [0, 1, 0, 1, 0, 1]


def calls() -> dict[str, Call]:
    """By name."""
    return {**_data(), **_forecasts(), **_evidence(), **_sweeps(), **_plots()}


def _data() -> dict[str, Call]:
    fitted = components.fit(X)
    images = data.natural_gaussian(6, 4, size=4)
    here = Path("data")
    here.mkdir(exist_ok=True)
    table = Path("table.csv")
    table.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}.5\n" for i in range(30)))
    return {
        "data.components.fit": call(components.fit, X=X, centre=True),
        "data.components.separable_labels": call(
            components.separable_labels, components=fitted, X=X, labels=Is("number", LABELS), P=2
        ),
        "data.components.Components.highest": call(fitted.highest, share=0.5),
        "data.components.Components.lowest": call(fitted.lowest, share=0.5),
        "data.components.Components.coordinates": call(fitted.coordinates, X=X),
        "data.components.Components.restored": call(fitted.restored, coordinates=X),
        "data.components.Components.project": call(fitted.project, X=X, P=1),
        "data.components.Components.amplify": call(fitted.amplify, X=X, part=Is("object", slice(0, 1)), factor=10.0),
        "data.components.Components.whiten": call(fitted.whiten, X=X, kind="zca", regularisation=0.1),
        "data.components.Components.unwhiten": call(fitted.unwhiten, Z=X, kind="zca", regularisation=0.1),
        "data.pixels.normalise_channels": call(pixels.normalise_channels, train=IMAGES),
        "data.pixels.low_pass": call(pixels.low_pass, images=IMAGES, cutoff=1.0),
        "data.pixels.average_pool": call(pixels.average_pool, images=IMAGES, window=2),
        "data.photos.photographs": call(
            photos.photographs, True, train=4, test=2, size=4, names=Is("names", ("camera", "brick")), seed=0
        ),
        "data.gaussian.natural_spectrum": call(gaussian.natural_spectrum, size=4, exponent=2.0),
        "data.gaussian.natural_gaussian": call(
            gaussian.natural_gaussian, train=4, test=2, size=4, classes=2, exponent=2.0, alignment=1.0, flips=0.1, seed=0
        ),
        "data.frequency.partial_sums": call(
            frequency.partial_sums, z=[0.1, 0.2], frequencies=[1.0, 2.0], phases=[0.0, 1.0]
        ),
        "data.frequency.partial_labels": call(
            frequency.partial_labels, points=X, rule="graph", frequencies=[1.0, 2.0], phases=[0.0, 1.0]
        ),
        "data.frequency.frequency_points": call(frequency.frequency_points, train=4, test=2, rule="graph", seed=0),
        "data.frequency.frequency_images": call(frequency.frequency_images, train=4, test=2, rule="graph", seed=0),
        "data.images.Images.subset": call(images.subset, classes=Is("names", ("class 1", "class 0"))),
        "data.images.Images.first": call(images.first, train=2, test=2),
        "data.images.Images.pooled": call(images.pooled, window=2),
        "data.catalogue.entry": call(catalogue.entry, name="mnist"),
        "data.catalogue.locate": call(catalogue.locate, name="natural-gaussian", partial=False),
        "data.catalogue.load": call(
            catalogue.load, True, name="natural-gaussian", folder=here, partial=False, download=False,
            progress=Is("function", print),
        ),
        "data.catalogue.load_table": call(
            catalogue.load_table, True, name="gas-sensors", folder=here, download=False, progress=Is("function", print)
        ),
        "data.catalogue.verify": call(catalogue.verify, name="mnist", root=here),
        "data.tables.read": call(
            tables.read, source=table, target=Is("text", "y"), use=Is("names", ("a",)), drop=Is("names", ("b",)),
            impute="median", classes=False,
        ),
        "data.tables.arrays": call(tables.arrays, X=X, y=Is("classes", X[:, 0]), name=Is("any", "mine")),
        "data.tables.joined": call(tables.joined, X=X, y=Is("classes", X[:, 0]), name=Is("any", "mine")),
        "data.tables.frame": call(
            tables.frame, data=Is("object", _frame()), name=Is("any", "mine"),
            choose=Is("object", inspect.signature(tables.frame).parameters["choose"].default),
        ),
    }  # fmt: skip


def _frame():
    import pandas as pd

    return pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30) % 7, "y": np.arange(30) % 3 + 0.5})


def _forecasts() -> dict[str, Call]:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(40, 3))
    b = A @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=40)
    made = forecasting.forecast(A, b)
    curve = forecasting.learning_curve(A, b)
    common = {"X": A, "y": Is("classes", b), "classes": Is("truth", False), "scale_target": False, "seed": 0}
    path = {"depth": 2, "start_scale": 1e-3, "step_size": 0.1, "steps": 50}
    table = tables.arrays(A, b)
    network = {
        "network": "mlp", "width": 8, "depth": 2, "start": "glorot", "start_scale": 1e-3, "optimiser": "sgd",
        "batch_size": 10, "weight_decay": 0.1, "loss": "square", "step_size": 0.01, "steps": 5, "renew": 0,
        "test_share": 0.2,
    }  # fmt: skip
    small = forecasting.forecast_network_table(table, width=4, steps=3, step_size=0.01, renew=0)
    return {
        "forecasting.forecast.forecast": call(
            forecasting.forecast, True, **common, **path, whiten=False, standardise=True
        ),
        "forecasting.forecast.forecast_table": call(
            forecasting.forecast_table, True, table=table, **path, whiten=False, standardise=True, scale_target=False,
            classes=Is("truth", False), seed=0,
        ),
        "forecasting.result.Forecast.step_of": call(made.step_of, time=1.0),
        "forecasting.shown.Shown.plot": call(made.plot, True, which="learning", dark=False),
        "forecasting.shown.Shown.report": call(made.report, True, path=Path("page.html")),
        "forecasting.compare.train": call(forecasting.train, True, forecast=made),
        "forecasting.moments.gather": call(
            forecasting.gather, chunks=Is("any", [(A, b)]), features=Is("any", ("a", "b", "c")),
            targets=Is("any", ("y",)), classes=False, standardise=True, scale_target=False, seed=0,
        ),
        "forecasting.learning_curve.learning_curve": call(
            forecasting.learning_curve, True, X=A, y=Is("classes", b), kernel="linear", ridge="tuned", level=0.8,
            classes=Is("truth", False), seed=0,
        ),
        "forecasting.curve_result.LearningCurve.miss": call(curve.miss, method="theory"),
        "forecasting.curve_result.LearningCurve.plot": call(curve.plot, True, dark=False),
        "forecasting.network.forecast_network": call(forecasting.forecast_network, True, **common, **network),
        "forecasting.network.forecast_network_table": call(
            forecasting.forecast_network_table, True, table=table, **network, scale_target=False, seed=0, most_rows=100,
            classes=Is("truth", False),
        ),
        "forecasting.network.forecast_network_table.own": call(
            forecasting.forecast_network_table, True, table=table,
            own=Is("function", lambda rows, settings: small.linearised),
        ),
        "forecasting.network_train.train_network": call(
            forecasting.train_network, True, forecast=Is("object", small)
        ),
    }  # fmt: skip


def _evidence() -> dict[str, Call]:
    bar = check.at_most("error", 0.1, 0.5)
    result = evidence.Evidence([bar])
    line = {"x": [0.0, 1.0], "y": [1.0, 2.0], "label": Is("any", "curve")}
    field = {"x": [0.0, 1.0], "y": [0.0, 1.0], "z": EYE, "label": Is("any", "field")}
    name, void = Is("any", "error"), {"origin": Is("any", "printed"), "void": Is("any", "")}
    return {
        "evidence.check.at_most": call(check.at_most, name=name, value=Is("any", 0.1), bar=0.5, **void),
        "evidence.check.at_least": call(check.at_least, name=name, value=Is("any", 0.1), bar=0.5, **void),
        "evidence.check.within": call(check.within, name=name, value=Is("any", 0.1), low=0.0, high=0.5, **void),
        "evidence.check.Check.loosened": call(bar.loosened, factor=2.0),
        "evidence.evidence.Evidence": call(
            evidence.Evidence,
            checks=Is("any", [bar]),
            printed=Is("any", [bar]),
            correction=Is("any", "x=1"),
            numbers=Is("any", {}),
            settings=Is("any", {}),
            protocol=Is("any", {}),
            figure=Is("any", None),
            remarks=Is("any", ()),
        ),
        "evidence.evidence.Evidence.verdict": call(result.verdict, kind="theorem"),
        "evidence.verdict.judge": call(verdict.judge, checks=Is("any", [bar]), printed=Is("any", ()), kind="theorem"),
        "evidence.verdict.pool": call(verdict.pool, verdicts=Is("any", [verdict.Verdict.HOLDS]), kind="theorem"),
        "evidence.verdict.reason": call(verdict.reason, checks=Is("any", [bar]), printed=Is("any", ())),
        "evidence.figure.theory": call(figure.theory, **line, group=Is("any", 0)),
        "evidence.figure.measured": call(figure.measured, **line, group=Is("any", 0)),
        "evidence.figure.reference": call(figure.reference, **line, group=Is("any", 0)),
        "evidence.figure.points": call(figure.points, **line, group=Is("any", 0), role=Is("any", "measured")),
        "evidence.figure.band": call(
            figure.band, x=[0.0, 1.0], low=[1.0, 2.0], high=[1.0, 2.0], label=Is("any", ""), group=Is("any", 0)
        ),
        "evidence.figure.bars": call(
            figure.bars, edges=[0.0, 1.0, 2.0], heights=[1.0, 2.0], label=Is("any", ""), group=Is("any", 0)
        ),
        "evidence.figure.heat": call(figure.heat, **field),
        "evidence.figure.contour": call(figure.contour, **field),
        "evidence.figure.image": call(figure.image, pixels=EYE, label=Is("any", "")),
    }


def _sweeps() -> dict[str, Call]:
    import lineament as la
    from lineament import models, problems, starts

    claim = registry.find("gissin-t1")
    result = reproduce.Result(claim, evidence.Evidence([check.at_most("error", 0.1, 0.5)]), "quick", 0, 1.0, {})
    kept = store.save(result, Path("results"))
    net = models.DeepLinear((2, 2))
    open_one = la.experiment(
        la.descend, net, problems.whitened(EYE), lambda model, key: starts.gaussian(model, key, start_scale=0.1),
        step_size=0.1, steps=2,
    )  # fmt: skip
    sweep.sweep(_square, {"x": [1.0, 2.0]}, store="runs", engine="local", workers=1, progress=False)
    runs = stores.Store("runs")
    address = runs.experiments()[0].address
    point = runs.points()[0][0]
    return {
        "claims.registry.find": call(registry.find, name=Is("text", "gissin-t1")),
        "execution.reproduce.reproduce": call(
            reproduce.reproduce, True, claim=Is("word", "gissin-t1"), size="quick", seed=0
        ),
        "execution.store.save": call(store.save, result=result, folder=Path("results")),
        "execution.store.load": call(store.load, path=kept),
        "execution.store.load_folder": call(store.load_folder, folder=Path("results")),
        "execution.open_experiment.experiment": call(
            open_experiment.experiment, train=la.descend, model=Is("maker", net),
            problem=Is("maker", problems.whitened(EYE)),
            start=Is("any", (0.1 * EYE,)), step_size=Is("any", 0.1), steps=Is("any", 2),
        ),
        "execution.sweep.prepare": call(
            sweep.prepare, experiment=_square, grid=Is("any", {"x": [1.0, 2.0]}), store=Path("other"), zip=Is("any", ()),
            where=Is("function", lambda x: True),
        ),
        "execution.sweep.sweep": call(
            sweep.sweep, True, experiment=Is("object", open_one), grid=Is("any", {"seed": [0, 1]}), store=Path("runs"),
            engine="local", zip=Is("any", ()), workers=1, retry=False, progress=False,
            where=Is("function", lambda seed: True),
        ),
        "execution.stores.Store": call(stores.Store, folder=Path("runs")),
        "execution.stores.Store.open": call(runs.open, experiment=Is("word", address)),
        "execution.stores.Store.points": call(runs.points, experiment=Is("word", address)),
        "execution.stores.Store.find": call(runs.find, point=Is("any", {"x": 1.0})),
        "execution.stores.Store.why": call(runs.why, point=Is("any", {"x": 1.0})),
        "execution.stores.Store.compare": call(runs.compare, one=Is("word", point), other=Is("word", point)),
    }  # fmt: skip


def _square(x):
    return x**2


def _plots() -> dict[str, Call]:
    import xarray as xr

    curve = xr.DataArray([[1.0, 2.0], [0.5, 1.5]], dims=("step", "mode"), coords={"step": [0, 1]}, name="value")
    drawn = xr.DataArray(np.eye(2), dims=("ratio", "start"), coords={"ratio": [2.0, 5.0], "start": [1e-3, 1e-2]})
    scale = {"x_scale": "linear", "y_scale": "linear"}
    ax = Is("object", None)  # new axes at every call
    return {
        "report.plot.overlay": call(
            plot.overlay, measured=Is("object", curve), forecast=Is("number", curve.values), **scale,
            x=Is("word", "step"), spread=Is("any", (0.1, 0.9)), ax=ax,
        ),
        "report.plot.heatmap": call(
            plot.heatmap, measured=Is("object", curve), forecast=Is("number", curve.values), **scale,
            x=Is("word", "step"), ax=ax,
        ),
        "report.plot.learning_order": call(
            plot.learning_order, learnt=[1.0, 2.0, 3.0], forecast=[1.0, 2.0, 4.0], names=Is("any", None),
            x_scale="linear", x_label=Is("any", "step"), ax=ax,
        ),
        "report.plot.phases": call(
            plot.phases, depth=[2.0, 3.0], measured=Is("object", drawn), s=0.1, f=0.9, ratios=Is("any", (1.3, 30.0)),
            ax=ax,
        ),
        "report.plot.spectrum": call(
            plot.spectrum, values=[3.0, 2.0, 1.0], forecast=[3.0, 2.0, 1.0], y_scale="log", label=Is("any", "value"),
            ax=ax,
        ),
        "report.plot.style": call(plot.style, name="paper"),
    }  # fmt: skip
