"""Truncation: the best map of each rank, what it keeps and costs, within a budget, and measured on data."""

import re
import sys
import types
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402

from lineament.torch import Factored, collapse, expand, truncate  # noqa: E402
from lineament.torch.budget import Choice, ranks_within  # noqa: E402


def classifier():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, padding=1, groups=2),
        nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 20), nn.Dropout(0.5), nn.Linear(20, 4),
    ).double()  # fmt: skip


def batches(n=3):
    return [(torch.randn(5, 1, 8, 8, dtype=torch.float64), torch.randint(4, (5,))) for _ in range(n)]


@given(st.integers(2, 9), st.integers(2, 9), st.integers(1, 8))
def test_the_rank_asked_for_is_the_best_map_of_that_rank(out, inputs, rank):
    layer = nn.Linear(inputs, out).double()
    small, report = truncate(layer, ranks=rank)
    W = layer.weight.detach().numpy()
    U, S, Vt = np.linalg.svd(W, full_matrices=False)
    best = (U[:, :rank] * S[:rank]) @ Vt[:rank]
    np.testing.assert_allclose(small.weight.detach(), best, atol=1e-13)
    (row,) = report.layers
    assert row.energy == pytest.approx(np.sum(S[:rank] ** 2) / np.sum(S**2), abs=1e-12)
    assert row.error == pytest.approx(np.linalg.norm(W - best) / np.linalg.norm(W), abs=1e-7)
    assert row.bound == pytest.approx(S[rank] if rank < len(S) else 0, abs=1e-12)
    assert row.done == (rank < len(S))
    # The bound holds, and is reached by the singular vector that was cut first.
    x = torch.from_numpy(Vt[min(rank, len(S) - 1)])
    assert (small(x) - layer(x)).norm().item() == pytest.approx(row.bound, abs=1e-12)


@settings(max_examples=20)
@given(st.floats(0.05, 1.0), st.integers(1, 3))
def test_each_layer_keeps_the_least_rank_with_the_energy_and_only_if_that_is_smaller(energy, groups):
    conv = nn.Conv2d(4 * groups, 5 * groups, 3, groups=groups).double()
    small, report = truncate(conv, energy=energy)
    W = conv.weight.detach().numpy().reshape(groups, 5, -1)
    squares = np.sum(np.linalg.svd(W, compute_uv=False) ** 2, axis=0)
    share = np.cumsum(squares) / squares.sum()
    least = next(r for r in range(1, 6) if share[r - 1] >= energy - 1e-14)
    size = groups * least * (5 + 36)
    (row,) = report.layers
    assert row.done == (size < conv.weight.numel())
    assert row.rank == (least if row.done else 5)
    assert row.truncated == (size if row.done else conv.weight.numel())
    assert report.truncated == sum(p.numel() for p in small.parameters())
    assert report.parameters == sum(p.numel() for p in conv.parameters())
    if row.done:
        assert [factor.groups for factor in small] == [groups, groups]
        assert report.bound == pytest.approx((1 - share[least - 1]) ** 0.5, abs=1e-7)


def curves():
    return st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=4).map(lambda s: np.sort(s)[::-1])


def choice(spectrum, out, inputs):
    energy = np.cumsum(spectrum**2) / np.sum(spectrum**2)
    return Choice(out * inputs, out + inputs, energy, spectrum)


