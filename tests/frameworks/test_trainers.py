"""Recorders with the frameworks themselves, of the extra `models`: `make test-frameworks`."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lineament import recording as rec
from lineament.measure.kernels import empirical
from lineament.torch import Recorder

X = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
Y = torch.randint(3, (32,), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 4, 8, 12, 16]), ("step", np.arange(17))])
def test_lightning_with_a_validation_loader_and_a_second_fit(every, steps):
    import lightning.pytorch as pl

    norms = []

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch, index):
            return cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, index):
            self.zero_grad()  # nothing of the training step's gradients is left

        def on_before_optimizer_step(self, optimizer):
            norms.append(float(torch.cat([p.grad.flatten() for p in self.parameters()]).norm()))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def loader():
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 8)

    recorder, model = Recorder(X, Y), Module()
    callback = recorder.lightning_callback(every)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            pl.Trainer(
                callbacks=[callback], max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False,
            ).fit(model, loader(), loader())  # fmt: skip
    held = recorder.recording
    np.testing.assert_array_equal(held.steps, steps)
    np.testing.assert_allclose(held.gradient_norm[1:], np.array(norms)[held.steps[1:].astype(int) - 1], rtol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(held.outputs[-1], model(X), rtol=1e-5)


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 4, 8, 12, 16]), ("step", np.arange(17))])
def test_transformers_trainer(tmp_path, every, steps):
    import transformers

    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8, num_labels=3,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    tokens = torch.randint(20, (32, 6))
    rows = [{"input_ids": token, "labels": label} for token, label in zip(tokens, Y, strict=True)]
    recorder = Recorder(tokens, Y, forward=lambda net, x: net(input_ids=x).logits, path=tmp_path / "run")
    arguments = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=2, per_device_train_batch_size=8, report_to=[], save_strategy="no",
        use_cpu=True, logging_steps=1, disable_tqdm=True,
    )  # fmt: skip
    callback = recorder.transformers_callback(every)
    for _ in range(2):
        transformers.Trainer(model, arguments, train_dataset=rows, callbacks=[callback]).train()
    held = rec.Recording.load(tmp_path / "run")
    np.testing.assert_array_equal(held.steps, steps)
    assert np.isfinite(held.gradient_norm[1:]).all()
    assert (held.gradient_norm[1:] > 0).all()
    model.eval()
    with torch.no_grad():
        np.testing.assert_allclose(held.outputs[-1], model(input_ids=tokens).logits, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 1, 2, 3, 4]), ("step", np.arange(17))])
def test_keras(every, steps):
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss)
    recorder = rec.Recorder(X.numpy(), Y.numpy())
    callback = rec.keras_callback(recorder, every)
    for _ in range(2):
        model.fit(X.numpy(), Y.numpy(), batch_size=8, epochs=2, verbose=0, callbacks=[callback])
    held = recorder.recording
    np.testing.assert_array_equal(held.steps, steps)
    np.testing.assert_allclose(held.outputs[-1], model.predict(X.numpy(), verbose=0), rtol=1e-4, atol=1e-6)
    kernel = np.asarray(model.trainable_weights[0].numpy(), float)
    np.testing.assert_allclose(next(iter(held.spectra.values()))[-1], np.linalg.svd(kernel, compute_uv=False))
    assert np.isfinite(held.loss[1:]).all()


def test_nnx_is_asked_in_evaluation_mode_and_left_in_training():
    pytest.importorskip("flax")
    from flax import nnx

    rngs, x = nnx.Rngs(0), np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    parts = nnx.Linear(4, 5, rngs=rngs), nnx.BatchNorm(5, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    model = nnx.Sequential(*parts)
    recorder = rec.Recorder(x)
    recorder(model, 0)
    found = empirical(model, None, x)
    assert not parts[1].use_running_average
    assert not parts[2].deterministic
    model.eval()
    np.testing.assert_allclose(recorder.recording.outputs[0], model(x), rtol=1e-6)
    np.testing.assert_allclose(found, empirical(model, None, x), rtol=1e-6)


def test_flax_linen_and_nnx():
    import jax
    from flax import linen, nnx

    module = linen.Dense(3)
    variables = module.init(jax.random.key(0), X.numpy())
    recorder = rec.Recorder(X.numpy(), Y.numpy())
    recorder(module, 0, parameters=variables)
    np.testing.assert_allclose(recorder.recording.outputs[0], module.apply(variables, X.numpy()), rtol=1e-6)
    kernel = np.asarray(variables["params"]["kernel"], float)
    np.testing.assert_allclose(recorder.recording.spectra["kernel"][0], np.linalg.svd(kernel, compute_uv=False))
    layer = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
    other = rec.Recorder(X.numpy(), Y.numpy())
    other(layer, 0)
    np.testing.assert_allclose(other.recording.outputs[0], layer(X.numpy()), rtol=1e-6)
    assert len(other.recording.spectra) == 1


def test_cleanlab_reads_what_a_recording_gives():
    from cleanlab.filter import find_label_issues

    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 40)
    labels = truth.copy()
    labels[[5, 50, 100]] = (labels[[5, 50, 100]] + 1) % 3
    outputs = np.stack([t * np.eye(3)[truth] + 0.3 * rng.normal(size=(120, 3)) for t in range(6)])
    run = rec.Recording(np.arange(6), outputs, labels)
    issues = find_label_issues(labels=labels, pred_probs=rec.probabilities(run))
    np.testing.assert_array_equal(np.flatnonzero(issues), [5, 50, 100])
    np.testing.assert_array_equal(np.sort(rec.to_frame(run).query("is_label_issue").index), [5, 50, 100])
