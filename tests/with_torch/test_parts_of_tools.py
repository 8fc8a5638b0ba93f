"""Small parts of the tools for PyTorch by themselves, each against its definition."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from lineament.core import arguments  # noqa: E402
from lineament.torch import (  # noqa: E402
    Factored,
    Recorder,
    batches,
    calibration,
    contract,
    decomposition,
    derivatives,
    expand,
    factored,
    jacobian,
    kernel,
    kinds,
    layer_state,
    measured,
    modes,
    packed,
    probing,
    report,
    taps,
    transformers,
)
from lineament.torch.backwards import Backwards  # noqa: E402
from lineament.torch.budget import Choice  # noqa: E402
from lineament.torch.derivatives import Outer  # noqa: E402
from lineament.torch.expand import _own_variance  # noqa: E402
from lineament.torch.jacobian import Jacobian  # noqa: E402
from lineament.torch.kernel import _joined  # noqa: E402
from lineament.torch.layers import sites, walked  # noqa: E402
from lineament.torch.probing import undisturbed  # noqa: E402
from lineament.torch.spectra import energy_curve  # noqa: E402
from lineament.torch.truncate import Truncation, _bound, _budget  # noqa: E402


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def close(found, wanted, rtol=1e-12):
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Batches, and models on them


def test_a_batch_is_taken_apart_by_its_form():
    x, y = draw(3, 2), torch.tensor([0, 1, 1])
    for batch, positional, named, labels in (
        ((x, y), (x,), {}, y),
        ([(x, y), y], (x, y), {}, y),
        ((x,), (x,), {}, None),
        (x, (x,), {}, None),
        ((x, y, x), (x, y, x), {}, None),
        ({"x": x, "label": y}, (), {"x": x}, y),
        ({"x": x, "targets": y, "target": x}, (), {"x": x}, y),
    ):
        found = batches.given(batch)
        assert (len(found.positional), list(found.named)) == (len(positional), list(named))
        assert all(a is b for a, b in zip(found.positional, positional, strict=True))
        assert found.labels is labels
    assert batches.given((x, y), lambda batch: {"input": batch[0]}) == ((), {"input": x}, y)
    (moved,) = batches.each([{"x": x, "n": 3, "labels": y}], torch.device("meta"))
    assert moved.named["x"].is_meta
    assert moved.labels.is_meta
    assert moved.named["n"] == 3


def test_outputs_are_found_in_what_a_model_returns():
    x = draw(2, 2)
    for found in (x, {"logits": x}, SimpleNamespace(sample=x), SimpleNamespace(logits=x, prediction=-x)):
        assert batches.outputs(found) is x
    with pytest.raises(ValueError, match="model must return a tensor, or an output that holds logits; got a list"):
        batches.outputs([x])
    assert batches.device_of(nn.ReLU()) == torch.device("cpu")
    assert batches.device_of(nn.Linear(1, 1, device="meta")) == torch.device("meta")


def halves(whole, data, **others):
    """A linear model, and one whose weight is half of it, on batches."""
    small = nn.Linear(3, 2, bias=False).double()
    small.weight.data = whole.weight.data / 2
    return measured.measure(whole, small, batches.each(data, torch.device("cpu")), batches.call, **others)


def test_two_models_are_compared_on_all_batches():
    whole = nn.Linear(3, 2, bias=False).double()
    whole.weight.data = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).double()
    x, y = torch.tensor([[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [5.0, 2.0, 0.0]]).double(), torch.tensor([0, 0, 0])
    found = halves(whole, [(x, y), (x[:1], y[:1]), (x[:2],)])
    assert (found.examples, found.error) == (6, pytest.approx(0.5, rel=1e-12))
    assert (found.accuracy, found.truncated_accuracy) == (pytest.approx(3 / 4), pytest.approx(3 / 4))
    none = halves(whole, [x])
    assert (none.examples, none.accuracy, none.truncated_accuracy) == (3, None, None)
    assert halves(whole, [0 * x]).error == 0.0
    opposite = nn.Linear(3, 2, bias=False).double()
    opposite.weight.data = -whole.weight.data
    against = measured.measure(whole, opposite, batches.each([(x, y)], x.device), batches.call)
    assert (against.error, against.accuracy, against.truncated_accuracy) == (
        pytest.approx(2), pytest.approx(2 / 3), pytest.approx(1 / 3)
    )  # fmt: skip
    for labels, said in (
        (y.double(), "one integer label per example; got labels of torch.float64"),
        ([0, 0, 0], "one integer label per example; got labels of list"),
        (torch.zeros(3, 1).long(), "one integer label per example"),
        (y[:2], "data must fit a model with outputs"),
        (y + 2, "data must hold labels from 0 to 1, or -100 for none; got 2 to 2"),
        (y - 1, "data must hold labels from 0 to 1, or -100 for none; got -1 to -1"),
    ):
        with pytest.raises(ValueError, match=said):
            halves(whole, [(x, labels)])
    with pytest.raises(ValueError, match="data must hold at least one batch"):
        halves(whole, [])


def test_what_has_no_label_is_left_out_of_the_accuracy():
    whole = nn.Linear(3, 2, bias=False).double()
    whole.weight.data = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).double()
    x = torch.tensor([[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [5.0, 2.0, 0.0]]).double()
    assert halves(whole, [(x, torch.tensor([0, -100, 1]))]).accuracy == pytest.approx(1 / 2)
    assert halves(whole, [(x, torch.full((3,), -100))]).accuracy is None
    assert halves(whole, [(x, draw(3, 2))]).accuracy is None  # real targets


def test_one_output_chooses_between_two_classes():
    whole, small = (nn.Linear(1, 1, bias=False).double() for _ in range(2))
    whole.weight.data, small.weight.data = draw(1, 1).abs(), -draw(1, 1).abs()
    x = torch.tensor([[3.0], [-1.0], [2.0], [-4.0]]).double()
    for labels in (torch.tensor([1, 0, 1, 1]), torch.tensor([True, False, True, True])):
        found = measured.measure(whole, small, batches.each([(x, labels)], x.device), batches.call)
        assert (found.accuracy, found.truncated_accuracy) == (3 / 4, 1 / 4)
    assert halves_of_one(whole, x, draw(4)).accuracy is None  # real targets


def halves_of_one(whole, x, labels):
    return measured.measure(whole, whole, batches.each([(x, labels)], x.device), batches.call)


def test_the_cost_of_a_batch_is_counted_and_timed_by_the_median(monkeypatch):
    durations = [(1.0, 0.1), (5.0, 0.2), (2.0, 0.3), (9.0, 0.4), (3.0, 0.7)]
    ticks = iter([tick for pair in durations for spent in pair for tick in (100.0, 100.0 + spent)])
    monkeypatch.setattr(measured, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    whole, small = nn.Linear(3, 5, bias=False), nn.Sequential(nn.Linear(3, 1, bias=False), nn.Linear(1, 5, bias=False))
    found = measured.cost(whole, small, batches.given(torch.ones(4, 3)), batches.call)
    assert (found.examples, found.flops, found.truncated_flops) == (4, 2 * 4 * 15, 2 * 4 * 8)
    assert (found.seconds, found.truncated_seconds) == (pytest.approx(3.0), pytest.approx(0.3))
    assert next(ticks, None) is None


def test_modes_return_even_after_an_error():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout())).train()
    model[1].eval()
    before = [module.training for module in model.modules()]

    def interrupted():
        with modes.evaluating(model):
            assert not any(module.training for module in model.modules())
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert [module.training for module in model.modules()] == before


# ---------------------------------------------------------------------------------------------------------
# Probes


def test_probe_inputs_are_shown_where_they_are_one_array_of_numbers():
    for given, dtype in ((torch.ones(2, 3), np.float32), (torch.ones(2, 3).double(), np.float64),
                         (torch.ones(2, 3).bfloat16(), np.float32), (np.ones((2, 3)), np.float64)):  # fmt: skip
        parts, shown = probing.probes(given)
        assert (len(parts), shown.dtype, shown.shape) == (1, dtype, (2, 3))
    assert probing.probes(torch.ones(2).long())[1] is None
    assert probing.probes((torch.ones(2), torch.ones(2)))[1] is None
    for bad, said in (
        ((torch.ones(2), torch.ones(3)), r"equally many examples.*got shapes \(2,\) and \(3,\)"),
        (torch.ones(0, 2), "at least one"), (torch.tensor(1.0), "at least one"),
        (torch.tensor([1.0, np.nan]), "must be finite"), (torch.ones(2, device="meta"), "must have values"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            probing.probes(bad)


def test_outputs_are_rows_in_single_precision_at_least():
    for dtype, wanted in (
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.float32),
        (torch.int64, torch.float32),
    ):
        found = probing.outputs(torch.ones(3).to(dtype), 3)
        assert (found.dtype, found.shape) == (wanted, (3, 1))
    assert probing.outputs(torch.ones(3, 2), 3).shape == (3, 2)
    for bad in (torch.ones(3, 2, 1), torch.ones(2), torch.ones(3, 0)):
        with pytest.raises(ValueError, match=r"the model must return outputs \(example, output\); for 3 examples"):
            probing.outputs(bad, 3)
    assert [len(part[0]) for part in probing.pieces((torch.ones(7),), 3)] == [3, 3, 1]
    assert probing.as_array(torch.ones(2).bfloat16()).dtype == np.float32


def test_randomness_is_the_largest_difference_of_two_passes():
    answers = iter([torch.tensor([1.0, 5.0]), torch.tensor([1.5, 3.0])])
    assert probing.randomness(nn.ReLU(), (torch.ones(2),), 9, lambda model, x: next(answers)) == 2.0
    bad = iter([torch.tensor([np.nan, 1.0]), torch.tensor([np.nan, 1.25])])
    assert probing.randomness(nn.ReLU(), (torch.ones(2),), 9, lambda model, x: next(bad)) == 0.25


def test_an_expansion_in_pieces_is_that_of_all_examples():
    model, x = (
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.BatchNorm1d(4), nn.Linear(4, 2)).double().eval(),
        draw(5, 3),
    )
    start = probing.Linearisation.at(model, probing.plain_forward)
    f, J = model(x).detach(), torch.zeros(10)
    with torch.no_grad():
        moved = {name: 0.1 * torch.randn_like(value) for name, value in model.named_parameters()}
        J = torch.func.jvp(
            lambda p: torch.func.functional_call(model, p, (x,)),
            ({name: value.detach().clone() for name, value in model.named_parameters()},), (moved,),
        )[1]  # fmt: skip
        for name, value in model.named_parameters():
            value += moved[name]
        model[2].running_mean += 3.0  # stays as it was in the expansion
    for batch in (2, 5):
        close(start.predict(model, (x,), batch), f + J)
    with pytest.raises(ValueError, match="model must keep the parameters it was linearised with"):
        start.predict(nn.Linear(3, 2).double(), (x,), 5)


# ---------------------------------------------------------------------------------------------------------
# Layers


def test_successive_layers_are_out_of_balance_by_a_norm():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4), nn.Linear(5, 2), nn.Linear(2, 2)).double()
    W, V, _, _ = (module.weight.detach() for module in model if isinstance(module, nn.Linear))
    found = layer_state.unbalancedness(model)
    assert list(found) == ["0 → 2", "3 → 4"]
    assert found["0 → 2"] == pytest.approx(torch.linalg.norm(V.T @ V - W @ W.T).item(), rel=1e-12)
    assert list(layer_state.unbalancedness(model, ["0", "2", "3"])) == ["0 → 2"]
    product = expand(nn.Sequential(nn.Embedding(6, 3), nn.Linear(3, 3)).double(), 3, preserve=False).model
    names = layer_state.unbalancedness(product)
    # A table looks its rows up in its last factor, which stands first; tables and dense layers are no neighbours.
    assert list(names) == ["0.2 → 0.1", "0.1 → 0.0", "1.0 → 1.1", "1.1 → 1.2"]
    W1, W2, _ = (factor[0].detach() for factor in product[0].factors())
    assert names["0.2 → 0.1"] == pytest.approx(torch.linalg.norm(W2.T @ W2 - W1 @ W1.T).item(), rel=1e-12)


def test_norms_of_gradients_that_are_there():
    model = nn.Sequential(nn.Embedding(4, 2, sparse=True), nn.Linear(2, 2), nn.Linear(2, 2)).double()
    (model[1](model[0](torch.tensor([1, 1, 3]))) ** 2).sum().backward()
    wanted = {name: float("nan") for name, _ in model.named_parameters()}
    wanted |= {
        name: torch.linalg.norm(p.grad.to_dense() if p.grad.is_sparse else p.grad).item()
        for name, p in model.named_parameters() if p.grad is not None
    }  # fmt: skip
    assert layer_state.gradient_norms(model) == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    later = layer_state.gradient_norms_later(model)
    model.zero_grad()
    assert later() == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    assert all(np.isnan(norm) for norm in layer_state.gradient_norms(model).values())


def test_tables_are_read_if_they_are_named():
    model = nn.Sequential(nn.Embedding(6, 3), nn.Linear(3, 2))
    assert list(layer_state.singular_values(model)) == ["1"]
    assert list(layer_state.singular_values(model, ["0"])) == ["0"]
    assert list(layer_state.singular_values(expand(model, 2).model)) == ["1"]


def test_what_pytorch_draws_weights_with():
    for layer, variance in (
        (nn.Linear(6, 4), 1 / 18), (nn.Conv2d(4, 6, 3, groups=2), 1 / (3 * 18)),
        (nn.ConvTranspose2d(4, 6, (3, 2)), 1 / (3 * 36)), (nn.Embedding(5, 3), 1.0),
    ):  # fmt: skip
        rule = kinds.KINDS[kinds.kind_of(layer)]
        assert rule.own_variance(layer) == pytest.approx(variance, rel=1e-12)
    assert kinds.ROWS.own_variance(None) == pytest.approx(4e-4, rel=1e-12)
    attention, lstm = nn.MultiheadAttention(6, 2), nn.LSTM(3, 5)
    own = {site.name: _own_variance(site) for site in [*sites(attention), *sites(lstm)]}
    assert own["in_proj_weight"] == pytest.approx(2 / 24, rel=1e-12)
    assert own["weight_ih_l0"] == own["weight_hh_l0"] == pytest.approx(1 / 15, rel=1e-12)


def test_a_fresh_start_is_drawn_factor_by_factor_and_then_its_bias():
    generator, again = (torch.Generator().manual_seed(3) for _ in range(2))
    model = expand(nn.Linear(6, 4).double(), 3, 5, preserve=False, generator=generator).model
    for W, (out, fan_in), variance in zip(
        model.factors(), [(5, 6), (5, 5), (4, 5)], [1 / 18, 1 / 5, 1 / 5], strict=True
    ):
        drawn = torch.randn(1, out, fan_in, dtype=torch.float64, generator=again)
        close(W.detach(), variance**0.5 * drawn)
    close(model.bias.detach(), (2 * torch.rand(4, dtype=torch.float64, generator=again) - 1) / 6**0.5)
    for layer, bound in ((nn.GRUCell(3, 4).double(), 0.5), (nn.MultiheadAttention(4, 2).double(), 0.0)):
        layer = expand(layer, 2, preserve=False).model
        biases = [value for name, value in layer.named_parameters() if "bias" in name and "out" not in name]
        assert all(value.abs().max() <= bound for value in biases)
        assert bound == 0 or max(value.abs().max() for value in biases) > bound / 2


def test_the_parameters_of_an_expansion_are_counted():
    model = nn.Sequential(nn.Linear(6, 4), nn.Conv2d(4, 6, 3, groups=2), nn.ReLU())
    found = expand(model, 4, 8, preserve=False)
    for row, (inputs, out, groups) in zip(found.report, [(6, 4, 1), (18, 3, 2)], strict=True):
        inner = 8 // groups
        assert row.widths == (8, 8, 8)
        assert row.parameters == groups * inputs * out
        assert row.expanded == groups * (inputs * inner + 2 * inner * inner + inner * out)
    held = sum(p.numel() for name, p in found.model.named_parameters() if "bias" not in name)
    assert held == sum(row.expanded for row in found.report)
    left = expand(nn.Linear(6, 4), 1).report[0]
    assert (left.done, left.widths, left.expanded) == (False, None, 24)


def test_weights_that_modules_read_themselves_are_found():
    assert packed.weights_of(nn.MultiheadAttention(4, 2)) == ["in_proj_weight"]
    own = packed.weights_of(nn.MultiheadAttention(4, 2, kdim=3, vdim=5))
    assert own == ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    assert packed.weights_of(nn.LSTMCell(2, 3)) == ["weight_ih", "weight_hh"]
    assert packed.weights_of(nn.Linear(2, 3)) == []
    assert packed.matrices(torch.zeros(6, 2), 3).shape == (3, 2, 2)
    rnn = expand(nn.RNN(3, 4).double(), 2, preserve=False).model
    assert packed.products(rnn) == ["weight_ih_l0", "weight_hh_l0"]
    first, last = packed.factor_list(rnn, "weight_ih_l0")
    close(rnn.weight_ih_l0.detach(), (last @ first)[0].detach())
    rule = rnn.parametrizations["weight_ih_l0"][0]
    W = draw(4, 3)
    close(rule(*rule.right_inverse(W)), W)


# ---------------------------------------------------------------------------------------------------------
# Calibration and truncation


@pytest.mark.parametrize(("out", "fan_in", "groups"), [(3, 5, 1), (5, 3, 1), (2, 6, 2)])
def test_what_was_seen_is_weighed_against_isotropic_inputs(out, fan_in, groups):
    W, X = draw(groups, out, fan_in), draw(groups, 9, fan_in)
    seen = W @ X.mT @ X @ W.mT
    by_inputs = out > fan_in
    side = fan_in if by_inputs else out
    moment = calibration.Moment(by_inputs, X.mT @ X if by_inputs else seen, 9)
    (U, S, Vt), energy = calibration.weighted(W, moment)
    trace = lambda M: M.diagonal(dim1=-2, dim2=-1).sum()  # noqa: E731
    prior = side / (side + 9)
    second = (1 - prior) * seen / trace(seen) + prior * W @ W.mT / trace(W @ W.mT)
    values, vectors = torch.linalg.eigh(second)
    rank = min(out, fan_in)
    torch.testing.assert_close(energy, values.flip(-1)[:, :rank], rtol=1e-8, atol=1e-12)
    for r in range(1, rank + 1):
        best = vectors.flip(-1)[..., :r]
        torch.testing.assert_close(U[..., :r] @ U[..., :r].mT, best @ best.mT, rtol=1e-6, atol=1e-6)
    close(U * S[:, None] @ Vt, W, 1e-8)


def weighing(W, X):
    """A weight with the moment of inputs (1, n, in) that it has seen, as `moments` takes it of a dense layer."""
    by_inputs = W.shape[1] > W.shape[2]
    total = X.mT @ X if by_inputs else W @ X.mT @ X @ W.mT
    return calibration.weighted(W, calibration.Moment(by_inputs, total, X.shape[1]))


@pytest.mark.parametrize("size", [1e-100, 1e-3, 1.0, 1e4, 1e100])
@pytest.mark.parametrize(("out", "fan_in"), [(5, 3), (3, 5), (4, 4)])
def test_a_layer_of_zeros_is_cut_whatever_it_saw(out, fan_in, size):
    (U, S, Vt), energy = weighing(torch.zeros(1, out, fan_in).double(), size * draw(1, 9, fan_in))
    close(U.mT @ U, torch.eye(min(out, fan_in)).double()[None])
    for nothing in (S, Vt, energy):
        assert not nothing.any()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [1e-100, 1e-3, 1.0, 1e4, 1e100])
@pytest.mark.parametrize(("out", "fan_in"), [(6, 4), (3, 4)])
def test_where_outputs_are_zero_the_weight_judges_alone(out, fan_in, size, turned):
    """Inputs that a layer maps to nothing, or to rounding, say nothing about which outputs matter."""
    W, X = draw(1, out, fan_in), size * draw(1, 9, fan_in)
    W[..., -1:], X[..., :-1] = 0, 0
    if turned and out > fan_in:
        Q = torch.linalg.qr(draw(4, 4))[0]
        W, X = W @ Q, X @ Q
    (U, S, Vt), energy = weighing(W, X)
    close(U * S[:, None] @ Vt, W, 1e-10)
    wanted = torch.linalg.svd(W, full_matrices=False)
    close(S[:, :3], wanted[1][:, :3], 1e-6)
    for r in (1, 2, 3):
        close(U[..., :r] @ U[..., :r].mT, wanted[0][..., :r] @ wanted[0][..., :r].mT, 1e-6)
    close(energy[:, :3] / energy.sum(), wanted[1][:, :3] ** 2 / (wanted[1] ** 2).sum(), 1e-6)


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize(("out", "fan_in"), [(5, 3), (3, 5)])
def test_cuts_depend_on_the_scale_neither_of_weights_nor_of_inputs(out, fan_in, size):
    W, X = draw(1, out, fan_in), draw(1, 9, fan_in)
    W[0, 0, 0] = X[0, 0, 0] = 0
    plain, shares = weighing(W, X)
    for one, other in ((size**0.5, 1.0), (1.0, size**0.5)):
        (U, S, Vt), energy = weighing(one * W, other * X)
        close(energy, shares, 1e-8)
        close(S / one, plain.S, 1e-8)
        close(U * S[:, None] @ Vt / one, W, 1e-8)


@pytest.mark.parametrize(("out", "fan_in"), [(5, 3), (3, 5), (1, 1)])
def test_shares_of_what_was_seen_and_of_the_weight_add_up_to_one(out, fan_in):
    alone = torch.zeros(1, out, fan_in).double()
    alone[0, 0, 0] = -3.0
    for W in (draw(1, out, fan_in), alone):
        for X in (draw(1, 9, fan_in), draw(1, 1, fan_in)):
            assert weighing(W, X)[1].sum().item() == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("faint", [1.0, 1e-5])
def test_directions_that_no_example_showed_break_nothing_however_many_there_were(faint):
    """The weight's part is less than rounding then, and what is left has no inverse without a hundredth of one."""
    for _ in range(20):
        Q = torch.linalg.qr(draw(6, 6))[0]
        X = Q[:2] + faint * draw(2, 6)
        W = draw(1, 7, 4) @ Q[2:]  # it gives outputs of that size where `faint` is small
        (U, S, Vt), energy = calibration.weighted(W, calibration.Moment(True, (X.mT @ X)[None], 10**20))
        close(U.mT @ U, torch.eye(6).double()[None], 1e-10)
        close(U * S[:, None] @ Vt, W, 1e-6)
        assert energy.isfinite().all()


