"""The recorder: that it sees rightly, leaves no trace, survives crashes, and says what is wrong."""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, dropout  # noqa: E402

from lineament import recording as rec  # noqa: E402
from lineament.recording import Recording, store  # noqa: E402
from lineament.theory.twin import two_layer  # noqa: E402
from lineament.torch import Recorder, expand  # noqa: E402
from lineament.torch.recorder import _labels  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_unsaid():
    """Unless a test says otherwise, a recorder warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def net(dropout=0.5):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(dropout), nn.Flatten(), nn.Linear(64, 8),
        nn.Tanh(), nn.Linear(8, 3),
    )  # fmt: skip


def data(n=40):
    return torch.randn(n, 1, 6, 6), torch.randint(3, (n,))


def train(model, x, y, recorder=None, epochs=3, first=0, lr=0.1, stop=None):
    """A plain loop; returns the losses."""
    optimiser, losses = torch.optim.SGD(model.parameters(), lr=lr), []
    for epoch in range(first, epochs):
        for batch in torch.randperm(len(x)).split(10):
            optimiser.zero_grad()
            loss = cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        if recorder is not None:
            recorder(model, epoch + 1, loss=loss)
        if epoch + 1 == stop:
            raise KeyboardInterrupt
    return losses


def test_training_is_the_same_with_and_without_it(tmp_path):
    """Modes, buffers, gradients and random numbers: any trace would show in the losses of a net with dropout."""
    runs = []
    for recorded in (False, True):
        torch.manual_seed(3)
        model, (x, y) = net(), data()
        model[1].eval()  # frozen statistics within a model that trains
        recorder = Recorder(x, y, path=tmp_path, linearise=True) if recorded else None
        if recorder is not None:
            recorder(model, 0)
        runs.append((train(model, x, y, recorder), model.state_dict(), [p.grad for p in model.parameters()]))
        assert [m.training for m in model] == [True, False, True, True, True, True, True, True]
        assert model.training
    assert runs[0][0] == runs[1][0]
    for a, b in ((runs[0][1].values(), runs[1][1].values()), (runs[0][2], runs[1][2])):
        assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))


def test_what_is_recorded_is_what_there_is():
    model, (x, y) = net(), data()
    recorder = Recorder(x, y, batch=7)
    recorder(model, 0)
    train(model, x, y)
    recorder(model, 5, loss=torch.tensor(1.5, requires_grad=True))
    made = recorder.recording
    with torch.no_grad():
        expected = model.eval()(x).numpy()
    np.testing.assert_allclose(made.outputs[1], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(made.steps, [0, 5])
    np.testing.assert_array_equal(made.loss, [np.nan, 1.5])
    np.testing.assert_array_equal(made.reported, [False, True])
    W1, W2 = (model[i].weight.detach().double().numpy() for i in (5, 7))
    np.testing.assert_allclose(made.spectra["5"][1], np.linalg.svd(W1, compute_uv=False))
    kernel = model[0].weight.detach().double().numpy().reshape(4, 9)
    np.testing.assert_allclose(made.spectra["0"][1], np.linalg.svd(kernel, compute_uv=False))
    assert made.unbalancedness.keys() == {"5 → 7"}
    np.testing.assert_allclose(made.unbalancedness["5 → 7"][1], np.linalg.norm(W2.T @ W2 - W1 @ W1.T))
    assert np.isnan(made.gradient_norm[0])
    whole = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    np.testing.assert_allclose(made.gradient_norm[1], whole, rtol=1e-5)
    np.testing.assert_array_equal(made.inputs, x)
    assert made.about["model"] == "Sequential"


def test_factors_of_an_expanded_layer_are_balanced():
    net_ = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)).double()
    model = expand(net_, depth=3).model
    recorder = Recorder(torch.randn(3, 2, 6, 6, dtype=torch.float64))
    recorder(model, 0)
    found = recorder.recording
    assert set(found.unbalancedness) == {"0.0 → 0.1", "0.1 → 0.2", "3.0 → 3.1", "3.1 → 3.2"}
    assert max(size[0] for size in found.unbalancedness.values()) < 1e-12
    np.testing.assert_allclose(found.spectra["3"][0], torch.linalg.svdvals(net_[3].weight.detach()))


def test_only_the_layers_asked_for_are_taken():
    model, (x, _) = net(), data()
    one, none, unknown = Recorder(x, layers=["5"]), Recorder(x, layers=()), Recorder(x, layers=["nine"])
    one(model, 0)
    none(model, 0)
    assert one.recording.spectra.keys() == {"5"}
    assert one.recording.unbalancedness == none.recording.unbalancedness == none.recording.spectra == {}
    with pytest.raises(ValueError, match="layers must name modules of the model; got 'nine'"):
        unknown(model, 0)


def test_the_linearisation_is_the_expansion_to_first_order():
    """`f(θ) − f_lin(θ)` falls as the square of the displacement, and f_lin is affine in it."""
    model, (x, _) = net().double(), data(10)
    model[2], x = nn.Softplus(), x.double()  # no kinks: the remainder is of second order everywhere
    start = {name: value.clone() for name, value in model.state_dict().items()}
    ahead = {name: torch.randn_like(value) for name, value in model.named_parameters()}
    gaps, found = [], []
    recorder = Recorder(x, linearise=True)
    recorder(model, 0)
    sizes = (1e-2, 5e-3, 2.5e-3)
    for step, size in enumerate(sizes):
        model.load_state_dict(start)
        with torch.no_grad():
            for name, value in model.named_parameters():
                value += size * ahead[name]
        recorder(model, step + 1)
        row = recorder.recording
        gaps.append(np.abs(row.outputs[-1] - row.linearised[-1]).max())
        found.append((row.linearised[-1] - row.outputs[0]) / size)
    np.testing.assert_array_equal(recorder.recording.linearised[0], recorder.recording.outputs[0])
    slope = np.polyfit(np.log(sizes), np.log(gaps), 1)[0]
    assert slope == pytest.approx(2, abs=0.05)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9, atol=1e-9)


def test_a_linear_network_is_its_own_linearisation():
    model, x = nn.Linear(4, 2), torch.randn(30, 4)
    recorder = Recorder(x, torch.randint(2, (30,)), linearise=True)
    recorder(model, 0)
    train(model, x, torch.randint(2, (30,)), recorder)
    for against in ("data", "linearisation"):
        phase = rec.linear_phase(recorder.recording, against)
        assert phase.end == np.inf
        assert phase.gap.max() < 1e-10


class TwoLayer(nn.Module):
    """vᵀφ(Wx/√d)/√m with a mirrored start, so that it begins at zero (Hu et al. 2020, eq. 3)."""

    def __init__(self, d, m):
        super().__init__()
        W, v = torch.randn(m // 2, d), torch.randn(m // 2).sign()
        self.W, self.v = nn.Parameter(torch.cat([W, W])), nn.Parameter(torch.cat([v, -v]))

    def forward(self, x):
        return torch.tanh(x @ self.W.T / x.shape[1] ** 0.5) @ self.v / len(self.v) ** 0.5


def test_a_wide_network_follows_the_twin_that_theory_forecasts():
    d, n, lr = 20, 200, 0.5
    x = torch.randn(n, d)
    y, model = x @ torch.randn(d) / d**0.5, TwoLayer(d, 800)
    recorder = Recorder(x, y)
    for step in range(61):
        if step % 10 == 0:
            recorder(model, step)
        loss = ((model(x) - y) ** 2).sum() / (2 * n)
        with torch.no_grad():
            for value, slope in zip(
                model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
            ):
                value -= lr * slope
    made = recorder.recording
    right, wrong = (
        rec.linear_phase(
            made,
            two_layer(x.numpy(), y.numpy(), activation="tanh", first_step_size=eta, second_step_size=eta).predict(
                made.steps
            ),
        )
        for eta in (lr, lr / 2)
    )
    assert made.error[-1] < 0.3 * made.error[0]
    assert right.end == np.inf
    assert wrong.gap.max() > 5 * right.gap.max()
    assert rec.linear_phase(made).end == np.inf


def test_a_crash_loses_at_most_the_last_interval_and_the_run_goes_on(tmp_path):
    torch.manual_seed(1)
    model, (x, y) = net(), data()
    with pytest.raises(KeyboardInterrupt):
        train(model, x, y, Recorder(x, y, path=tmp_path, interval=2, linearise=True), epochs=9, stop=5)
    held = Recording.load(tmp_path)
    np.testing.assert_array_equal(held.steps, [1, 2, 3, 4])
    again = Recorder(x, y, path=tmp_path, interval=2, linearise=True, resume=True)
    with again:
        train(model, x, y, again, first=2, epochs=7)  # from a checkpoint before the crash
    whole = Recording.load(tmp_path)
    np.testing.assert_array_equal(whole.steps, [1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(whole.outputs[:2], held.outputs[:2])
    assert (whole.outputs[2] != held.outputs[2]).any()
    np.testing.assert_array_equal(whole.outputs, again.recording.outputs)
    np.testing.assert_array_equal(whole.labels, y)
    # The linearisation is still about the first record of the first run.
    other = Recorder(x, linearise=True)
    start = torch.load(tmp_path / "start.pt", weights_only=True)
    fresh = net()
    fresh.load_state_dict({**start["parameters"], **start["buffers"]})
    other(fresh, 0)
    other(model, 1)
    np.testing.assert_allclose(whole.linearised[-1], other.recording.linearised[-1], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="step must be finite and larger at each call; got 3 after 7"):
        again(model, 3)


def test_a_folder_is_not_overwritten_or_mixed(tmp_path):
    model, (x, y) = net(), data()
    with pytest.raises(ValueError, match="resume=True needs a path that holds a recording"):
        Recorder(x, y, path=tmp_path, resume=True)
    Recorder(x, y, path=tmp_path)(model, 0)
    with pytest.raises(ValueError, match="holds one: go on with resume=True"):
        Recorder(x, y, path=tmp_path)
    with pytest.raises(ValueError, match="probe_inputs must be those of the recording"):
        Recorder(x + 1, y, path=tmp_path, resume=True)
    with pytest.raises(ValueError, match="probe_labels must be those of the recording"):
        Recorder(x, path=tmp_path, resume=True)
    with pytest.raises(ValueError, match="linearise must be False, as in the recording"):
        Recorder(x, y, path=tmp_path, resume=True, linearise=True)


def test_an_unwritable_path_is_refused_at_once_and_a_full_disk_later_is_borne(tmp_path, monkeypatch):
    model, (x, y) = net(), data()
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"cannot write the recording to .*file"):
        Recorder(x, y, path=tmp_path / "file")
    recorder = Recorder(x, y, path=tmp_path / "run")
    recorder(model, 0)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.warns(UserWarning, match=r"No space left on device\. Training and recording go on"):
            recorder(model, 1)
        with pytest.raises(store.UnwritableError, match="No space left"):
            recorder.flush()
    recorder(model, 2)
    np.testing.assert_array_equal(Recording.load(tmp_path / "run").steps, [0, 1, 2])


def test_a_loss_that_is_not_a_number_is_recorded_and_reported_once():
    model, (x, y) = net(), data()
    recorder = Recorder(x, y)
    recorder(model, 0, loss=1.0)
    with pytest.warns(UserWarning, match="the loss is nan at step 1: try a smaller step size"):
        recorder(model, 1, loss=float("nan"))
    recorder(model, 2, loss=torch.tensor(float("inf")))
    np.testing.assert_array_equal(recorder.recording.loss, [1, np.nan, np.inf])
    assert recorder.recording.trouble[:2] == (1, 1.0)
    assert len(recorder.recording.sound) == 1


def test_a_net_that_diverges_is_recorded_to_the_end():
    model, (x, y) = nn.Sequential(nn.Flatten(), nn.Linear(36, 3)), data()
    recorder = Recorder(x, y, linearise=True)
    recorder(model, 0)
    with torch.no_grad():
        model[1].weight.fill_(float("nan"))
    with pytest.warns(UserWarning, match="the outputs on the probe inputs are not finite at step 1"):
        recorder(model, 1, loss=2.0)
    made = recorder.recording
    assert np.isnan(made.outputs[1]).all()
    assert np.isnan(made.spectra["1"][1]).all()
    assert np.isfinite(made.spectra["1"][0]).all()


def test_random_outputs_in_evaluation_mode_are_reported():
    class Leaky(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(4, 2)

        def forward(self, x):
            return self.last(dropout(x, 0.5))  # training=True by default: the classic mistake

    before = torch.random.get_rng_state()
    model = Leaky()
    torch.random.set_rng_state(before)
    with pytest.warns(UserWarning, match=r"outputs in evaluation mode are random.*training=self\.training") as told:
        Recorder(torch.ones(6, 4))(model, 0)
    assert told[0].filename == __file__, "it points at the call"
    assert torch.equal(torch.random.get_rng_state(), before)


def test_probes_on_the_wrong_device_are_refused():
    x = torch.randn(4, 3)
    with pytest.raises(ValueError, match="probe_inputs must have values; they are on the device meta"):
        Recorder(x.to("meta"))
    with pytest.raises(ValueError, match="some of its parameters are on the device meta"):
        Recorder(x)(nn.Linear(3, 2, device="meta"), 0)

    class Elsewhere(nn.Linear):
        """A model that says it is on a GPU, on a machine without one."""

        def parameters(self, recurse=True):
            return iter([types.SimpleNamespace(device=torch.device("cuda:0"))])

    with pytest.raises(ValueError, match=r"on cpu and the model is on cuda:0: give .*probe_inputs\.to\('cuda:0'\)"):
        Recorder(x)(Elsewhere(3, 2), 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probe_labels": torch.zeros(3, dtype=torch.long)}, "probe_labels must be one per probe input, 4 of them"),
        ({"probe_labels": torch.tensor(1)}, "probe_labels must be one per probe input"),
        ({"probe_inputs": torch.zeros(0, 3)}, "at least one, along the first axis"),
        ({"probe_inputs": (torch.zeros(4, 3), torch.zeros(5, 3))}, "equally many examples"),
        ({"probe_inputs": torch.full((4, 3), torch.nan)}, "probe_inputs must be finite"),
        ({"interval": 0}, "interval must be a whole number of at least 1"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Recorder(**{"probe_inputs": torch.zeros(4, 3), **arguments})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([0, 1, 1, 0], "i"), (np.array([0, 1, 1, 0], np.uint8), "u"), (torch.tensor([0, 1, 1, 0]), "i"),
        (np.array([False, True, True, False]), "b"), (torch.tensor([False, True, True, False]), "b"),
        (torch.tensor([0.0, 1.0, 1.0, 0.0]).bfloat16().requires_grad_(), "f"), ([0.0, 1, 1, 0], "f"),
    ],
)  # fmt: skip
def test_labels_may_have_any_form_of_numbers(given, kind):
    found = _labels(given, 4)
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, [0, 1, 1, 0])
    assert _labels(None, 4) is None


@pytest.mark.parametrize("bad", [["a", "b", "c", "d"], [[0], [1, 2], [1], [0]], np.ma.array([0, 1, 1, 0], mask=True)])
def test_labels_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="probe_labels must be"):
        Recorder(torch.zeros(4, 3), bad)


def test_bad_calls_are_refused():
    x = torch.randn(4, 3)
    recorder = Recorder(x, torch.tensor([0, 1, 2, 5]))
    with pytest.raises(ValueError, match="nothing was recorded yet"):
        _ = recorder.recording
    with pytest.raises(ValueError, match="classes from 0 to 2; got 0 to 5"):
        recorder(nn.Linear(3, 3), 0)
    with pytest.raises(ValueError, match=r"model must be a torch\.nn\.Module; got function"):
        recorder(lambda x: x, 0)
    with pytest.raises(ValueError, match=r"it gave \(4, 3, 1\)"):
        Recorder(x)(nn.Unflatten(1, (3, 1)), 0)
    fine = Recorder(x)
    fine(nn.Linear(3, 3), 0)
    with pytest.raises(ValueError, match="keep the number of its outputs, 3; got 2 at step 1"):
        fine(nn.Linear(3, 2), 1)
    with pytest.raises(ValueError, match="step must be finite and larger"):
        fine(nn.Linear(3, 3), 0)
    moved = Recorder(x, linearise=True)
    moved(nn.Linear(3, 3), 0)
    with pytest.raises(ValueError, match="must keep the parameters it was linearised with"):
        moved(nn.Sequential(nn.Linear(3, 3)), 1)


def test_models_that_return_something_else_need_a_forward():
    class Odd(nn.Linear):
        def forward(self, x, scale):
            return {"scores": super().forward(x) * scale}

    parts = torch.randn(6, 3), torch.ones(6, 1)
    with pytest.raises(ValueError, match="holds logits; got a dict: say how to get it"):
        Recorder(parts)(Odd(3, 2), 0)
    recorder = Recorder(parts, forward=lambda model, x, scale: model(x, scale)["scores"], linearise=True, batch=4)
    model = Odd(3, 2)
    recorder(model, 0)
    np.testing.assert_allclose(recorder.recording.outputs[0], model(*parts)["scores"].detach(), rtol=1e-6)
    np.testing.assert_array_equal(recorder.recording.linearised, recorder.recording.outputs)
    assert recorder.recording.inputs is None


@pytest.mark.parametrize("own", [False, True])
def test_inputs_by_name_and_outputs_with_logits(own):
    class Named(nn.Linear):
        def forward(self, *, ids, scale):
            return types.SimpleNamespace(loss=None, logits=super().forward(ids) * scale)

    batch = {"ids": torch.randn(6, 3), "scale": torch.rand(6, 1), "labels": torch.zeros(6)}
    model, ways = Named(3, 2), {"forward": lambda model, ids, scale: model(ids=ids, scale=scale).logits} if own else {}
    recorder = Recorder(batch, linearise=True, batch=4, **ways)
    recorder(model, 0)
    wanted = model(ids=batch["ids"], scale=batch["scale"]).logits.detach()
    np.testing.assert_allclose(recorder.recording.outputs[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(recorder.recording.linearised[0], wanted, rtol=1e-6)


def test_probes_that_the_model_does_not_take_are_named():
    said = r"probe_inputs must be what the model takes; given torch\.float64 of shape \(4, 3\) it raised RuntimeError"
    with pytest.raises(ValueError, match=said):
        Recorder(np.zeros((4, 3)))(nn.Linear(3, 2), 0)


def test_attention_is_linearised():
    class Attending(nn.Linear):
        def forward(self, x):
            q, k, v = super().forward(x).reshape(len(x), 5, 1, 12).transpose(1, 2).chunk(3, dim=-1)
            return nn.functional.scaled_dot_product_attention(q, k, v).flatten(1)

    model, x = Attending(4, 12), torch.randn(6, 5, 4)
    recorder = Recorder(x, linearise=True)
    recorder(model, 0)
    step = 1e-3
    with torch.no_grad():
        model.weight += step * torch.randn(12, 4)
    recorder(model, 1)
    made = recorder.recording
    moved = np.abs(made.outputs[1] - made.outputs[0]).max()
    assert np.abs(made.linearised[1] - made.outputs[1]).max() < 10 * step * moved


def test_weight_normalisation_is_linearised():
    model, x = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3).double()), torch.randn(6, 4).double()
    recorder = Recorder(x, linearise=True)
    recorder(model, 0)
    step = 1e-4
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += step * torch.randn_like(parameter)
    recorder(model, 1)
    made = recorder.recording
    moved = np.abs(made.outputs[1] - made.outputs[0]).max()
    assert np.abs(made.linearised[1] - made.outputs[1]).max() < 10 * step * moved


def test_what_cannot_be_linearised_says_so():
    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sign()

    class Net(nn.Linear):
        def forward(self, x):
            return Straight.apply(super().forward(x))

    with pytest.raises(ValueError, match="needs forward-mode derivatives of the model, which failed"):
        Recorder(torch.randn(4, 3), linearise=True)(Net(3, 2), 0)


def test_wrapped_models_are_looked_into():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    recorder = Recorder(x)
    recorder(torch.compile(nn.DataParallel(model)), 0)  # compiled only if it were called
    recorder(model, 1)
    made = recorder.recording
    np.testing.assert_array_equal(made.outputs[0], made.outputs[1])
    assert made.spectra.keys() == {""}


def test_half_precision_sparse_gradients_and_token_inputs():
    model = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Flatten(), nn.Linear(8, 2)).bfloat16()
    tokens = torch.randint(9, (6, 2))
    model(tokens).sum().backward()
    recorder = Recorder(tokens, torch.zeros(6))
    with pytest.raises(ValueError, match="finite targets of shape"):
        recorder(model, 0)
    recorder = Recorder(tokens, torch.zeros(6, dtype=torch.long))
    recorder(model, 0)
    made = recorder.recording
    assert made.inputs is None
    assert made.outputs.dtype == np.float32
    np.testing.assert_allclose(
        made.gradients["0.weight"][0], model[0].weight.grad.to_dense().float().norm(), rtol=1e-3
    )


def test_overhead_is_measured(monkeypatch):
    from lineament.recording import keeper as module

    clock = iter(np.cumsum([0, 1, 0, 0, 10, 2, 0, 0]).tolist())  # begin, end, write, end of write, twice
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    recorder = Recorder(torch.randn(4, 3))
    recorder(nn.Linear(3, 2), 0)
    assert np.isnan(recorder.overhead)
    recorder(nn.Linear(3, 2), 1)
    assert recorder.overhead == pytest.approx(0.2)


class Without:
    """Finds no module of some names, as where they are not installed."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("missing", ["lightning", "lightning.pytorch"])
