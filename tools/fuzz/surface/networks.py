"""A valid call of everything that takes a network of one's own: linearisation, recordings, PyTorch models."""

from pathlib import Path

import numpy as np
import torch

from lineament import linearisation, models, recording, starts
from lineament import torch as torch_tools
from lineament.recording import recorder
from lineament.recording.top import largest
from lineament.report import recording_page

from . import Call, Is, call
from .theory import TARGET, X

CLASSES = [0, 1, 0, 1, 0, 1]
ONE_LABEL = X[:, :1]


def calls() -> dict[str, Call]:
    """By name."""
    return {**_linearisation(), **_recordings(), **_torch()}


def _linearisation() -> dict[str, Call]:
    net = models.MLP((2, 3, 1))
    parameters = starts.gaussian(net, 0, deviation=1.0)
    given = {
        "X": X, "y": ONE_LABEL, "X_test": X, "y_test": ONE_LABEL, "loss": "square", "step_size": 0.1, "momentum": 0.0,
        "ridge": 0.0, "weight_decay": 0.0, "batch_size": 3, "steps": 5, "kernel": "full", "renew": 0, "memory": 1e6,
        "seed": 0, "progress": Is("function", lambda share: None),
    }  # fmt: skip
    made = linearisation.linearise(net, parameters, X, ONE_LABEL, X, ONE_LABEL, steps=5, step_size=0.1)
    given["kernel"] = made.kernel
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
    tensors = {"X": torch.tensor(X), "X_test": torch.tensor(X)}
    torch_given = given | {name: Is("object", tensor) for name, tensor in tensors.items()}
    return {
        "linearisation.linearise.linearise": call(
            linearisation.linearise, True, model=net, parameters=Is("any", parameters), **given
        ),
        "linearisation.linearised.Linearised.outputs": call(made.outputs, True, steps=Is("number", [0.0, 2.0])),
        "linearisation.linearised.Linearised.answers": call(made.answers, True, step=2.0),
        "linearisation.linearised.Linearised.late": call(made.late, True, count=2),
        "linearisation.shown.Shown.plot": call(made.plot, True, which="loss", dark=False),
        "torch.linearise.linearise": call(torch_tools.linearise, True, module=Is("object", module), **torch_given),
    }


def _recordings() -> dict[str, Call]:
    rng = np.random.default_rng(2)
    steps, outputs = [0.0, 1.0, 2.0], rng.normal(size=(3, 6, 2))
    spectra_of = {"first": np.sort(rng.uniform(size=(3, 2)))[:, ::-1]}
    whole = recording.Recording(
        steps, outputs, CLASSES, X, loss=[1.0, 0.5, 0.2], spectra=spectra_of, gradients={"first": [1.0, 0.5, 0.2]}
    )
    real = recording.Recording(steps, outputs[..., :1], ONE_LABEL, X)
    kept = Path("kept.npz")
    whole.save(kept)
    one = recorder.Recorder(X, CLASSES)
    given = {"recording": whole}
    weights = {"layer": np.eye(2)}
    return {
        "recording.recording.Recording": call(
            recording.Recording, steps=steps, outputs=Is("number", outputs), labels=Is("number", CLASSES),
            inputs=Is("any", X), loss=Is("any", [1.0, 0.5, 0.2]), spectra=Is("any", spectra_of),
            unbalancedness=Is("any", {"first": [1.0, 1.0, 1.0]}), gradients=Is("any", {"first": [1.0, 1.0, 1.0]}),
            linearised=Is("number", outputs), seconds=Is("any", [1.0, 1.0, 1.0]), between=Is("any", [1.0, 1.0, 1.0]),
            about=Is("any", {"framework": "mine"}),
        ),
        "recording.recording.Recording.compact": call(
            recording.Recording, steps=steps, labels=Is("number", CLASSES), predictions=Is("number", whole.predictions)
        ),
        "recording.recording.Recording.top": call(
            recording.Recording, steps=steps, labels=Is("number", CLASSES), top=Is("object", largest(outputs, 2))
        ),
        "recording.recording.Recording.save": call(whole.save, path=Path("saved.npz")),
        "recording.recording.Recording.load": call(recording.Recording.load, path=kept),
        "recording.recording.join": call(recording.join, parts=Is("any", [whole[:1], whole[1:]])),
        "recording.compact.compact": call(recording.compact, **given, keep=Is("word", "predictions")),
        "recording.order.accessibility": call(recording.accessibility, **given),
        "recording.order.learning_step": call(recording.learning_step, **given),
        "recording.order.learning_order": call(recording.learning_order, **given),
        "recording.scores.mean_margin": call(recording.mean_margin, **given),
        "recording.scores.forgetting_events": call(recording.forgetting_events, **given),
        "recording.scores.probabilities": call(recording.probabilities, **given),
        "recording.scores.to_frame": call(recording.to_frame, **given),
        "recording.regression.estimates": call(recording.estimates, recording=real),
        "recording.advice.advice": call(recording.advice, **given),
        "recording.bias.pc_bias": call(recording.pc_bias, **given, components=2),
        "recording.ranks.ranks": call(recording.ranks, **given),
        "recording.phase.data_linear": call(recording.data_linear, **given),
        "recording.phase.linear_phase": call(
            recording.linear_phase, **given, against=Is("word", "data"), threshold=0.02, scale=1.0
        ),
        "recording.recorder.Recorder": call(
            recorder.Recorder, probe_inputs=Is("any", X), probe_labels=Is("number", CLASSES), path=Path("folder"),
            interval=1, resume=False, layers=Is("any", None), batch=3, keep=Is("word", "outputs"), keep_inputs=True,
        ),
        "recording.recorder.Recorder.__call__": call(
            one, model=Is("any", lambda rows: rows @ TARGET), step=1.0, loss=Is("any", 0.5),
            parameters=Is("any", None), gradients=Is("any", weights),
        ),
        "recording.keras_callback.keras_callback": call(recording.keras_callback, True, recorder=one, every="epoch"),
        "report.recording_page.write": call(recording_page.write, True, **given, path=Path("page.html"), refresh=5),
        "report.recording_page.page": call(recording_page.page, True, **given, refresh=5),
    }  # fmt: skip