def test_outputs_beyond_the_inputs_hold_nothing():
    """Of a convolution by 1 × 1 the outputs are taken, though it may have fewer inputs."""
    W, x = draw(2, 5, 3), draw(2, 9, 3)
    y = x @ W.mT
    (U, S, Vt), energy = calibration.weighted(W, calibration.Moment(False, y.mT @ y, 9))
    assert (U.shape, S.shape, Vt.shape, energy.shape) == ((2, 5, 3), (2, 3), (2, 3, 3), (2, 3))
    close(U * S[:, None] @ Vt, W, 1e-8)


def test_of_a_square_layer_the_outputs_are_taken():
    model = nn.Linear(3, 3).double()
    (moment,) = calibration.moments(model, sites(model), [batches.given(draw(4, 3))], batches.call).values()
    assert not moment.of_inputs


@pytest.mark.parametrize(("out", "fan_in"), [(5, 3), (3, 5)])
def test_one_input_that_is_not_finite_is_enough(out, fan_in):
    model, x = nn.Linear(fan_in, out).double(), draw(4, fan_in)
    x[1, 2] = float("nan")
    with pytest.raises(ValueError, match="calibration must be finite numbers; what layer ''"):
        calibration.moments(model, sites(model), [batches.given(x)], batches.call)


def graded(out, fan_in, least):
    """A matrix with singular values from 1 down to the least, and those."""
    k = min(out, fan_in)
    S = torch.logspace(0, np.log10(least), k, dtype=torch.float64)
    U, V = torch.linalg.qr(draw(out, k))[0], torch.linalg.qr(draw(fan_in, k))[0]
    return (U * S @ V.T)[None], S[None]