def test_lightning_is_needed_only_for_its_callback(missing, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] in ("lightning", "pytorch_lightning")]:
        monkeypatch.delitem(sys.modules, name)
    if missing != "lightning":
        package = types.ModuleType("lightning")
        package.__path__ = []
        monkeypatch.setitem(sys.modules, "lightning", package)
    monkeypatch.setattr(sys, "meta_path", [Without(missing, "pytorch_lightning"), *sys.meta_path])
    recorder = Recorder(torch.randn(4, 3))
    with pytest.raises(ImportError, match="pip install lightning"):
        recorder.lightning_callback()
    with pytest.raises(ValueError, match="every must be 'epoch' or 'step'"):
        recorder.lightning_callback("day")


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 4, 8]), ("step", [0, 1, 2, 3, 4, 5, 6, 7, 8])])
def test_a_lightning_callback_records_by_its_hooks(monkeypatch, tmp_path, every, steps):
    home = types.ModuleType("lightning.pytorch")
    home.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", home)
    model, (x, y) = net(), data()
    recorder = Recorder(x, y, path=tmp_path, interval=100)
    callback = recorder.lightning_callback(every)
    assert isinstance(callback, home.Callback)
    trainer = types.SimpleNamespace(global_step=0, is_global_zero=True)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    callback.on_train_start(trainer, model)
    for _ in range(2):
        for i, batch in enumerate(torch.arange(40).split(10)):
            optimiser.zero_grad()
            loss = cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimiser.step()
            trainer.global_step += 1
            callback.on_train_batch_end(trainer, model, {"loss": loss.detach()}, (x, y), i)
        callback.on_train_epoch_end(trainer, model)
    assert store.stretches(tmp_path) == []
    callback.on_exception(trainer, model, KeyboardInterrupt())
    made = Recording.load(tmp_path)
    np.testing.assert_array_equal(made.steps, steps)
    assert made.loss[-1] == pytest.approx(loss.item())
    assert np.isfinite(made.gradient_norm[1:]).all()
    others = types.SimpleNamespace(global_step=9, is_global_zero=False)
    callback.on_train_epoch_end(others, model)
    assert len(recorder.recording) == len(steps)