@given(st.lists(st.tuples(curves(), st.integers(4, 9), st.integers(4, 9)), min_size=1, max_size=3), st.floats(0.05, 1))
def test_a_budget_is_kept_and_nearly_the_best_is_made_of_it(layers, share):
    choices = dict(enumerate(choice(*layer) for layer in layers))
    least = sum(c.least for c in choices.values())
    budget = max(least, int(share * sum(c.size for c in choices.values())))
    picked = ranks_within(choices, budget)
    spent = sum(choices[k].cost(rank) for k, rank in picked.items())
    error = sum(choices[k].error(rank) for k, rank in picked.items())
    assert spent <= budget
    options = [[None, *range(1, c.useful + 1)] for c in choices.values()]
    costs = lambda ranks: sum(c.cost(r) for c, r in zip(choices.values(), ranks, strict=True))  # noqa: E731
    errors = lambda ranks: sum(c.error(r) for c, r in zip(choices.values(), ranks, strict=True))  # noqa: E731
    # No choice that spends as little does better by more than the greatest gain of one layer's step: what a price per
    # number leaves open. With one layer it is the best.
    best = min(errors(ranks) for ranks in product(*options) if costs(ranks) <= budget)
    gap = max(c.error(1) if c.useful else 0.0 for c in choices.values())
    assert error <= best + gap + 1e-12
    if len(choices) == 1:
        assert error == pytest.approx(best, abs=1e-12)
    at_most_this = min(errors(ranks) for ranks in product(*options) if costs(ranks) <= spent)
    assert error <= at_most_this + gap + 1e-12


@pytest.mark.parametrize("parameters", [0.3, 0.6, 1.0, 1500, 10**6])
def test_a_model_within_its_budget(parameters):
    model = classifier()
    total = sum(p.numel() for p in model.parameters())
    small, report = truncate(model, parameters=parameters)
    count = sum(p.numel() for p in small.parameters())
    assert count == report.truncated <= (parameters * total if isinstance(parameters, float) else parameters)
    assert report.parameters == total
    if parameters in (1.0, 10**6):
        assert count == total
        assert not any(isinstance(module, Factored) for module in small.modules())


def test_truncation_is_measured_and_the_model_given_is_not_changed():
    model, data = classifier().train(), batches()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    small, report = truncate(model, energy=0.5, data=iter(data))
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert small.training
    assert model.training
    model.eval()
    small.eval()
    x, labels = torch.cat([x for x, _ in data]), torch.cat([labels for _, labels in data])
    wanted, got = model(x).detach(), small(x).detach()
    assert report.measured.examples == 15
    assert report.measured.accuracy == pytest.approx((wanted.argmax(1) == labels).double().mean().item())
    assert report.measured.truncated_accuracy == pytest.approx((got.argmax(1) == labels).double().mean().item())
    assert report.measured.error == pytest.approx(((got - wanted).norm() / wanted.norm()).item())
    text = str(report)
    assert f"accuracy {report.measured.accuracy:.2%}" in text
    assert "were inputs isotropic (without data)" in text


def test_keeping_everything_changes_nothing():
    model, data = classifier().eval(), batches(1)
    small, report = truncate(model, energy=1.0, data=data)
    torch.testing.assert_close(small(data[0][0]), model(data[0][0]), rtol=1e-12, atol=1e-12)
    assert report.measured.error <= 1e-12
    assert report.bound <= 1e-7


def test_products_are_multiplied_out_first_and_a_truncated_model_collapses():
    model, x = classifier().eval(), batches(1)[0][0]
    expanded, _ = expand(model, 3)
    small, report = truncate(expanded, ranks={"7": 3, "3": 2})
    direct, _ = truncate(model, ranks={"7": 3, "3": 2})
    torch.testing.assert_close(small(x), direct(x), rtol=1e-11, atol=1e-12)
    assert [(row.layer, row.rank) for row in report.layers] == [("3", 2), ("7", 3)]
    back = collapse(small)
    assert list(back.state_dict()) == list(model.state_dict())
    torch.testing.assert_close(back(x), small(x), rtol=1e-11, atol=1e-12)
    assert int(torch.linalg.matrix_rank(back[7].weight)) == 3


def test_shared_weights_are_truncated_together():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).double()
    model[1].weight = model[0].weight
    small, report = truncate(model, ranks=2)
    assert small[0][0].weight is small[1][0].weight
    assert report.truncated == 2 * 16 + 2 * 8
    low, _ = truncate(model, parameters=50)
    assert sum(p.numel() for p in low.parameters()) == 48