@pytest.mark.parametrize(
    ("out", "fan_in", "dtype"),
    [(24, 20, torch.float64), (20, 24, torch.float64), (16, 16, torch.float32), (16, 40, torch.float32),
     (40, 16, torch.float32)],
)  # fmt: skip
def test_small_singular_values_of_small_or_precise_weights_are_right(out, fan_in, dtype):
    W, S = graded(out, fan_in, 1e-11)
    parts = decomposition.decomposed(W, dtype)
    for found in (parts.S, decomposition.singular_values(W, dtype)):
        torch.testing.assert_close(found, S, rtol=1e-3, atol=0)
    close(parts.Vt @ parts.Vt.mT, torch.eye(min(out, fan_in)).double()[None], 1e-9)


@pytest.mark.parametrize(("out", "fan_in"), [(20, 18), (18, 20), (20, 20)])
def test_single_precision_is_decomposed_without_an_svd(out, fan_in, monkeypatch):
    for name in ("svd", "svdvals"):
        monkeypatch.setattr(torch.linalg, name, None)
    W, S = graded(out, fan_in, 1e-3)
    parts = decomposition.decomposed(W, torch.float32)
    for found in (parts.S, decomposition.singular_values(W, torch.float32)):
        torch.testing.assert_close(found, S, rtol=1e-8, atol=0)
    close(parts.U * parts.S[:, None] @ parts.Vt, W, 1e-10)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