def test_a_lightning_callback_serves_a_second_fit_and_keeps_gradients_that_validation_clears(monkeypatch):
    home = types.ModuleType("lightning.pytorch")
    home.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", home)
    model, (x, y) = net(), data()
    recorder = Recorder(x, y)
    callback, norms = recorder.lightning_callback(), []
    for _ in range(2):
        trainer = types.SimpleNamespace(global_step=0, is_global_zero=True, is_last_batch=True)
        callback.on_train_start(trainer, model)
        loss = cross_entropy(model(x), y)
        loss.backward()
        norms.append(sum(float((p.grad**2).sum()) for p in model.parameters()) ** 0.5)
        callback.on_before_optimizer_step(trainer, model, None)
        trainer.global_step += 3
        callback.on_train_batch_end(trainer, model, loss.detach(), (x, y), 0)
        model.zero_grad()  # as a validation loop may
        callback.on_train_epoch_end(trainer, model)
    np.testing.assert_array_equal(recorder.recording.steps, [0, 3, 6])
    np.testing.assert_allclose(recorder.recording.gradient_norm[1:], norms, rtol=1e-5)


@pytest.fixture
def lightning(monkeypatch):
    """A stand-in with what the callback is made of."""
    home = types.ModuleType("lightning.pytorch")
    home.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", home)