def test_compiled_and_exported():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
    small, _ = truncate(model, ranks=2)
    x = torch.randn(3, 8)
    wanted = small(x)
    torch.testing.assert_close(torch.compile(small, backend="eager")(x), wanted)
    torch.testing.assert_close(torch.export.export(small, (x,)).module()(x), wanted)


def test_a_rank_that_saves_nothing_is_taken_if_asked_for_and_said():
    _, report = truncate(nn.Linear(4, 4), ranks=3)
    assert report.layers[0].note == "its factors hold no fewer numbers"
    assert report.layers[0].truncated == 24


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 7), st.integers(2, 7), st.integers(1, 3), st.booleans())
def test_with_calibration_the_cut_is_the_best_for_the_outputs(out, fan_in, rank, bias):
    """Against the best map of rank r for `‖(W − W_r)X‖`, by the decomposition of `WX`: U_r U_rᵀ W."""
    layer = nn.Linear(fan_in, out, bias=bias).double()
    X = torch.randn(fan_in, 20000, dtype=torch.float64) * torch.logspace(0, -2, fan_in, dtype=torch.float64)[:, None]
    small, report = truncate(layer, ranks=rank, calibration=[X.T[:9000], X.T[9000:]])
    W = layer.weight.detach()
    U, S, _ = torch.linalg.svd(W @ X, full_matrices=False)
    (row,) = report.layers
    if rank >= min(out, fan_in):
        assert not row.done
        return
    best = U[:, :rank] @ (U[:, :rank].T @ W)
    least = float((S[rank:] ** 2).sum() / (S**2).sum()) ** 0.5
    error = float(((small.weight.detach() - W) @ X).norm() / (W @ X).norm())
    # A prior worth as many vectors as the layer has sides, of 20000, moves the optimum by that much.
    assert error <= least * (1 + 0.01) + 1e-3
    assert row.seen
    assert row.error == pytest.approx(error, abs=0.03)
    assert float(((best - W) @ X).norm() / (W @ X).norm()) == pytest.approx(least, abs=1e-9)
    x = torch.randn(50, fan_in, dtype=torch.float64)
    assert bool(((small(x) - layer(x)).norm(dim=1) <= (row.bound + 1e-12) * x.norm(dim=1)).all())


def test_convolutions_are_calibrated_by_their_outputs_in_every_group():
    conv = nn.Conv2d(4, 8, 3, groups=2, stride=2).double()
    x = torch.randn(200, 4, 9, 9, dtype=torch.float64).cumsum(2)
    small, report = truncate(conv, ranks=2, calibration=[x])
    Y = (conv(x) - conv.bias[:, None, None]).detach().flatten(2).transpose(0, 1).reshape(2, 4, -1)
    S = torch.linalg.svdvals(Y)
    least = float((S[:, 2:] ** 2).sum() / (S**2).sum()) ** 0.5
    out = small(x) - conv(x)
    assert float(out.norm() / Y.norm()) == pytest.approx(least, rel=1e-2)
    assert report.estimated_error == pytest.approx(least, rel=0.05)
    assert report.bound > report.estimated_error


@pytest.mark.parametrize("calibrated", [True, False])
def test_ranks_for_a_target_error(calibrated):
    model = nn.Sequential(nn.Linear(40, 60), nn.ReLU(), nn.Linear(60, 50), nn.ReLU(), nn.Linear(50, 10)).double()
    with torch.no_grad():  # a spectrum that falls, as training leaves it
        for layer in model[::2]:
            U, S, Vt = torch.linalg.svd(layer.weight, full_matrices=False)
            layer.weight.copy_(4 * (U * torch.logspace(0, -2, len(S), dtype=torch.float64)) @ Vt)
    x = torch.randn(500, 40, dtype=torch.float64)
    small, report = truncate(model, error=0.1, calibration=[x] if calibrated else None)
    assert report.truncated < report.parameters
    changed = float((small(x) - model(x)).norm() / model(x).norm())
    if calibrated:
        assert changed <= 0.1
        tight, finer = truncate(model, error=0.05, calibration=[x])
        assert float((tight(x) - model(x)).norm() / model(x).norm()) <= 0.05
        assert report.truncated < finer.truncated < finer.parameters
    else:
        assert report.bound <= 0.1
        assert report.estimated_error is None