@pytest.mark.parametrize(("out", "fan_in"), [(8, 2), (2, 8), (3, 8)])
def test_what_is_rounding_beside_the_largest_singular_value_becomes_zero_in_factors(out, fan_in, scale):
    """Its root would not be small. Rounding is that of a float64 times the larger side."""
    k = min(out, fan_in)
    U, Vt = torch.eye(out, k).double()[None], torch.eye(k, fan_in).double()[None]
    bar = 2.0**-52 * 8
    for small, root in ((bar, 0.0), (bar * 1.01, (bar * 1.01 * scale) ** 0.5), (bar / 1.01, 0.0)):
        S = torch.tensor([[1.0, small, 0.0][:k]], dtype=torch.float64) * scale
        first, last = decomposition.balanced(decomposition.Decomposed(U, S, Vt), 2, 4)
        close(first[0, 0, 0] * last[0, 0, 0], S[0, 0])
        assert first[0, 1, 1].item() == last[0, 1, 1].item() == pytest.approx(root, rel=1e-12, abs=0)
        assert not first[0, 2:].any()


def test_ranks_leave_out_no_more_than_asked():
    rank = lambda to, *S: decomposition.rank(decomposition.Decomposed(S, torch.tensor(S).double(), S), to)  # noqa: E731
    spectrum = [4.0, 0.0, 0.0, 0.0], [12.0, 4.0, 3.0, 0.0]  # of the second 13, 5 and 3 are left
    assert [rank(to, *spectrum) for to in (0.0, 3 / 13, 0.3, 5 / 13, 0.4, 1.0)] == [3, 2, 2, 1, 1, 0]
    assert rank(0.0, [0.0, 0.0]) == 0
    assert rank(0.0, [1e-9, 0.0]) == 1


def test_the_gap_of_factors_is_relative_and_of_nothing_whether_there_is_one():
    W, nothing = draw(1, 3, 2), torch.zeros(1, 3, 2).double()
    one, faint = torch.eye(3).double()[None], nothing.clone()
    faint[0, 1, 1] = -1e-9
    for scale in (1e-9, 1.0, 1e9):
        assert decomposition.gap([0.75 * W, scale * one], scale * W) == pytest.approx(0.25, rel=1e-12)
    assert decomposition.gap([nothing, one], nothing) == 0.0
    assert decomposition.gap([faint, one], nothing) == 1.0


@pytest.mark.parametrize(("kind", "place"), [("mps", "processor"), ("cuda", "device")])
def test_what_a_device_has_no_double_precision_for_comes_to_the_processor(kind, place):
    """As on Apple's, here by a stand-in: its numbers are converted where they have come to, others where they are."""
    came = SimpleNamespace(to=lambda dtype: ("processor", dtype))
    held = SimpleNamespace(
        device=SimpleNamespace(type=kind), cpu=lambda: came, to=lambda dtype: ("device", dtype), detach=lambda: held
    )
    assert decomposition.double(held) == (place, torch.float64)


def test_moments_are_sums_over_what_layers_saw_or_gave():
    model = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 3), nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2)).double()
    data = [draw(5, 2), draw(3, 2)]
    places = [site for site in sites(model) if site.module is not model[3]] + [sites(model)[-1]]
    model.train()
    found = calibration.moments(model, places, batches.each(data, torch.device("cpu")), batches.call)
    assert model.training
    x = torch.cat(data)
    one, two = found[id(model[0].weight)], found[id(model[1].weight)]
    assert (one.of_inputs, one.vectors, two.of_inputs, two.vectors) == (True, 8, False, 8)
    close(one.total[0], x.T @ x)
    with torch.no_grad():
        y = model[0](x) @ model[1].weight.T
        close(two.total[0], y.T @ y)
        z = (model[3](model[1](model[0](x))[:, None]) - model[3].bias[:, None]).transpose(1, 2).reshape(-1, 2)
    close(found[id(model[3].weight)].total[0], z.T @ z)
    assert found[id(model[3].weight)].vectors == 16
    assert not any(module._forward_hooks for module in model)


@pytest.mark.parametrize("bias", [False, True])
def test_groups_of_a_convolution_have_moments_of_their_own(bias):
    model = nn.Conv2d(4, 6, 2, groups=2, bias=bias).double()
    x = draw(3, 4, 3, 3)
    (moment,) = calibration.moments(model, sites(model), [batches.given(x)], batches.call).values()
    with torch.no_grad():
        z = (model(x) - (model.bias[:, None, None] if bias else 0)).permute(1, 0, 2, 3).reshape(2, 3, -1)
    close(moment.total, z @ z.mT)
    assert (moment.vectors, moment.of_inputs) == (12, False)


def test_what_a_truncation_did_is_told():
    seen, tuned = measured.Measured(1000, 0.125, 0.75, 0.5), measured.Measured(1000, 0.0625, None, None)
    cost = measured.Cost(7, 2000, 1000, 0.004, 0.0025)
    told = str(Truncation(report.Table([]), 400, 100, 0.5, 0.25, seen, cost, tuned)).splitlines()
    assert told == [
        "no layers", "parameters 400 → 100 (25.0%)", "outputs change by 50.0% or so were inputs isotropic (without data)",
        "outputs should change by 25.0% (from the calibration batches)", "outputs changed by 12.5% on 1,000 examples",
        "accuracy 75.00% → 50.00%", "fine-tuned: outputs changed by 6.2% on 1,000 examples",
        "7 examples: 2,000 → 1,000 operations, 4 → 2.5 ms",
    ]  # fmt: skip
    plain = str(Truncation(report.Table([]), 0, 0, 0.5, None, None, None, None)).splitlines()
    assert plain[1:] == [
        "parameters 0 → 0 (100.0%)",
        "outputs change by 50.0% or so were inputs isotropic (without data)",
    ]