@pytest.mark.parametrize("every", ["epoch", "step"])
def test_gradients_are_taken_of_batches_that_are_recorded_alone(lightning, every):
    """Where a trainer does not say which batch is the last, of all."""
    model, (x, _) = net(), data()
    for told in ({"is_last_batch": True}, {"is_last_batch": False}, {}):
        callback = Recorder(x).lightning_callback(every)
        callback.on_before_optimizer_step(types.SimpleNamespace(**told), model, None)
        assert (callback.gradients is not None) is (every == "step" or told.get("is_last_batch", True))


def test_what_was_recorded_is_written_when_a_fit_ends(lightning, tmp_path):
    model, (x, _) = net(), data()
    callback = Recorder(x, path=tmp_path, interval=100).lightning_callback()
    trainer = types.SimpleNamespace(global_step=0, is_global_zero=True)
    callback.on_train_start(trainer, model)
    trainer.global_step = 2
    callback.on_train_epoch_end(trainer, model)
    callback.on_train_end(trainer, model)
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0, 2])


def test_steps_of_several_fits_follow_each_other_whether_they_count_anew_or_go_on(lightning):
    model, (x, _) = net(), data()
    recorder = Recorder(x)
    callback = recorder.lightning_callback("step")
    for begin, end in ((0, 3), (0, 3), (3, 5), (0, 2), (7, 8)):
        trainer = types.SimpleNamespace(global_step=begin, is_global_zero=True)
        callback.on_train_start(trainer, model)
        for trainer.global_step in range(begin + 1, end + 1):
            callback.on_train_batch_end(trainer, model, torch.tensor(1.0), None, 0)
            callback.on_train_batch_end(trainer, model, torch.tensor(1.0), None, 1)  # it only gathers gradients
        callback.on_train_epoch_end(trainer, model)
    # The third goes on where the second ended; the last begins further on, and records where.
    np.testing.assert_array_equal(recorder.recording.steps, [*range(11), 15, 16])


