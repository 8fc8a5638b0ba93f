"""Everything public, every argument, every kind of bad value: an error of ours that names it.

One valid call of each is in `tools.fuzz.surface`; what is missing there fails the first test. What is put in the place of
an argument follows from its kind: numbers, whole numbers, words, functions, truth values, layers, paths, keys, objects of
the library's own types. Values that are never right must be refused by name, before anything is computed. Those that may
be right (infinity, zero, a stack of matrices, another library's array) are refused in the same way, or give a result.
Nothing else may come out: no traceback of a dependency.
"""

import functools
import inspect
import os
import random
import re
import tempfile

import numpy as np
import pytest
from tools.fuzz.calls import never_right, tried
from tools.fuzz.hostile import ODD, foreign
from tools.fuzz.judge import judge
from tools.fuzz.surface import PARTS, Call, surface

import lineament

# What users meet as results, or inherit from, and what they hand over to functions that check it themselves.
RESULTS = re.compile(
    r"theory\.\w+\.[A-Z]|measure\.(compact|agreement|order)\.[A-Z]|.*Error$|train\.diverged|data\.(entries|images|frequency)"
    r"|evidence\.(verdict\.Verdict|figure\.[A-Z]|check\.Check)|problems\.\w+\.[A-Z]|core\.(model\.Abstract|layered)"
    r"|models\.(\w+\.(Abstract|Affine|Images|Pair)|quadratic\.QuadraticForm|two_layer\.Units)|torch\.\w+\.[A-QS-Z]"
    r"|(forecasting|linearisation)\.\w+\.[A-Z]|recording\.(advice|bias|ranks|top)\.[A-Z]|data\.components\.Components"
    r"|recording\.(recording\.Trouble|regression\.Estimates)|claims\.(claim|papers)\."
)
# Parts of `linearise` and what is said of forecasts, which take what the functions above them have checked.
INNER = re.compile(
    r"linearisation\.(batches|losses|make|safe|words)\.|forecasting\.(network_)?words\.|claims\.(sizes|registry)\."
    r"|measure\.kernels\.as_function"
)


@functools.cache
def written(part: str) -> tuple[str, dict[str, Call]]:
    """The valid calls of one part, and the folder that they write to and read from."""
    import matplotlib

    matplotlib.use("agg")
    os.chdir(folder := tempfile.mkdtemp())
    return folder, surface([part])


def calls(part: str) -> dict[str, Call]:
    """The valid calls of one part, in their folder: their paths are relative."""
    folder, found = written(part)
    os.chdir(folder)
    return found


@pytest.fixture(autouse=True)
def _home():
    """Figures are closed after a test, and the folder left."""
    home = os.getcwd()
    yield
    from matplotlib import pyplot

    pyplot.close("all")
    os.chdir(home)


def offered(module=lineament) -> set[str]:
    """The functions and classes that the packages offer in `__all__`, and those of the modules among it."""
    found = set()
    listed = getattr(module, "__all__", None)
    for name in listed or [name for name in vars(module) if not name.startswith("_")]:
        value = getattr(module, name)
        where = getattr(value, "__module__", None) or ""
        if inspect.ismodule(value) and listed and value.__name__.startswith(f"{module.__name__}."):
            found |= offered(value)
        own = where.startswith("lineament.") and (listed or where == module.__name__)
        if own and (inspect.isclass(value) or (inspect.isfunction(value) and inspect.signature(value).parameters)):
            found.add(f"{where}.{value.__qualname__}".removeprefix("lineament."))
    return found


def test_everything_that_is_offered_is_in_the_table():
    from lineament.report import plot

    public = offered() | offered(plot)
    listed = set().union(*map(calls, PARTS)) | {"report.plot." + name for name in plot.__all__}
    plots = {name for name in public if name.startswith("report.plot.")}
    assert {name.rpartition(".")[2] for name in plots} <= set(plot.__all__)
    missing = {name for name in public - listed - plots if not RESULTS.match(name) and not INNER.match(name)}
    assert missing == set()
    assert len(public) > 250  # the walk itself finds what there is