def _torch() -> dict[str, Call]:
    def module() -> torch.nn.Module:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))

    net, rows = module(), torch.randn(6, 2)
    one = torch_tools.Recorder(rows, torch.tensor(CLASSES))
    names = Is("names", ("0",))
    return {
        "torch.expand.expand": call(
            torch_tools.expand, model=Is("object", net), depth=2, width=4, layers=names, preserve=True,
            generator=Is("object", torch.Generator()),
        ),
        "torch.collapse.collapse": call(torch_tools.collapse, model=Is("object", torch_tools.expand(net, 2).model)),
        "torch.truncate.truncate": call(torch_tools.truncate, model=Is("object", net), energy=0.9, layers=names),
        "torch.truncate.truncate.data": call(
            torch_tools.truncate, model=Is("object", net), energy=0.9, calibration=Is("any", [rows]),
            data=Is("any", [rows]), forward=lambda model, x: model(x), inputs=Is("function", lambda batch: batch),
            fine_tune=Is("function", lambda model: None),
        ),
        "torch.truncate.truncate.ranks": call(torch_tools.truncate, model=Is("object", net), ranks=Is("any", 1)),
        "torch.truncate.truncate.error": call(torch_tools.truncate, model=Is("object", net), error=0.5),
        "torch.truncate.truncate.parameters": call(torch_tools.truncate, model=Is("object", net), parameters=0.95),
        "torch.spectra.spectra": call(torch_tools.spectra, model=Is("object", net)),
        "torch.kernel.ntk": call(
            torch_tools.ntk, model=Is("object", net), x=Is("object", rows), y=Is("any", rows), outputs="all", memory=1e6,
            forward=Is("function", lambda model, x: model(x)),
        ),
        "torch.recorder.Recorder": call(
            torch_tools.Recorder, probe_inputs=Is("object", rows), probe_labels=Is("number", CLASSES),
            path=Path("torch_folder"), interval=1, resume=False, layers=Is("any", None), linearise=False, batch=3,
            forward=lambda model, x: model(x), keep=Is("word", "outputs"), keep_inputs=True,
        ),
        "torch.recorder.Recorder.__call__": call(
            one, model=Is("object", net), step=1.0, loss=Is("any", 0.5), gradients=Is("any", None)
        ),
    }  # fmt: skip