def test_budgets_are_counts_or_shares():
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4))  # 48 + 8 + 32 + 4 numbers
    curve = np.ones(4)
    choices = {"a": Choice(48, 14, curve, curve), "b": Choice(32, 12, curve, curve)}
    for given, allowed in ((92, 80), (60, 48), (38, 26), (1.0, 80), (0.5, 34)):
        assert _budget(model, choices, given) == allowed
    for bad in (37, 0.4):
        with pytest.raises(ValueError, match=r"parameters allows \d+ of the model's 92; it has 38 with every layer"):
            _budget(model, choices, bad)
    for bad in (0, 0.0, 1.5, -1, True, "all"):
        with pytest.raises(ValueError, match="parameters must be a positive count, or a share"):
            _budget(model, choices, bad)


def test_a_table_of_layers_is_aligned_and_leaves_empty_columns_out():
    class Line(NamedTuple):
        layer: str
        shape: tuple[int, ...] | None
        done: bool
        error_of: float
        size: int
        none: None
        note: str

    rows = [Line("0 = 2", (3, 4), True, 0.123456, 12345, None, ""), Line("1", None, False, 2.0, 7, None, "why")]
    table = report.Table(rows)
    assert str(table).splitlines() == [
        "layer  shape  done  error of  size    note",
        "0 = 2  3×4    yes   0.1235    12,345",
        "1             no    2         7       why",
    ]
    assert (table.done, table.skipped, len(table)) == ((rows[0],), (rows[1],), 2)
    assert table["2"] is table["0"] is table[0] is rows[0]
    with pytest.raises(KeyError, match="no layer '9'; there are '0 = 2', '1'"):
        table["9"]


# ---------------------------------------------------------------------------------------------------------
# Derivatives


def test_derivatives_are_bounded_as_if_nothing_cancelled():
    v, same = draw(3, 2), lambda x: x
    outer = derivatives.Outer(draw(3, 1, 4, 5), draw(3, 2, 1, 4, 6), same, 5)
    lookup = derivatives.Lookup(torch.randint(7, (3, 4)), draw(3, 2, 4, 6), 7)
    dense = derivatives.Dense(draw(3, 2, 8))
    for part in (outer, lookup, dense):
        summed = torch.einsum("bc,bcp->p", v, part.dense())
        if not isinstance(part, derivatives.Dense):
            close(part.weighted(v), summed)
        assert summed.norm() <= part.scale(v)
        assert derivatives._size(part) >= part.first(2).dense().norm() * (1 - 1e-12)
        assert len(part.first(2).dense()) == 2
    # Each bound is reached: by one term, by equal terms, by derivatives along v.
    one = derivatives.Outer(draw(1, 1, 1, 5), draw(1, 1, 1, 1, 6), same, 5)
    w = torch.ones(1, 1).double()
    close(one.scale(w), one.dense().norm())
    close(derivatives._size(one), one.dense().norm())
    equal = derivatives.Lookup(torch.full((1, 9), 3), draw(1, 1, 1, 6).expand(1, 1, 9, 6), 7)
    close(equal.scale(w), equal.dense().norm())
    close(derivatives._size(equal), equal.dense().norm())
    along = derivatives.Dense(v[..., None] * draw(1, 1, 8))
    close(along.scale(v), torch.einsum("bc,bcp->p", v, along.dense()).norm())
    terms = draw(2, 2, 1, 5).expand(2, 2, 7, 5)
    close(derivatives._summed(terms, 2).bound(), terms.sum(2).norm())
    assert derivatives.nbytes(outer) == 8 * (3 * 4 * 5 + 3 * 2 * 4 * 6)


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize(("b", "c"), [(1, 1), (2, 1), (1, 3), (3, 2)])
@pytest.mark.parametrize(
    ("held", "copy"),
    [((3,), (4, 3)), ((4, 3), (4, 3)), ((2, 1), (2, 3)), ((1, 3), (2, 3)), ((1, 4, 3), (4, 3)), ((1, 1, 3), (2, 3)),
     ((1, 4, 1), (4, 3)), ((1, 1, 1), (4, 3)), ((1,), (4, 2)), ((1,), (5,)), ((5,), (5,)), ((1, 1), (5,)),
     ((3, 1, 2), (3, 4, 2)), ((4, 1), (3, 4, 2)), ((1, 3, 1, 2), (3, 4, 2)), ((1, 1, 4, 1), (3, 4, 1)), ((0,), (4, 0))],
)  # fmt: skip
def test_copies_of_a_parameter_add_up_to_its_derivative(held, copy, b, c, view):
    """The bound on what each number is the sum of is reached where the terms of each sum are equal."""
    parameter = nn.Parameter(draw(*(held[::-1] if view else held)))
    value = parameter.permute(*reversed(range(len(held)))) if view else parameter
    sizes = (*(1,) * (1 + len(copy) - len(held)), *held)[1:]  # without the axis of examples
    terms = np.prod(copy) / max(1, np.prod(held))
    for d, equal in ((draw(b, c, *copy), False), (draw(b, c, *sizes).expand(b, c, *copy), True)):
        (part,) = derivatives.by_copies(value, "name", parameter)(d).values()
        copies = value.expand(b, *copy)
        rows = [torch.autograd.grad(copies[i], parameter, d[i, k], retain_graph=True)[0].flatten()
                for i in range(b) for k in range(c)]  # fmt: skip
        wanted = torch.stack(rows).unflatten(0, (b, c))
        close(part.dense(), wanted)
        bound, reached = part.bound(), wanted[: derivatives.CHECKED].norm()
        close(bound, terms**0.5 * d[: derivatives.CHECKED].norm())
        assert bound >= reached * (1 - 1e-12)
        if equal:
            close(bound, reached)