def test_every_argument_is_tried():
    """In some call of the function: two that exclude each other stand in two calls."""
    wanted, given = {}, {}
    for made in (made for part in PARTS for made in calls(part).values()):
        function = made.function
        name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        taken = inspect.signature(function).parameters.values()
        wanted[name] = {p.name for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        given.setdefault(name, set()).update(made.arguments)
    assert {name: left for name in wanted if (left := wanted[name] - given[name])} == {}


@pytest.mark.parametrize("part", PARTS)
def test_no_valid_call_is_refused(part):
    for name, call in calls(part).items():
        inspect.signature(call.function).bind(**call.arguments)
        outcome = None if call.slow else judge(call.function, **call.arguments)
        assert outcome is None or outcome.kind == "result", (name, outcome.told)


@pytest.mark.parametrize("part", PARTS)
def test_what_is_never_right_is_refused_by_name(part):
    found = []
    for name, call in calls(part).items():
        for argument, value in never_right(name, call):
            trial = tried(name, call, argument, value)
            if trial.fault or not re.search(rf"\b{argument}\b", trial.outcome.told):
                found.append(str(trial))
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("part", PARTS)
def test_what_may_be_right_is_refused_by_us_if_at_all(part):
    """Two values for each argument, drawn from a fixed seed; `make fuzz` draws as many as one likes."""
    rng, values, found = random.Random(part), ODD + foreign(), []
    for name, call in calls(part).items():
        for argument in () if call.slow else call.arguments:
            trials = [tried(name, call, argument, value) for value in rng.sample(values, 2)]
            found += [str(trial) for trial in trials if trial.fault]
    assert found == [], "\n".join(found)


LARGE, DEEP, WIDE = np.full((2, 2), 1e300), 2**40, np.ones((2, 2))
MENDED = {
    "theory": [
        ("circulation.circulation", "nodes", DEEP), ("dual_activations.piecewise_linear_dual", "left", 1e300),
        ("end_to_end.field", "depth", DEEP), ("end_to_end.eigensystem", "depth", DEEP),
        ("end_to_end.trajectory", "depth", DEEP), ("label_noise.slow_flow", "W1", LARGE),
        ("landscape.nonconvexity_segment", "depth", DEEP), ("layer_descent.descend", "runs", 2**31),
        ("log_det.kkt", "W2", LARGE), ("singular_flow.singular_flow", "W0", LARGE),
        ("training_time.singular_values", "depth", np.zeros((0, 2))),
        ("training_time.singular_values", "curvature", np.zeros((0, 2))), ("wide_limit.descent", "steps", DEEP),
    ],
    "measure": [
        ("order.Accessibility", "examples", DEEP), ("order.constancy", "resamples", DEEP),
        ("compact.compact", "inputs", DEEP), ("compact.compact", "inputs", 3), ("compact.tangent", "at", np.ones(3)),
    ],
    "training": [
        ("starts.normal.gaussian.variances", "variances", 0.5), ("train.descend.descend", "step_size", WIDE),
        ("train.descend.descend", "precision", WIDE), ("train.descend.descend.at", "progress", 3.0),
        ("train.flow.flow.until", "event", 3.0), ("train.noise.noisy_descend", "step_size", np.zeros(0)),
        ("train.noise.noisy_flow", "step_size", 1e-320),
    ],
    "tables": [
        ("data.photos.photographs", "train", DEEP), ("data.gaussian.natural_gaussian", "classes", DEEP),
        ("data.frequency.frequency_points", "test", DEEP), ("data.catalogue.load", "progress", 3.0),
        ("data.tables.frame", "choose", 3.0), ("forecasting.network.forecast_network_table", "network", WIDE),
        ("forecasting.network.forecast_network_table.own", "own", 3.0), ("report.plot.overlay", "ax", 3.0),
        ("evidence.evidence.Evidence", "correction", WIDE), ("report.plot.phases", "measured", 3.0),
        ("report.plot.phases", "depth", np.ones((1, 1))),
    ],
    "networks": [
        ("torch.linearise.linearise", "X_test", "single"), ("recording.recording.Recording.top", "top", 3.0),
        ("recording.recorder.Recorder.__call__", "model", []), ("torch.expand.expand", "depth", DEEP),
        ("torch.expand.expand", "width", DEEP), ("torch.expand.expand", "generator", 3.0),
        ("torch.expand.expand", "layers", "sparse"), ("torch.truncate.truncate.data", "calibration", 3.0),
        ("torch.truncate.truncate.data", "data", [3.0]), ("torch.truncate.truncate.data", "fine_tune", 3.0),
        ("torch.kernel.ntk", "outputs", WIDE), ("torch.kernel.ntk", "forward", 3.0),
        ("torch.recorder.Recorder", "forward", 3.0),
    ],
}  # fmt: skip
"""What a dependency refused, or what never ended: every hostile value was once put into every argument."""


@pytest.mark.parametrize("part", MENDED)
def test_what_was_found_once_stays_refused_by_us(part):
    import scipy.sparse
    import torch

    foreign = {"single": torch.eye(2), "sparse": scipy.sparse.eye(2)}
    listed = calls(part)
    for name, argument, value in MENDED[part]:
        made = listed[f"{part}.{name}" if part in ("theory", "measure") else name]
        given = foreign.get(value, value) if isinstance(value, str) else value
        outcome = judge(made.function, **{**made.arguments, argument: given})
        assert outcome.kind == "refused", (name, argument, outcome)


def test_whole_numbers_of_numpy_are_counts():
    """An array without axes was looked at, and then not converted."""
    listed = calls("tables")
    for name in ("forecasting.forecast.forecast", "forecasting.forecast.forecast_table"):
        made = listed[name]
        assert judge(made.function, **{**made.arguments, "seed": np.array(2)}).kind == "result"
    one = calls("training")["starts.normal.gaussian"]
    assert judge(one.function, **{**one.arguments, "start_scale": 10**30}).kind == "result"
