"""The recorder without a framework: arrays, functions, trees of parameters, equinox, and the hooks of Keras."""

import sys
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lineament import recording as rec
from lineament.models import DeepLinear
from lineament.recording import Recorder, Recording, keras_callback
from lineament.recording.keeper import sum_of

X = np.random.default_rng(0).standard_normal((24, 4))
LABELS = (X[:, 0] > 0).astype(int)


def test_an_equinox_loop_is_recorded_as_it_is_and_without_its_dropout(tmp_path):
    key = jax.random.key(0)
    model = eqx.nn.Sequential([eqx.nn.Linear(4, 8, key=key), eqx.nn.Dropout(0.5), eqx.nn.Linear(8, 2, key=key)])
    optimiser = optax.sgd(0.1)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def loss(model, key):
        logits = jax.vmap(model)(jnp.asarray(X), key=jax.random.split(key, len(X)))
        return optax.softmax_cross_entropy_with_integer_labels(logits, LABELS).mean()

    with Recorder(X, LABELS, path=tmp_path, batch=10) as recorder:
        recorder(model, 0)
        for step in range(1, 4):
            value, slope = eqx.filter_value_and_grad(loss)(model, jax.random.key(step))
            updates, state = optimiser.update(slope, state)
            model = eqx.apply_updates(model, updates)
            recorder(model, step, loss=value, gradients=slope)
    held = Recording.load(tmp_path)
    expected = jax.vmap(eqx.nn.inference_mode(model))(jnp.asarray(X))
    np.testing.assert_allclose(held.outputs[-1], expected, rtol=1e-5, atol=1e-6)
    assert held.spectra.keys() == {"layers.0.weight", "layers.2.weight"}
    W = np.asarray(model.layers[2].weight, np.float64)
    np.testing.assert_allclose(held.spectra["layers.2.weight"][-1], np.linalg.svd(W, compute_uv=False), rtol=1e-10)
    norm = np.linalg.norm(np.asarray(slope.layers[0].weight, np.float64))
    np.testing.assert_allclose(held.gradients["layers.0.weight"][-1], norm, rtol=1e-10)
    assert np.isnan(held.gradients["layers.0.weight"][0])
    assert held.loss[-1] == pytest.approx(float(value))
    assert held.about["model"] == "Sequential"


def test_a_function_with_parameters_outputs_alone_and_a_function_of_a_batch_are_the_same():
    W = np.random.default_rng(1).standard_normal((4, 2))
    by_parameters, by_outputs, by_function = Recorder(X, LABELS), Recorder(probe_labels=LABELS), Recorder(X, LABELS)
    by_parameters(lambda p, x: x @ p["last"]["W"], 0, parameters={"last": {"W": W}}, gradients={"last": {"W": 2 * W}})
    by_outputs(X @ W, 0, parameters={"W": W}, gradients={"W": 3.0})
    by_function(lambda x: x @ W, 0)
    for recorder in (by_outputs, by_function):
        np.testing.assert_allclose(recorder.recording.outputs, by_parameters.recording.outputs, rtol=1e-6)
    np.testing.assert_allclose(by_outputs.recording.gradient_norm, [3.0])
    np.testing.assert_allclose(by_parameters.recording.gradients["last.W"], [2 * np.linalg.norm(W)])
    np.testing.assert_allclose(by_outputs.recording.spectra["W"], by_parameters.recording.spectra["last.W"])
    assert by_function.recording.spectra == {}


@pytest.mark.parametrize("first", [False, True])
def test_kernels_are_unfolded_by_their_outputs(first):
    K = np.random.default_rng(2).standard_normal((3, 3, 2, 5))
    found = rec.recorder.singular_values({"K": np.moveaxis(K, 3, 0) if first else K}, outputs_first=first)["K"]
    np.testing.assert_allclose(found, np.linalg.svd(K.reshape(-1, 5), compute_uv=False))


def test_long_tables_are_decomposed_only_if_they_are_named():
    table = {"embedding": np.ones((rec.recorder.LONGEST + 1, 2)), "W": np.eye(3), "b": np.ones(3)}
    assert rec.recorder.singular_values(table).keys() == {"W"}
    assert rec.recorder.singular_values(table, ["embedding"]).keys() == {"embedding"}
    assert rec.recorder.singular_values(table, ()) == {}
    with pytest.raises(ValueError, match=r"layers must name parameters that are matrices .*'W'.*; got 'b'"):
        rec.recorder.singular_values(table, ["b"])
    assert np.isnan(rec.recorder.singular_values({"W": np.full((2, 3), np.nan)})["W"]).all()


def test_whole_numbers_stay_whole_and_half_precision_is_read():
    tokens = np.array([[0, 1], [2, 1]])
    recorder = Recorder(tokens)
    recorder(lambda x: jnp.eye(3, dtype=jnp.bfloat16)[x].sum(1), 0)
    assert recorder.recording.inputs is None
    assert recorder.recording.outputs.dtype == np.float32
    np.testing.assert_array_equal(recorder.recording.outputs[0], [[1, 1, 0], [0, 1, 1]])