def test_a_full_disk_at_the_start_and_a_missing_file_do_no_harm(tmp_path, monkeypatch):
    model, (x, y) = net(), data()
    recorder = Recorder(x, y, path=tmp_path, linearise=True)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.warns(UserWarning, match="cannot be resumed with its linearisation") as told:
        recorder(model, 0)
    assert told[0].filename == __file__, "it points at the call"
    recorder(model, 1)
    recorder(model, 2)
    (tmp_path / "000001.npz").unlink()
    recorder(model, 3)
    assert sorted(file.name for file in tmp_path.glob("[!.]*")) == ["000000.npz", "000002.npz", "000003.npz"]
    with pytest.warns(UserWarning, match=r"lacks 000001\.npz: 2 later files"):
        np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0])  # what is after the gap is not spliced on
    recorder.close()
    with pytest.raises(ValueError, match=r"lacks 000001\.npz: put it back, or move the files after it"):
        Recorder(x, y, path=tmp_path, linearise=True, resume=True)


def test_the_guide_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "guide_recorder.md"
    monkeypatch.chdir(tmp_path)
    scope = {}
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(snippet, scope)
    assert scope["run"].error[-1] < 0.1 < scope["run"].error[0]
    assert scope["phase"].gap[-1] > 0.02
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000
    assert not rec.linear_phase(scope["other"]).gap.max() > 1e-20


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "other", "junk", "words"])
def test_a_damaged_start_does_not_end_a_resumed_training(tmp_path, damage):
    model, (x, y) = net(), data()
    with Recorder(x, y, path=tmp_path, linearise=True) as first:
        first(model, 0)
        train(model, x, y, first, epochs=2)
    file = tmp_path / "start.pt"
    if damage == "missing":
        file.unlink()
    elif damage == "other":
        torch.save([1, 2], file)
    elif damage == "words":
        torch.save({"parameters": {"0.weight": "one"}, "buffers": {}}, file)
    elif damage == "junk":
        file.write_bytes(b"junk")
    else:
        file.write_bytes(file.read_bytes()[: 1000 if damage == "cut" else 0])
    with Recorder(x, y, path=tmp_path, linearise=True, resume=True) as again:
        with pytest.warns(
            UserWarning, match=r"cannot read .*start\.pt.*\. Recording goes on; from here on it holds no"
        ) as told:
            again(model, 3)
        assert told[0].filename == __file__, "it points at the call"
        again(model, 4)  # says nothing more
    held = Recording.load(tmp_path)
    np.testing.assert_array_equal(np.isnan(held.linearised).all(axis=(1, 2)), [False, False, False, True, True])
    assert np.isfinite(rec.linear_phase(held, "linearisation").gap).all()
    assert len(rec.linear_phase(held, "linearisation").gap) == 3