@pytest.mark.parametrize("error", [1e-3, 0.02, 0.4])
@pytest.mark.parametrize("factor", [0.05, 0.5, 1.0, 3.0, 20.0])
def test_a_target_error_is_used_up_to_three_per_cent(monkeypatch, error, factor):
    """Here the model changes by so many times the allowance that the layers are given."""
    module = sys.modules["lineament.torch.truncate"]
    given = []
    monkeypatch.setattr(module, "ranks_to", lambda choices, allowed: given.append(allowed) or {"": allowed})
    monkeypatch.setattr(module, "measure", lambda *others: types.SimpleNamespace(error=factor * given[-1]))
    found = module._within_error(error, nn.Linear(2, 2), {}, [], None, [])[""]
    best = min(error / factor, 1.0)  # more than all is not lost
    assert best / 1.03 <= found <= best
    assert all(error / 32 <= allowed <= min(1, 32 * error) for allowed in given)
    monkeypatch.setattr(module, "measure", lambda *others: types.SimpleNamespace(error=1.0))
    assert module._within_error(error, nn.Linear(2, 2), {}, [], None, []) == {}


class Reader(nn.Module):
    """As transformers' models: keywords in, an output with logits out."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(12, 8), nn.Linear(8, 8)

    def forward(self, input_ids, mask=None):
        hidden = self.table(input_ids) * (1 if mask is None else mask[..., None])
        return types.SimpleNamespace(logits=self.head(hidden.mean(1)), hidden=hidden)


def test_batches_of_any_form():
    model, ids, labels = Reader(), torch.randint(12, (9, 5)), torch.randint(8, (9,))
    mask = torch.ones(9, 5)
    by_name, _ = truncate(model, ranks=2, calibration=[{"input_ids": ids, "mask": mask}])
    pairs, _ = truncate(model, ranks=2, calibration=[((ids, mask), labels)])
    odd = lambda batch: {"input_ids": batch["text"]}  # noqa: E731
    told, report = truncate(model, ranks=2, calibration=[{"text": ids, "labels": labels}], inputs=odd,
                            data=[{"text": ids, "labels": labels}])  # fmt: skip
    for each in (pairs, told):
        torch.testing.assert_close(each(ids).logits, by_name(ids).logits)
    assert report.measured.accuracy == pytest.approx((model(ids).logits.argmax(1) == labels).float().mean().item())
    _, report = truncate(model, ranks=2, data=[ids], forward=lambda model, ids: model(ids).hidden)
    assert report.measured.accuracy is None
    assert report.measured.error > 0
    with pytest.raises(ValueError, match="say how to get it, such as forward="):
        truncate(nn.LSTM(3, 3), ranks=1, data=[torch.randn(2, 3, 3)])


def test_what_it_gains_and_what_fine_tuning_mends():
    model = nn.Sequential(nn.Linear(64, 64, bias=False))
    x = torch.randn(32, 64)

    def tune(small):
        assert small.training
        optimiser = torch.optim.SGD(small.parameters(), lr=0.5)
        for _ in range(30):
            optimiser.zero_grad()
            ((small(x) - model(x)) ** 2).mean().backward()
            optimiser.step()

    _, report = truncate(model.train(), ranks=4, data=[x], fine_tune=tune)
    assert (report.cost.flops, report.cost.truncated_flops) == (2 * 32 * 64 * 64, 2 * 32 * 4 * 128)
    assert min(report.cost.seconds, report.cost.truncated_seconds) > 0
    assert report.tuned.error < report.measured.error
    text = str(report)
    assert "262,144 → 32,768 operations" in text
    assert "fine-tuned: outputs changed" in text


def test_weights_that_modules_read_themselves():
    model = nn.MultiheadAttention(16, 2, batch_first=True).double()
    x = torch.randn(3, 5, 16, dtype=torch.float64)
    small, report = truncate(model, ranks={"": 4, "out_proj": 5}, data=[x], forward=lambda model, x: model(x, x, x)[0])
    assert report.layers["in_proj_weight"].rank == 4
    assert "saves parameters, not time" in report.layers["in_proj_weight"].note
    W = collapse(small).in_proj_weight.detach().reshape(3, 16, 16)
    assert torch.linalg.matrix_rank(W).tolist() == [4, 4, 4]
    assert report.truncated == sum(p.numel() for p in small.parameters())


def test_wrong_arguments_are_named():
    model, data = classifier(), batches(1)
    with pytest.raises(ValueError, match="exactly one of energy, ranks, parameters and error; got none"):
        truncate(model)
    with pytest.raises(ValueError, match="exactly one of energy, ranks, parameters and error; got energy, ranks"):
        truncate(model, energy=0.9, ranks=3)
    for error in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="error must be a finite number above 0 and below 1; got"):
            truncate(model, error=error)
    for nothing in ([], [data[0][0][:0]]):
        with pytest.raises(ValueError, match="calibration must hold at least one batch; it was empty"):
            truncate(model, energy=0.9, calibration=nothing)
    for bad in (float("nan"), 1e200):
        with pytest.raises(
            ValueError, match=r"calibration must be finite numbers; what layer '0' sees or gives there"
        ):
            truncate(model, energy=0.9, calibration=[data[0][0] * bad])
    for energy in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="energy must be a finite number above 0 and at most 1; got"):
            truncate(model, energy=energy)
    with pytest.raises(ValueError, match="ranks must be whole numbers of at least 1; got 0 for '0'"):
        truncate(model, ranks=0)
    with pytest.raises(ValueError, match="layers must name modules of the model; got 'fc'"):
        truncate(model, ranks={"fc": 2})
    for parameters in (0, -3, 1.5, 0.0, True):
        with pytest.raises(ValueError, match="parameters must be a positive count, or a share"):
            truncate(model, parameters=parameters)
    with pytest.raises(
        ValueError, match=r"parameters allows 100 of the model's 2,964; it has \d+ with every layer of"
    ):
        truncate(model, parameters=100)
    with pytest.raises(ValueError, match="data must hold at least one batch"):
        truncate(model, energy=0.9, data=[])
    with pytest.raises(
        ValueError, match=r"data must hold one integer label per example; got labels of torch\.float64"
    ):
        truncate(model, energy=0.9, data=[(data[0][0], data[0][1].double())])
    with pytest.raises(ValueError, match=r"for 3 labels it gave \(5, 4\)"):
        truncate(model, energy=0.9, data=[(data[0][0], data[0][1][:3])])


class Residual(nn.Module):
    """Many blocks, of which each adds little."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(12, 12) for _ in range(8))

    def forward(self, x):
        for block in self.blocks:
            x = x + 0.1 * torch.tanh(block(x))
        return x


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_operations_of_recurrent_layers_are_counted(kind, gates):
    x = torch.randn(2, 7, 5)
    cost = truncate(kind(5, 6, batch_first=True), ranks=2, data=[x], forward=lambda m, x: m(x)[0]).report.cost
    assert cost.flops == 2 * 2 * 7 * gates * 6 * (5 + 6)
    assert torch.backends.mkldnn.enabled
    assert torch.backends.cudnn.enabled


