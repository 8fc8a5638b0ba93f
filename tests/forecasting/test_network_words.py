"""What is said of a network's forecast on a table, what is left out of a call, and what is refused before it is made."""

import inspect
import math
from types import SimpleNamespace

import numpy as np
import pytest

import lineament as la
from lineament.data import tables
from lineament.forecasting import network, network_words

X = np.random.default_rng(0).normal(size=(40, 2))
Y = X @ [1.0, -1.0]
WORDS = np.where(Y > 0, "yes", "no")


def settings_of(y=Y, **asked):
    """Rows and settings as a framework of one's own gets them: nothing is computed."""
    made = network.forecast_network_table(tables.arrays(X, y), own=lambda rows, settings: settings, **asked)
    return made.rows, made.linearised


def test_what_is_left_out_of_a_call():
    rows, settings = settings_of()
    assert settings == {
        "loss": "square", "step_size": None, "momentum": 0.0, "weight_decay": 0.0, "batch_size": None, "steps": 1500,
        "seed": 0, "renew": 60,
    }  # fmt: skip
    assert (len(rows.train), len(rows.test)) == (30, 10)
    assert settings_of(optimiser="momentum")[1]["momentum"] == 0.9
    assert settings_of(WORDS)[1]["loss"] == "cross-entropy"
    assert settings_of(WORDS, loss="square")[1]["loss"] == "square"
    for function in (network.forecast_network, network.forecast_network_table):
        left = {name: p.default for name, p in inspect.signature(function).parameters.items()}
        assert (left["network"], left["width"], left["depth"], left["start"], left["start_scale"]) == (
            "mlp",
            256,
            2,
            None,
            1e-3,
        )
        assert (left["optimiser"], left["steps"], left["renew"], left["test_share"]) == ("sgd", 1500, 60, 0.25)
        assert (left["scale_target"], left["classes"], left["seed"], left["weight_decay"]) == (False, None, 0, 0.0)
    assert inspect.signature(network.forecast_network_table).parameters["most_rows"].default == 10_000


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"network": "cnn"}, "network must be one of 'mlp', 'linear' or a function"),
        ({"optimiser": "adam"}, "optimiser must be"),
        ({"start": "zero"}, "start must be"),
        ({"start": "balanced"}, "start must be 'he', 'glorot' or 'torch' for a network that is not linear"),
        ({"width": 0}, "width must be"),
        ({"width": 100_001}, "width must be .* at most 100000"),
        ({"depth": 0}, "depth must be"),
        ({"start_scale": 0.0}, "start_scale must be"),
        ({"test_share": 0.0}, "test_share must be"),
        ({"test_share": 1.0}, "test_share must be"),
        ({"seed": -1}, "seed must be"),
        ({"most_rows": 3}, "most_rows must be"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"loss": "cross-entropy"}, "loss must be 'square' for a target of numbers"),
        ({"own": 3}, "own must be a function"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_computed(asked, said):
    with pytest.raises(ValueError, match=said):
        network.forecast_network_table(tables.arrays(X, Y), **({"own": lambda rows, settings: None} | asked))


def test_networks_are_built_as_asked():
    rows, _ = settings_of()
    model, parameters = network._built("mlp", 7, rows, "he", 3)
    assert model == la.models.MLP((2, 7, 7, 1), "relu", "standard", bias=True)
    expected = la.starts.he(model, 3)
    for ours, theirs in zip(parameters.layers, expected.layers, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    mine = la.models.MLP((2, 3, 1), "tanh", "standard")
    found, drawn = network._built(lambda inputs, outputs: mine, 7, rows, "glorot", 3)
    assert found is mine
    np.testing.assert_array_equal(drawn.layers[0], la.starts.glorot(mine, 3).layers[0])
    assert network._built(lambda inputs, outputs: ((inputs, outputs), "parameters"), 7, rows, "he", 3) == (
        (2, 1),
        "parameters",
    )


# ---------------------------------------------------------------------------------------------------------
# Sentences


def forecast(classes=False, test_loss=(4.0, 2.0, 2.0), **change):
    curves = SimpleNamespace(
        loss=np.array([2.0, 1.0, 0.5]), test_loss=np.array(test_loss), test_accuracy=np.array([0.1, 0.5, 0.75]),
        accuracy=np.array([0.1, 0.5, 0.9]),
    )  # fmt: skip
    given = {
        "curves": curves, "classes": classes, "y_test": np.array([[2.0], [-2.0], [4.0]]), "largest_stable": 0.25,
        "at": np.array([0, 10, 2000]), "safe_step": math.inf, "learnt_at": np.array([1.0, np.inf, 3.0]), "steps": 2000,
        "late": lambda count: np.array([1, 2, 0])[:count], "y": np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.25]]),
        "exact": False, "kernel": "all", "loss_name": "square", "step_size": 0.1, "momentum": 0.9, "weight_decay": 0.0,
        "batch_size": None, "seed": 4, "network": SimpleNamespace(name="MLP 2", size=1234),
        "outputs": lambda steps: (np.array([[0.9, 0.1], [0.8, 0.2], [0.5, 0.125]]), None),
    }  # fmt: skip
    outputs = ("no", "yes") if classes else ("y",)
    rows = SimpleNamespace(
        classes=classes, outputs=outputs, train=np.array([5, 7, 1200]), test=np.array([1]), features=("a", "b")
    )
    return SimpleNamespace(
        linearised=SimpleNamespace(**given | change), rows=rows, name="folder/table.csv", start="He's"
    )