@pytest.mark.parametrize("keep", ["predictions", 2])
def test_less_can_be_kept_of_the_outputs(tmp_path, keep):
    model, (x, y) = net(), data()
    with Recorder(x, y, path=tmp_path, keep=keep, keep_inputs=False) as recorder:
        train(model, x, y, recorder, epochs=2)
    with Recorder(x, y, path=tmp_path, keep=keep, keep_inputs=False, resume=True) as recorder:
        train(model, x, y, recorder, first=2, epochs=3)
    held = Recording.load(tmp_path)
    assert held.outputs is None
    assert held.inputs is None
    with torch.no_grad():
        np.testing.assert_array_equal(held.predictions[-1], model.eval()(x).argmax(1))
    with pytest.raises(ValueError, match=f"keep must be {keep!r}, as in the recording; got 'outputs'"):
        Recorder(x, y, path=tmp_path, keep_inputs=False, resume=True)
    with pytest.raises(ValueError, match="keep must be 'outputs' with linearise=True"):
        Recorder(x, y, keep=keep, linearise=True)


def test_with_a_folder_only_what_is_not_yet_written_is_in_memory(tmp_path):
    model, (x, y) = net(), data()
    recorder = Recorder(x, y, path=tmp_path, interval=2)
    for step in range(5):
        recorder(model, step)
        assert len(recorder._growing._rows) == (step + 1) % 2
    np.testing.assert_array_equal(recorder.recording.steps, np.arange(5))