def test_the_cost_is_of_a_batch_that_holds_examples():
    x, y = batches(1)[0]
    report = truncate(classifier(), energy=0.9, data=[(x[:0], y[:0]), (x, y)]).report
    assert (report.cost.examples, report.measured.examples) == (len(x), len(x))


def test_the_error_with_data_is_that_of_new_data():
    """Layers that lose half of what they give change little of what the whole model gives."""
    torch.manual_seed(0)
    model = Residual()
    seen, new = torch.randn(200, 12), torch.randn(200, 12)
    report = truncate(model, ranks=2, calibration=[seen], data=[new]).report
    assert report.estimated_error == pytest.approx(report.measured.error, rel=0.2)
    assert report.estimated_error < report.bound / 5


def tokens(outputs=6):
    torch.manual_seed(1)
    return nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, outputs)).double()


def rate(model, x, labels, axis=-1):
    known = labels != -100
    return (model(x).argmax(axis) == labels)[known].double().mean().item()


def test_labels_of_every_token_are_measured_without_those_of_minus_100():
    model, x = tokens(), torch.randint(9, (4, 7))
    labels = torch.randint(6, (4, 7))
    labels[:, 5:] = -100
    small, report = truncate(model, ranks=1, data=[(x[:3], labels[:3]), (x[3:], labels[3:])])
    assert report.measured.examples == 4
    assert report.measured.accuracy == pytest.approx(rate(model, x, labels))
    assert report.measured.truncated_accuracy == pytest.approx(rate(small, x, labels))
    assert f"accuracy {report.measured.accuracy:.2%}" in str(report)
    with pytest.raises(ValueError, match="data must hold labels from 0 to 5, or -100 for none; got 6 to 6"):
        truncate(model, ranks=1, data=[(x, torch.full((4, 7), 6))])
    odds = tokens(1)
    _, report = truncate(odds, ranks=1, data=[(x, (labels > 2).long())])
    assert report.measured.accuracy == pytest.approx(((odds(x)[..., 0] > 0) == (labels > 2)).double().mean().item())