def test_a_model_with_a_dtype_is_no_array():
    """As the layers of flax are."""

    class Layer:
        dtype = None

        def __call__(self, x):
            return x[:, :2]

    recorder = Recorder(X)
    recorder(Layer(), 0)
    np.testing.assert_array_equal(recorder.recording.outputs[0], X[:, :2])


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="probe_inputs must be given for a model to be asked"):
        Recorder()(lambda x: x, 0)
    with pytest.raises(ValueError, match=r"must return outputs \(example, output\); it gave shape \(24, 2, 2\)"):
        Recorder(X)(lambda x: x.reshape(-1, 2, 2), 0)
    with pytest.raises(ValueError, match="batch must be a whole number of at least 1"):
        Recorder(X, batch=0)
    with pytest.raises(ValueError, match=r"take run\.to_recording"):
        Recorder(X)(DeepLinear((4, 2)), 0)


class Weight:
    def __init__(self, path, value):
        self.path, self.value = path, value


def stand_in(monkeypatch):
    """What Keras looks like to the callback."""
    home = types.ModuleType("keras")
    home.callbacks = types.SimpleNamespace(Callback=type("Callback", (), {}))
    home.ops = types.SimpleNamespace(convert_to_numpy=np.asarray)
    monkeypatch.setitem(sys.modules, "keras", home)
    return home


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 1, 2, 3, 4]), ("step", np.arange(13))])
def test_a_keras_callback_records_by_its_hooks_and_serves_a_second_fit(monkeypatch, tmp_path, every, steps):
    home = stand_in(monkeypatch)
    W = np.ones((4, 2))
    recorder = Recorder(X, LABELS, path=tmp_path)
    callback = keras_callback(recorder, every)
    assert isinstance(callback, home.callbacks.Callback)

    class Model:
        trainable_weights = (Weight("dense/kernel", W),)

        def __call__(self, x, training):
            assert not training
            return x @ W

    callback.model = Model()
    for _ in range(2):
        callback.on_train_begin()
        for epoch in range(2):
            for batch in range(3):
                W *= 1.1
                callback.on_train_batch_end(batch, {"loss": 0.5})
            callback.on_epoch_end(epoch, {"loss": 0.25})
        callback.on_train_end()
    held = Recording.load(tmp_path)
    np.testing.assert_array_equal(held.steps, steps)
    np.testing.assert_allclose(held.outputs[-1], X @ W)
    np.testing.assert_allclose(held.spectra["dense/kernel"][:, 0], np.sqrt(8) * 1.1 ** (held.steps * 12 / steps[-1]))
    assert held.loss[-1] == (0.25 if every == "epoch" else 0.5)


def test_keras_is_needed_only_for_its_callback(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ImportError, match="pip install keras"):
        keras_callback(Recorder(X))
    with pytest.raises(ValueError, match="every must be one of 'epoch', 'step'"):
        keras_callback(Recorder(X), "day")


def test_inputs_are_the_recorders_own_and_told_from_others_when_a_run_is_resumed(tmp_path):
    x = np.arange(6).reshape(3, 2)
    with Recorder(x, path=tmp_path) as recorder:
        recorder(lambda x: 1.0 * x, 0)
        x[:] = 0
        recorder(lambda x: 1.0 * x, 1)
        np.testing.assert_array_equal(recorder.recording.outputs[0], recorder.recording.outputs[1])
    with pytest.raises(
        ValueError, match=r"must be those of the recording that is resumed, \(3, 2\) with the check sum"
    ):
        Recorder(x, path=tmp_path, resume=True)
    Recorder(np.arange(6).reshape(3, 2), path=tmp_path, resume=True).close()


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 1, 2, 3]), ("step", np.arange(10))])
def test_a_keras_callback_goes_on_from_the_epoch_that_a_run_is_resumed_from(monkeypatch, tmp_path, every, steps):
    stand_in(monkeypatch)

    class Model:
        trainable_weights = ()

        def __call__(self, x, training):
            return x[:, :2]

    def fit(recorder, begin, end):
        callback = keras_callback(recorder, every)
        callback.model, callback.params = Model(), {"steps": 3}
        callback.on_train_begin()
        for epoch in range(begin, end):
            callback.on_epoch_begin(epoch)
            for batch in range(3):
                callback.on_train_batch_end(batch, {"loss": float(epoch)})
            callback.on_epoch_end(epoch, {"loss": float(epoch)})
        callback.on_train_end()

    fit(Recorder(X, LABELS, path=tmp_path), 0, 3)
    fit(Recorder(X, LABELS, path=tmp_path, resume=True), 1, 3)
    held = Recording.load(tmp_path)
    np.testing.assert_array_equal(held.steps, steps)
    assert held.loss[-1] == 2
    fit(Recorder(X, LABELS, path=tmp_path, resume=True), 0, 1)  # no checkpoint: a further fit
    assert Recording.load(tmp_path).steps[-1] == steps[-1] + (1 if every == "epoch" else 3)


def test_inputs_that_are_objects_are_told_apart_by_their_shape():
    """A model of the user's own may take anything; objects have no bytes that last."""
    paths = np.array(["a", None, 3.0], dtype=object)
    assert sum_of({"": paths}) == sum_of({"": np.array([1, 2, "b"], dtype=object)})
    assert sum_of({"": paths}) != sum_of({"": paths[:2]})
    assert sum_of({"": np.arange(3.0)}) != sum_of({"": np.arange(3.0) + 1})