def test_inputs_that_are_not_kept_are_told_from_others_when_a_run_is_resumed(tmp_path):
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, a, b):
            return self.layer(a - 2 * b)

    model, a, b, tokens = Pair(), torch.randn(5, 3), torch.randn(5, 3), torch.randint(9, (5, 3))
    for k, (given, others) in enumerate((
        ({"a": a, "b": b}, [{"a": b, "b": a}, {"a": a, "b": b + 1}]),
        ((a, b), [(b, a), (a[:, ::1] * 2, b)]),
        ((a.bfloat16(), b.bfloat16()), [(b.bfloat16(), a.bfloat16())]),
    )):  # fmt: skip
        path = tmp_path / str(k)
        with Recorder(given, path=path, layers=()) as recorder:
            recorder(model.bfloat16() if k == 2 else model, 0)
        for other in others:
            with pytest.raises(
                ValueError, match=r"must be those of the recording that is resumed, .*; got .* check sum"
            ):
                Recorder(other, path=path, resume=True)
        same = dict(reversed(given.items())) if isinstance(given, dict) else given
        Recorder(same, path=path, resume=True).close()
    words = nn.Sequential(nn.Embedding(9, 2), nn.Flatten(), nn.Linear(6, 2))
    with Recorder(tokens, path=tmp_path / "tokens") as recorder:
        recorder(words, 0)
    with pytest.raises(ValueError, match="probe_inputs must be those of the recording"):
        Recorder(tokens.flip(0), path=tmp_path / "tokens", resume=True)
    Recorder(tokens, path=tmp_path / "tokens", resume=True).close()