def test_labels_of_pictures_have_their_classes_after_the_examples():
    model, x = nn.Conv2d(2, 5, 3, padding=1).double(), torch.randn(3, 2, 4, 6).double()
    labels = torch.randint(5, (3, 4, 6))
    small, report = truncate(model, ranks=1, data=[(x, labels)])
    assert report.measured.accuracy == pytest.approx(rate(model, x, labels, 1))
    assert report.measured.truncated_accuracy == pytest.approx(rate(small, x, labels, 1))


@pytest.mark.parametrize("named", [True, False])
def test_labels_that_are_the_inputs_are_those_of_the_token_before(named):
    model, x = tokens(9), torch.randint(9, (4, 7))
    labels = torch.where(torch.arange(7) < 2, -100, x)
    forward = lambda model, input_ids, **rest: model(input_ids)  # noqa: E731
    batch = {"attention_mask": torch.ones_like(x), "input_ids": x, "labels": labels} if named else (x, labels)
    _, report = truncate(model, ranks=1, data=[batch], forward=forward)
    assert report.measured.accuracy == pytest.approx(
        (model(x)[:, :-1].argmax(-1) == x[:, 1:])[:, 1:].double().mean().item()
    )
    other = torch.where(x == x[0, 3], (x + 1) % 9, labels)  # one differs: these are of their own tokens
    _, report = truncate(model, ranks=1, data=[(x, labels), (x, other)])
    assert report.measured.accuracy == pytest.approx(
        (rate(model, x, labels) * 20 + rate(model, x, other) * (other >= 0).sum().item())
        / (20 + (other >= 0).sum().item())
    )


@pytest.mark.parametrize(
    ("outputs", "labels", "why"),
    [
        (6, torch.zeros(4, 5, dtype=torch.long), r"no classes of outputs \(4, 7, 6\)"),
        (6, torch.zeros(4, 7), r"torch.float32 and shape \(4, 7\) were left out"),
        (7, torch.zeros(4, 7, dtype=torch.long), r"outputs \(4, 7, 7\) may be along axis 1 or the last"),
    ],
)
def test_labels_that_do_not_fit_are_said_to_be_left_out(outputs, labels, why):
    x = torch.randint(9, (4, 7))
    _, report = truncate(tokens(outputs), ranks=1, data=[(x, labels), (x, labels), x])
    assert report.measured.accuracy is None
    assert report.measured.examples == 12
    assert re.search(why, report.measured.note)
    assert str(report).count("were left out") == 1