def test_blocks_fit_into_what_is_to_be_used():
    for outputs, places, largest, n, memory in ((1, 10, 5, 100, 1e4), (7, 100, 40, 33, 1e5), (3, 50, 50, 500, 1e9)):
        sizes, like = jacobian.Sizes(outputs, places, largest), torch.zeros(1)
        block = kernel._block(sizes, n, memory, like)
        assert 1 <= block <= min(n, 64)
        passing = 2 * places + 4 * outputs * largest  # numbers for an example while it passes
        assert block == 1 or 4 * block * passing <= memory
        # Blocks are as large as may be, and even; on a processor what passes at once fits its caches.
        cached = kernel._AT_ONCE // (outputs * largest + 1)
        most = min(n, 64, max(1, min(cached, int(memory // (4 * passing + 1)))))
        assert -(-n // block) == -(-n // most)
        assert block * -(-n // block) - n < -(-n // block)


def outer(block, c, g, t, o, i):
    return derivatives.Outer(draw(block, g, t, i), draw(block, c, g, t, o), lambda x: x, i)


def test_what_is_written_out_takes_less_or_is_used_again_where_there_is_room():
    block, n = 2, 10
    # Many positions: written out it is smaller. Two groups of one position: what is apart is smaller.
    found = {"small": outer(block, 2, 1, 100, 2, 3), "large": outer(block, 5, 2, 1, 30, 30)}
    found |= {
        "pairs": outer(block, 2, 1, 1, 40, 50),
        "table": derivatives.Lookup(torch.zeros(block, 3).long(), draw(block, 2, 3, 4), 9),
    }
    small, apart, whole = 8 * 2 * 2 * 3, 8 * (2 * 30 + 5 * 2 * 30), 8 * 5 * 2 * 30 * 30
    others = 8 * (50 + 2 * 40) + 8 * (3 + 2 * 3 * 4)
    least, most = small + apart + others, small + whole + others
    room = 2 * n * most + 2 * n * block
    for m, memory, dense, held in (
        (n, room, {"small"}, least),  # it is met once: no need
        (n + 1, room, {"small", "large"}, most),
        (n + 1, room / 2, {"small"}, least),
        (n, 2 * n * least - 1, {"small"}, least),
    ):
        plan = kernel._plan(found, block, n, m, "all", memory)
        assert plan.dense == dense
        assert plan.stripe % block == 0
        assert plan.stripe == block or plan.stripe * held <= memory / 2
        assert (plan.stripe + block) * (held + 1) > memory / 2
        settled = plan.settled(dict(found))
        assert {name for name, part in settled.items() if isinstance(part, derivatives.Dense)} == dense
    assert kernel._plan(found, block, n, n, "all", 1.0).stripe == block


def test_no_more_memory_is_used_than_asked_for_nor_than_half_of_the_jacobian(monkeypatch):
    used, plan = [], kernel._plan
    monkeypatch.setattr(kernel, "_plan", lambda *given: (used.append(given[-1]), plan(*given))[1])
    model, x = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double(), draw(4, 3)
    wanted = kernel.ntk(model, x)
    jacobian_of_all = 4 * 2 * 8 * sum(p.numel() for p in model.parameters())
    for much, memory, expected in (
        (2**26, 1000.0, 1000.0),
        (2**26, 1e12, 2**26),
        (16, 1e12, jacobian_of_all / 2),
        (16, 100.0, 100.0),
    ):
        monkeypatch.setattr(kernel, "_MUCH", much)
        used.clear()
        close(kernel.ntk(model, x, memory=memory), wanted, 1e-10)
        assert used == [expected]


# ---------------------------------------------------------------------------------------------------------
# A callback of transformers


@pytest.mark.parametrize(("every", "steps"), [("epoch", [0, 2, 4]), ("step", [0, 1, 2, 3, 4])])
def test_a_callback_of_transformers_records_by_its_hooks(monkeypatch, tmp_path, every, steps):
    home = SimpleNamespace(TrainerCallback=type("TrainerCallback", (), {}))
    monkeypatch.setitem(sys.modules, "transformers", home)
    model, x = nn.Linear(3, 2).double(), draw(4, 3)
    recorder = Recorder(x, path=tmp_path)
    callback = transformers.callback(recorder, every)
    assert isinstance(callback, home.TrainerCallback)
    state = SimpleNamespace(global_step=0, is_world_process_zero=True, log_history=[])
    given = {"args": None, "state": state, "control": None, "model": model}
    for fit in range(2):
        state.global_step, begun = 0, recorder.last_step
        callback.on_train_begin(**given)
        assert callback.offset == (begun or 0)
        for step in (1, 2):
            model.zero_grad()
            model(x).sum().backward()
            callback.on_pre_optimizer_step(**given)
            model.zero_grad()
            state.global_step = step
            state.log_history += [{"loss": 10.0 * fit + step}, {"rate": 0.1}]
            callback.on_step_end(**given)
        callback.on_epoch_end(**given)
        callback.on_epoch_end(**given)  # a step that is there already is not recorded again
        callback.on_train_end(None, state, None)
    held = recorder.recording
    np.testing.assert_array_equal(held.steps, steps)
    assert held.loss[-1] == 12.0
    assert np.isnan(held.loss[0])
    assert held.gradients["weight"][-1] == pytest.approx(float(torch.linalg.norm(x.sum(0).expand(2, 3))), rel=1e-12)
    state.is_world_process_zero, state.global_step = False, 9
    (callback.on_epoch_end if every == "epoch" else callback.on_step_end)(**given)
    assert len(recorder.recording) == len(steps)
    with pytest.raises(ValueError, match="every must be 'epoch' or 'step'; got 'day'"):
        transformers.callback(recorder, "day")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="pip install transformers"):
        transformers.callback(recorder)


def test_a_trainer_that_goes_on_keeps_its_steps(monkeypatch):
    home = SimpleNamespace(TrainerCallback=type("TrainerCallback", (), {}))
    monkeypatch.setitem(sys.modules, "transformers", home)
    model, recorder = nn.Linear(3, 2).double(), Recorder(draw(4, 3))
    recorder(model, 5)
    callback = transformers.callback(recorder, "step")
    for step, offset in ((5, 0), (7, 0), (3, 2)):
        callback.on_train_begin(None, SimpleNamespace(global_step=step), None, model=model)
        assert callback.offset == offset


def test_a_product_tells_what_it_stands_for():
    layer = nn.Linear(4, 3, bias=False)
    found = expand(layer, 2).model
    assert isinstance(found, Factored)
    assert (found.in_features, found.out_features, found.groups, found.bias) == (4, 3, 1, None)
    close(found.weight.double(), layer.weight.double(), 1e-5)


# ---------------------------------------------------------------------------------------------------------
# What goes together in a block of the kernel


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
@pytest.mark.parametrize("cached", [1000, 2**22])
@pytest.mark.parametrize("memory", [1.0, 3000.0, 9000.0, 1e9])
def test_pairs_of_positions_go_together_as_far_as_there_is_room(monkeypatch, outputs, memory, cached):
    """In memory, and in the cache of a processor."""
    monkeypatch.setattr(contract, "_CACHED", cached)
    seen, x, y, c, t, s, o = [], 7, 5, 2, 3, 4, 6
    p, q = (derivatives.Outer(draw(n, 1, k, 2), draw(n, c, 1, k, o), lambda a: a, 2) for n, k in ((x, t), (y, s)))

    def spied(function):
        return lambda weight, d, other: (seen.append(len(d)), function(weight, d, other))[1]

    monkeypatch.setattr(contract, "_summed_first", spied(contract._summed_first))
    monkeypatch.setattr(contract, "_crossed", {name: spied(rule) for name, rule in contract._crossed.items()})
    tile = contract.Tile(x, y, c, outputs, p.x, False)
    tile._pairs(p, q, memory)
    # Sums over the positions of one, weighted by pairs; or products of all pairs, and what is added up of them.
    each = {"all": t * y * (c * o + s), "diagonal": t * y * s * (c + 1), "mean": 2 * t * y * s}[outputs]
    room = min(memory / 3, cached) / 8
    assert sum(seen) == x
    assert seen[0] == 1 or seen[0] * each <= room
    assert seen[0] == x or (seen[0] + 1) * each > room
    assert set(seen[:-1]) <= {seen[0]}


@pytest.mark.parametrize("columns", [1, 30, 2048])
@pytest.mark.parametrize("memory", [1.0, 2000.0, 4000.0, 1e9])
def test_sums_over_positions_are_written_out_as_far_as_there_is_room(monkeypatch, memory, columns):
    """As few parts as there must be, each of no more columns than a product has, and as large as the others."""
    b, k, c, g, t, o, i = 3, 4, 2, 2, 3, 5, 6
    p, q = (derivatives.Outer(draw(n, g, t, i), draw(n, c, g, t, o), lambda a: a, i) for n in (b, k))
    tile, rows = contract.Tile(b, k, c, "all", p.x, False), []
    tile.columns = columns
    monkeypatch.setattr(tile, "gram", lambda J, K: rows.append((J.shape[2], K.shape[2])))
    tile._slices(p, q, memory)
    assert sum(J for J, _ in rows) == sum(K for _, K in rows) == g * o * i
    each = (b + k) * c * g * i * 8
    *equal, last = [J // (g * i) for J, _ in rows]
    step = equal[0] if equal else last
    assert set(equal) <= {step} >= {max(step, last)}
    assert step == 1 or (step * each <= memory and step * g * i <= columns)
    fewer = -(-o // len(equal)) if equal else o  # rows of each part were there one part less
    assert not equal or fewer * each > memory or fewer * g * i > columns


def test_few_columns_wait_for_others_and_none_is_lost():
    for columns, sizes in (
        (8, (1, 2, 3, 9, 4, 5)),
        (3, (1, 1, 1, 1)),
        (100, (2, 3)),
        (10, (4, 4, 4, 1, 3, 2)),
        (9, (3, 3, 3)),
    ):
        tile = contract.Tile(3, 2, 2, "all", draw(1), False)
        tile.columns = columns
        parts = [(draw(3, 2, size), draw(2, 2, size)) for size in sizes]
        for J, K in parts:
            tile.gram(J, K)
            assert sum(left.shape[2] for left, _ in tile.waiting) < columns
        close(tile.result(), sum(torch.einsum("xip,yjp->xyij", J, K) for J, K in parts))


def test_shares_of_energy_do_not_depend_on_scale():
    S = np.array([[2.0, 1.0, 0.5], [1.0, 1.0, 0.0]])
    for scale in (1e-6, 1.0, 1e6):
        np.testing.assert_allclose(energy_curve(scale * S), [5 / 7.25, 7 / 7.25, 1.0], rtol=1e-12)


def test_what_a_model_loses_is_bounded_by_the_energies_of_its_layers():
    def cut(*spectra):
        S = torch.tensor(spectra, dtype=torch.float64)
        return SimpleNamespace(parts=SimpleNamespace(S=S))

    cuts = {"a": cut([3.0, 1.0], [2.0, 0.0]), "b": cut([1.0, 1.0]), "c": cut([0.0, 0.0]), "small": cut([0.03, 0.01])}
    for picked, kept in (
        ({"a": 1}, 13 / 14), ({"a": 1, "b": 1}, 13 / 28), ({"a": 2, "b": None}, 1.0), ({"a": None}, 1.0), ({"c": 1}, 1.0),
        ({"small": 1}, 0.9),
    ):  # fmt: skip
        assert _bound(cuts, picked) == pytest.approx((1 - kept) ** 0.5, rel=1e-12)


class Shifted(nn.Module):
    """What is added to, multiplied with or expanded to all examples, as in transformers."""

    def __init__(self):
        super().__init__()
        self.place, self.scale = nn.Parameter(draw(1, 4, 3)), nn.Parameter(draw(3))
        self.token = nn.Parameter(draw(1, 1, 3))

    def forward(self, x):
        x = torch.cat([self.token.expand(len(x), -1, -1), self.scale * x], 1)
        return (x + self.place).flatten(1).tanh()


class Attending(nn.Module):
    def __init__(self, first, width=4, twice=1):
        super().__init__()
        sizes = {"kdim": twice * width, "vdim": twice * width, "bias": twice == 1}
        self.attention, self.first = nn.MultiheadAttention(width, 1, batch_first=first, **sizes), first
        self.twice = twice

    def forward(self, x):
        x = x if self.first else x.transpose(0, 1)
        seen = x if self.twice == 1 else torch.cat([x] * self.twice, -1)
        return self.attention(x, seen, seen)[0].sum(1 if self.first else 0)


class Products(nn.Module):
    """Weights as they stand in formulae: x W, in each way that PyTorch writes it."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Parameter(draw(3, 3)) for _ in range(3))
        self.last, self.shift = nn.Parameter(draw(3, 2)), nn.Parameter(draw(2))

    def forward(self, x):
        x = torch.tanh(x @ self.first)
        x = torch.tanh(torch.matmul(x, self.second))
        x = torch.tanh(x.matmul(self.third))
        return torch.addmm(self.shift, x, self.last)


STRUCTURED = {
    "dense": (nn.Linear(3, 2), (4, 3)), "dense on a sequence": (nn.Linear(3, 2), (4, 5, 3)),
    "without bias": (nn.Linear(3, 2, bias=False), (4, 3)),
    "pictures": (nn.Conv2d(2, 4, 3, padding=1, groups=2), (4, 2, 5, 5)),
    "a line": (nn.Conv1d(2, 3, 2, stride=2, bias=False), (4, 2, 6)),
    "the same size": (nn.Conv2d(2, 3, (3, 5), padding="same", dilation=(1, 2)), (4, 2, 5, 6)),
    "layer norm": (nn.LayerNorm(3), (4, 5, 3)), "layer norm of two axes": (nn.LayerNorm((5, 3), bias=False), (4, 5, 3)),
    "rms norm": (nn.RMSNorm(3), (4, 5, 3)), "group norm": (nn.GroupNorm(2, 4), (4, 4, 3)),
    "instance norm": (nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
    "batch norm": (nn.BatchNorm2d(3).eval(), (4, 3, 2, 2)),
    "batch norm of rows": (nn.BatchNorm1d(3).eval(), (4, 3)), "shifts": (Shifted(), (4, 3, 3)),
    "attention": (Attending(True), (3, 5, 4)), "attention over time": (Attending(False), (3, 5, 4)),
    "attention of width one": (Attending(False, 1, 2), (3, 5, 1)), "products": (Products(), (4, 3)),
    "a convolution, normalised": (
        nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Flatten()).eval(), (4, 2, 3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("case", STRUCTURED)
def test_every_layer_gives_its_derivatives_itself(case):
    """Nothing is left to `torch.func`, which is right as well, but takes much longer; also where one part is frozen."""
    model, shape = STRUCTURED[case]
    model, x = model.double(), draw(*shape)
    for parameter in model.parameters():
        parameter.data = draw(*parameter.shape)
    given = {name: value.detach() for name, value in model.named_parameters()}
    wanted = torch.func.jacrev(lambda p: torch.func.functional_call(model, p, (x,)).flatten(1))(given)
    for frozen in (None, *given) if len(given) > 1 else (None,):
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name != frozen)
        found = jacobian.Jacobian(model)
        parts = found((x,))
        assert found.unknown == frozenset(), f"{frozen} is frozen"
        assert parts.keys() == wanted.keys() - {frozen}
        for name, part in parts.items():
            close(part.dense(), wanted[name].flatten(2), 1e-9)
    model.requires_grad_(True)


def test_a_table_of_embeddings_gives_its_derivatives_itself():
    model, x = nn.Embedding(7, 3, padding_idx=-1).double(), torch.tensor([[0, 1], [6, 2], [2, 2]])
    found = jacobian.Jacobian(model)
    (part,) = found((x,)).values()
    assert found.unknown == frozenset()
    J = part.dense().view(3, 2, 3, 7, 3)
    wanted = torch.zeros_like(J)
    for example in range(3):
        for place in range(2):
            if x[example, place] != 6:  # the padding
                wanted[example, place, :, x[example, place]] = torch.eye(3).double()
    close(J, wanted)


@pytest.mark.parametrize("form", ["Bent", "Clipped"])
def test_functions_that_pytorch_differentiates_output_by_output_take_another_form(form):
    named = {"Bent": ("silu", "hardswish", "mish", "gelu"), "Clipped": ("hardtanh", "relu6")}[form]
    x = (3 * draw(2, 5)).requires_grad_()
    for function in (getattr(nn.functional, name) for name in named):
        with taps.Taps({}, 2, False) as noted:
            out = function(x)
        assert out.grad_fn.name() == f"{form}Backward"
        assert noted.ran == [function]
        (found,), (wanted,) = (torch.autograd.grad(y.sum(), x) for y in (out, function(x)))
        close(out.detach(), function(x).detach())
        close(found, wanted)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("shape", "made"), [((5,), False), ((5,), True), ((4, 5), False)])
def test_layers_are_normalised_in_another_form_where_it_is_as_precise(dtype, shape, made):
    """Along the last axis, in single and double precision, by constants: weights that are made have slopes as well."""
    x, weight, bias = (draw(*size).to(dtype).requires_grad_() for size in ((3, 4, 5), shape, shape))
    names = {id(weight): "weight", id(bias): "bias"}
    weight = weight * 2 if made else weight
    other = len(shape) == 1 and dtype in (torch.float64, torch.float32) and not made
    with taps.Taps(names, 3, False):
        out = nn.functional.layer_norm(x, shape, weight, bias, 0.1)
    assert (out.grad_fn.name() == "StandardisedBackward") is other
    wanted = nn.functional.layer_norm(x, shape, weight, bias, 0.1)
    d = draw(3, 4, 5).to(dtype)
    (found,), (truth,) = (torch.autograd.grad(y, x, d, retain_graph=True) for y in (out, wanted))
    bar = 1e-6 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(out, wanted, rtol=bar, atol=bar)
    torch.testing.assert_close(found, truth, rtol=bar, atol=bar)


def test_what_need_not_work_in_place_does_not():
    for function in (nn.functional.relu, nn.functional.leaky_relu, nn.functional.elu):
        x = draw(2, 5)
        before = x.clone()
        with taps.Taps({}, 2, False):
            out = function(x, inplace=True)
        close(x, before)
        close(out, function(before))


def test_hidden_units_beyond_the_rank_of_a_group_carry_nothing():
    """A rank is that to which single precision knows the weight: what it rounds would have the root 1e-4."""
    layer = nn.Conv1d(6, 8, 1, groups=2)
    u, v = torch.randn(2, 4, 1), torch.randn(2, 1, 3)
    layer.weight.data = (u @ v).reshape(8, 3, 1)
    found = expand(layer, 2)
    assert "4 hidden units carry nothing: the rank is 2" in found.report[0].note
    first, last = (W.detach() for W in found.model.factors())
    for group in range(2):
        assert first[group, 0].abs().max() > 0.1
        assert not first[group, 1:].any()
        assert not last[group, :, 1:].any()


@pytest.mark.parametrize(
    ("make", "gates"),
    [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1), (lambda *a, **k: nn.RNN(*a, bias=False, **k), 1)],
)
def test_a_recurrent_layer_has_places_for_all_gates_at_all_steps(make, gates):
    layer = make(3, 4, num_layers=2, batch_first=True)
    names = {id(parameter): name for name, parameter in layer.named_parameters()}
    with taps.Places(names) as places:
        layer(torch.ones(2, 5, 3))
    assert places.sizes == [2 * 5 * gates * 4] * 2, "one for each matrix of recurrent weights"


def places(model, *inputs):
    """What is counted of a model that knows its parameters by the names of those that train."""
    with taps.Places({id(p): name for name, p in model.named_parameters() if p.requires_grad}) as found:
        model(*inputs)
    return found.sizes


def test_places_are_where_parameters_that_train_enter():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.0), nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    assert places(model, torch.ones(7, 3)) == [7 * 4, 7 * 5, 7 * 2]
    model[0].bias.requires_grad_(False)  # its weight still enters there
    model[3].requires_grad_(False)
    assert places(model, torch.ones(7, 3)) == [7 * 4, 7 * 2]


def test_a_recurrent_layer_has_places_for_what_trains():
    for frozen, layers in (("bias_hh_l0", 2), ("weight_ih_l1", 2), ("weight_hh_l0", 1), ("weight_hh_l1", 1)):
        layer = nn.LSTM(3, 4, num_layers=2, batch_first=True)
        layer.get_parameter(frozen).requires_grad_(False)
        assert places(layer, torch.ones(2, 5, 3)) == [2 * 5 * 4 * 4] * layers, frozen


def test_a_frozen_normalisation_is_no_place():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3).requires_grad_(False)).eval(), torch.ones(4, 3)
    names = {id(parameter): name for name, parameter in model.named_parameters() if parameter.requires_grad}
    with taps.Taps(names, 4, copies=False) as noted:
        model(x)
    assert len(noted.found) == 1


@pytest.mark.parametrize("outputs", [1, 2, 16, 17, 18])
def test_the_last_pass_backwards_gives_up_every_place(outputs):
    """One of all outputs, of some, or of a single one."""
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, outputs)), torch.ones(5, 3)
    jacobian = Jacobian(model)
    run, out = jacobian._forward((x,))
    kept = run.found
    backwards = Backwards(out, kept, out.dtype, free=True)
    assert len(backwards.derivatives()) == 4
    assert all(tap.z is out for tap in backwards.taps), "nothing in between is held"
    run, again = jacobian._forward((x,))
    noted = run.found
    held = Backwards(again, noted, again.dtype, free=False)
    held.derivatives()
    assert any(tap.z is not again for tap in held.taps)


def test_a_width_is_refused_where_a_factor_would_not_fit_in_memory():
    wide = 2**20
    hidden = arguments.MOST_NUMBERS // (2 * wide) + 1
    assert 2 * hidden * hidden < arguments.MOST_NUMBERS, "it is the layer that is wide"
    with pytest.raises(ValueError, match=r"depth and width must lead to arrays of at most"):
        expand(nn.Linear(wide, 1, bias=False), 2, width=hidden)


def test_weights_that_are_computed_are_named_in_packed_layers():
    layer = torch.nn.utils.parametrizations.weight_norm(nn.LSTM(3, 4), "weight_hh_l0")
    rows = list(expand(layer, 2).report)
    assert rows
    assert all(row.note.startswith("parametrised") for row in rows)


class Telling(nn.Linear):
    """A layer that does something when its mode changes."""

    told = ()

    def train(self, mode=True):
        self.told = (*self.told, mode)
        return super().train(mode)


def test_modules_are_told_when_they_go_back_to_training():
    model = Telling(2, 2)
    with undisturbed(model):
        assert model.told[-1] is False
    assert model.told[-1] is True
    assert model.training


def test_a_module_that_is_used_twice_is_met_once():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.Sequential(shared, nn.Tanh()))
    assert walked(model) == list(model.named_modules())
    assert [path for path, _ in walked(model)] == ["", "0", "1", "1.1"]


def test_blocks_are_joined_in_the_form_they_have():
    block = lambda n: {"weight": Outer(torch.ones(n, 1, 3), torch.ones(n, 2, 1, 1, 4), lambda x: x[:, None], 3)}  # noqa: E731
    whole = _joined([block(2), block(3)], [2, 3])["weight"]
    assert isinstance(whole, Outer), "not written out"
    assert (len(whole.x), len(whole.d)) == (5, 5)
    missing = _joined([block(2), {}], [2, 3])["weight"]
    assert missing.dense().shape == (5, 2, 12)
    assert not missing.dense()[2:].any()


def test_positions_of_a_layer_that_is_called_twice_go_side_by_side():
    """Not written out, which would take more memory; where forms differ they are added up."""
    one, two = (derivatives.by_linear(draw(3, t, 4), "w", "")(draw(3, 2, t, 5))["w"] for t in (2, 3))
    side = derivatives.together([one, two])
    assert isinstance(side, Outer)
    close(side.dense(), one.dense() + two.dense())
    turned = derivatives.by_linear(draw(3, 2, 5), "w", "", turned=True)(draw(3, 2, 2, 4))["w"]
    added = derivatives.together([one, turned])
    assert not isinstance(added, Outer)
    close(added.dense(), one.dense() + turned.dense())
    rows = [derivatives.Lookup(torch.randint(7, (3, t)), draw(3, 2, t, 6), 7) for t in (2, 4)]
    both = derivatives.together(rows)
    assert isinstance(both, derivatives.Lookup)
    close(both.dense(), rows[0].dense() + rows[1].dense())


def test_sizes_of_a_model_are_those_of_its_places_seen_before_or_not():
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    x = draw(4, 3)
    for _ in range(2):
        found = Jacobian(model)
        assert found.sizes((x,)) == (2, 15, 8)
        found((x,))


@pytest.mark.parametrize(("n", "block"), [(9, 9), (10, 5), (18, 9), (19, 7)])
def test_blocks_of_a_processor_fit_its_cache(monkeypatch, n, block):
    """Ten outputs times the hundred numbers of the largest place, and one: nine examples in ten thousand."""
    monkeypatch.setattr(kernel, "_AT_ONCE", 10_000)
    assert kernel._block(jacobian.Sizes(10, 200, 100), n, 1e12, draw(1)) == block


def test_factors_are_multiplied_in_double_precision():
    layer = nn.Linear(40, 30)
    module = expand(layer, 3, preserve=False, generator=torch.Generator().manual_seed(0)).model
    first, middle, last = (W[0].detach().double() for W in module.factors())
    assert torch.equal(factored.plain(module).weight.detach(), (last @ (middle @ first)).float())


def test_a_layer_with_a_module_of_its_own_is_no_plain_layer():
    layer = nn.Linear(3, 2)
    assert sites(layer)[0].reason == ""
    layer.extra = nn.ReLU()
    assert sites(layer)[0].reason == "has parts of its own: a forward or modules of its own"