def test_writing_into_the_probe_inputs_is_told_once():
    model, x = nn.Linear(3, 2), torch.randn(5, 3)
    recorder = Recorder(x)
    recorder(model, 0)
    x.mul_(2)
    with pytest.warns(UserWarning, match="probe_inputs have been changed in place") as told:
        recorder(model, 1)
    assert told[0].filename == __file__
    recorder(model, 2)
    held = np.ones((5, 3), np.float32)
    recorder = Recorder(held)
    recorder(model, 0)
    held[:] = 7
    recorder(model, 1)
    np.testing.assert_array_equal(recorder.recording.outputs[0], recorder.recording.outputs[1])
    with torch.inference_mode():
        recorder = Recorder(torch.ones(5, 3))
    recorder(model, 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("error")
def test_a_model_that_works_in_place_on_its_inputs_is_asked_about_the_same_each_time(in_place):
    x = torch.randn(6, 3).double()
    recorder = Recorder(x, linearise=True)
    recorder(in_place(True), 0)
    recorder(in_place(True), 1)
    found = recorder.recording
    for outputs in (*found.outputs, *found.linearised):
        np.testing.assert_allclose(outputs, in_place(False)(x).detach(), rtol=1e-12)


def test_a_trainers_callback_goes_on_from_the_checkpoint_that_a_run_is_resumed_from(monkeypatch, tmp_path):
    home = types.ModuleType("transformers")
    home.TrainerCallback = type("TrainerCallback", (), {})
    monkeypatch.setitem(sys.modules, "transformers", home)
    model, (x, y) = net(), data()

    def trained(recorder, begin, end):
        callback = recorder.transformers_callback("step")
        state = types.SimpleNamespace(global_step=begin, is_world_process_zero=True, log_history=[])
        callback.on_train_begin(None, state, None, model=model)
        for _ in range(begin, end):
            state.global_step += 1
            callback.on_step_end(None, state, None, model=model)
        callback.on_train_end(None, state, None)
        return Recording.load(tmp_path).steps.tolist()

    first = Recorder(x, y, path=tmp_path)
    assert trained(first, 0, 6) == [*range(7)]
    assert trained(Recorder(x, y, path=tmp_path, resume=True), 3, 5) == [*range(6)]
    assert trained(Recorder(x, y, path=tmp_path, resume=True), 5, 6) == [*range(7)]
    again = Recorder(x, y, path=tmp_path, resume=True)
    assert trained(again, 0, 2) == [*range(9)]  # no checkpoint: a further training
    assert trained(again, 0, 1) == [*range(10)]