def test_what_is_not_finite_is_named():
    model, good = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)), torch.ones(4, 3)
    for value, words in ((torch.nan, "has NaN in it"), (torch.inf, "has infinite ones")):
        bad = good.clone()
        bad[1, 2] = value
        with pytest.raises(ValueError, match=f"data must hold finite numbers; input 0 of a batch {words}"):
            truncate(model, ranks=1, data=[good, bad])
        by_name = lambda model, x, bias: model[1](model[0](x) + bias)  # noqa: E731
        with pytest.raises(ValueError, match=f"data must hold finite numbers; bias of a batch {words}"):
            truncate(model, ranks=1, data=[{"x": good, "bias": bad}], forward=by_name)
        only = nn.Sequential(nn.ConvTranspose1d(3, 3, 1))  # which no calibration looks at
        with pytest.raises(ValueError, match="calibration must hold finite numbers; input 0 of"):
            truncate(only, ranks=1, calibration=[bad[..., None]])
    with pytest.raises(
        ValueError, match=r"model must give finite outputs on data; some of those of shape \(4, 2\) are not"
    ):
        truncate(model, ranks=1, data=[good], forward=lambda model, x: model(x) + torch.inf)
    with pytest.raises(ValueError, match="are too large to be squared"):
        truncate(model, ranks=1, data=[good], forward=lambda model, x: model(x).double() * 1e200)
    _, report = truncate(model, ranks=1, data=[good], fine_tune=lambda small: small[1].bias.data.fill_(torch.nan))
    assert report.tuned.error == torch.inf
    masked = lambda model, x, mask: model(x).softmax(1) + (mask == 0)  # noqa: E731
    _, report = truncate(model, ranks=1, data=[{"x": good, "mask": torch.full((4, 2), -torch.inf)}], forward=masked)
    assert report.measured.error < 1


def test_a_model_that_works_in_place_on_its_inputs_is_compared_on_the_same(in_place):
    x = torch.randn(6, 3).double()
    before = x.clone()
    found, wanted = (
        truncate(in_place(writes), ranks=1, calibration=[x], data=[{"x": x}]).report for writes in (True, False)
    )
    assert torch.equal(x, before)
    assert found.measured == wanted.measured
    assert found.estimated_error == wanted.estimated_error


def test_layers_that_are_given_their_inputs_by_name_are_calibrated():
    class Named(nn.Sequential):
        def forward(self, x):
            return self[1](input=torch.tanh(self[0](input=x)))

    model, x = Named(nn.Linear(3, 6), nn.Linear(6, 2)).double(), torch.randn(9, 3).double()
    plain = nn.Sequential(model[0], nn.Tanh(), model[1])
    found, wanted = (truncate(each, ranks=1, calibration=[x]) for each in (model, plain))
    assert all(row.seen for row in found.report.layers)
    torch.testing.assert_close(found.model(x), wanted.model(x))


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, k):
        raise KeyError("no such picture")


@pytest.mark.parametrize("name", ["data", "calibration"])
def test_one_batch_is_no_list_of_batches_and_errors_of_a_loader_are_its_own(name):
    x, layer = torch.randn(6, 3), nn.Linear(3, 2)
    for one in (x, x.numpy(), {"input": x}, "x", 3):
        with pytest.raises(
            ValueError, match=rf"{name} must be a sequence of batches, such as \[x\] or a DataLoader; got"
        ):
            truncate(layer, ranks=1, **{name: one})
    with pytest.raises(KeyError, match="no such picture"):
        truncate(layer, ranks=1, **{name: torch.utils.data.DataLoader(Broken())})
    assert truncate(layer, ranks=1, data=[x]).report.measured.examples == 6