def test_what_training_is_worth():
    """The mean of the training rows has the loss ½·24/3 = 4 on the test rows."""
    assert network_words._idle_loss(forecast()) == pytest.approx(4)
    assert network_words.so_what(forecast()).startswith(
        "Trained, this network will explain 50 % of the target's variance"
    )
    assert "no better on new rows than the mean" in network_words.so_what(forecast(test_loss=(5.0, 4.0, 4.5)))
    assert "explain 3 %" in network_words.so_what(forecast(test_loss=(5.0, 3.88, 4.5)))
    assert network_words.so_what(forecast(True)).startswith(
        "Training will raise right answers on new rows from 10 % to 75 %."
    )
    assert "will not lower its test loss" in network_words.so_what(forecast(test_loss=(1.0, 0.991, 2.0)))
    assert "will not lower" not in network_words.so_what(forecast(test_loss=(1.0, 0.989, 2.0)))
    lost = forecast()
    lost.linearised.curves.loss[1] = np.nan
    assert network_words.so_what(lost) == "With this step size training diverges; 0.25 is the largest that is stable."


def test_the_table_and_its_late_rows():
    assert network_words.title(forecast()) == "What an MLP 2 learns from table.csv"
    assert network_words._article("ConvNet") == "a ConvNet"
    assert network_words._article("Ensemble") == "an Ensemble"
    assert network_words.data(forecast()) == "3 rows to train on and 1 to test on, 2 features, one target."
    assert network_words.data(forecast(True)).endswith("2 features, 2 classes.")
    several = forecast()
    several.rows.outputs = ("a", "b", "c")
    assert network_words.data(several).endswith("2 features, 3 targets.")
    assert network_words.late(forecast()) == (
        "The rows that are learnt last are 7, 1\u202f200, 5; 1 of 3 is not learnt in 2\u202f000 steps. Look at their "
        "labels first if the table may hold mistakes."
    )
    assert "2 of 3 are not learnt" in network_words.late(forecast(learnt_at=np.array([np.inf, np.inf, 1.0])))
    assert "not learnt" not in network_words.late(forecast(learnt_at=np.ones(3)))
    assert network_words.late_rows(forecast(True)) == [
        (7, "not in these steps", "yes", "no"), (1200, "3", "no", "no"), (5, "1", "no", "no")
    ]  # fmt: skip
    assert network_words.late_rows(forecast())[1] == (1200, "3", "0.5, 0.25", "0.5, 0.125")


def test_settings_of_a_network():
    found = network_words.settings(forecast())
    assert (found["loss"], found["batch"], found["kernel"], found["target"]) == (
        "½ mean‖f − y‖²", "all rows", "of every pair of outputs", "y"
    )  # fmt: skip
    assert found["network"] == "MLP 2, 1\u202f234 parameters"
    other = forecast(True, batch_size=8, loss_name="cross-entropy", kernel="mean")
    other.rows.outputs = tuple(f"c{i}" for i in range(13))
    found = network_words.settings(other)
    assert (found["loss"], found["batch"], found["kernel"]) == ("cross-entropy", 8, "shared by the outputs")
    assert found["target"].endswith("c11, …")
    other.rows.outputs = other.rows.outputs[:12]
    assert network_words.settings(other)["target"].endswith("c11")
    assert "kernel" not in network_words.settings(forecast(exact=True))
    brief = forecast(X_test=None)
    brief.name = "x" * 40
    assert network_words.brief(brief).startswith("x" * 40 + ", ")
    brief.name = "y" + "x" * 40
    assert network_words.brief(brief).startswith("…" + "x" * 39 + ", ")


def test_a_comparison_in_words():
    run = SimpleNamespace(
        forecast=forecast(True), departed=math.inf, agreement=0.956, covered=0.5, seconds=1.26,
        run={"test_loss": np.array([4.0, 2.1])},
    )  # fmt: skip
    assert network_words.comparison(run) == (
        "Trained in 1.3 s: no loss differed from the forecast by more than 10 % in 2\u202f000 steps. At the end the test "
        "loss was 2.1, forecast 2; 96 % of test rows got the label that was forecast, at the last safe step. The error "
        "bar held both losses at 50 % of the steps that were looked at."
    )
    run.departed, run.forecast = 1234.0, forecast()
    told = network_words.comparison(run)
    assert "a loss first differed from the forecast by more than 10 % at step 1\u202f234." in told
    assert "label" not in told


def test_answers_are_names_or_numbers():
    said = SimpleNamespace(answers=lambda step: np.array([1, 0]))
    named = SimpleNamespace(linearised=said, rows=SimpleNamespace(classes=True, outputs=("no", "yes")))
    assert network.answers(named, 3).tolist() == ["yes", "no"]
    named.rows.classes = False
    assert network.answers(named, 3).tolist() == [1, 0]
