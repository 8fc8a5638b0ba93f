"""The tangent kernel against the inner products of gradients, and against JAX."""

import copy
import gc
import operator
import warnings
import weakref
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.utils import parametrizations, weight_norm  # noqa: E402

from lineament.torch import expand, ntk, taps  # noqa: E402
from lineament.torch.backwards import Backwards  # noqa: E402
from lineament.torch.contract import Tile  # noqa: E402
from lineament.torch.derivatives import Lookup, Outer  # noqa: E402
from lineament.torch.jacobian import Jacobian  # noqa: E402
from lineament.torch.precision import full_precision  # noqa: E402


def naive(model, x, y=None):
    """`Σ_θ ∂f_i(x)/∂θ ∂f_j(y)/∂θ`, from the whole Jacobian, one gradient at a time."""
    parameters = [p for p in model.parameters() if p.requires_grad]

    def row(output):
        gradients = torch.autograd.grad(output, parameters, retain_graph=True, allow_unused=True)
        dense = [
            torch.zeros_like(p) if g is None else g.to_dense() for p, g in zip(parameters, gradients, strict=True)
        ]
        return torch.cat([g.flatten() for g in dense])

    def jacobian(x):
        parts = x if isinstance(x, tuple) else (x,)
        single = [model(*(part[k : k + 1] for part in parts)).flatten() for k in range(len(parts[0]))]
        return torch.stack([torch.stack([row(output) for output in outputs]) for outputs in single])

    J = jacobian(x)
    return torch.einsum("xip,yjp->xyij", J, J if y is None else jacobian(y))


def close(found, wanted, bar=1e-12):
    assert found.shape == wanted.shape
    assert (found - wanted).norm() <= bar * wanted.norm()


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture(autouse=True)
def nothing_slow():
    """Unless a test says otherwise, no parameter may need the slow way."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "ntk has no structured derivative")
        yield


def jax_ntk(f, parameters, x, y):
    jacobian = jax.jit(jax.jacrev(f))

    def flat(x):
        parts = map(np.asarray, jax.tree.leaves(jacobian(parameters, x)))
        return np.concatenate([J.reshape(*J.shape[:2], -1) for J in parts], axis=2)

    return np.einsum("xip,yjp->xyij", flat(x), flat(y))


def test_an_mlp_has_the_kernel_it_has_in_jax():
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.GELU(approximate="tanh"), nn.Linear(6, 3))
    model.double()
    x, y = draw(6, 5), draw(4, 5)
    parameters = [jnp.asarray(p.detach().numpy()) for p in model.parameters()]

    def f(p, x):
        x = jnp.tanh(x @ p[0].T + p[1][None, :])
        x = jax.nn.gelu(x @ p[2].T + p[3][None, :], approximate=True)
        return x @ p[4].T + p[5][None, :]

    wanted = jax_ntk(f, parameters, jnp.asarray(x.numpy()), jnp.asarray(y.numpy()))
    np.testing.assert_allclose(ntk(model, x, y), wanted, rtol=0, atol=1e-10)


def test_a_cnn_has_the_kernel_it_has_in_jax():
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, groups=2), nn.Softplus(), nn.Flatten(),
        nn.Linear(6 * 4, 3),
    ).double()  # fmt: skip
    x = draw(5, 2, 8, 8)
    parameters = [jnp.asarray(p.detach().numpy()) for p in model.parameters()]

    def conv(x, W, b, stride, pad, groups):
        out = jax.lax.conv_general_dilated(x, W, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups)
        return out + b[None, :, None, None]

    def f(p, x):
        x = jnp.maximum(conv(x, p[0], p[1], 2, 1, 1), 0.0)
        x = jax.nn.softplus(conv(x, p[2], p[3], 1, 0, 2))
        return x.reshape(x.shape[0], -1) @ p[4].T + p[5][None, :]

    images = jnp.asarray(x.numpy())
    np.testing.assert_allclose(ntk(model, x), jax_ntk(f, parameters, images, images), rtol=0, atol=1e-10)


@settings(max_examples=25)
@given(st.data())
def test_convolutions_of_every_kind(data):
    groups = data.draw(st.integers(1, 2))
    axes = data.draw(st.integers(1, 2))
    padding = data.draw(st.sampled_from(["same", "valid", 0, 1, 2]))
    conv = (nn.Conv1d, nn.Conv2d)[axes - 1](
        2 * groups, 3 * groups, data.draw(st.integers(1, 3)), padding=padding, groups=groups,
        stride=1 if padding == "same" else data.draw(st.integers(1, 2)), dilation=data.draw(st.integers(1, 2)),
        bias=data.draw(st.booleans()),
        padding_mode=data.draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"])),
    )  # fmt: skip
    model = nn.Sequential(conv, nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)).double()
    x = draw(3, 2 * groups, *(6,) * axes)
    model(x)
    with pytest.MonkeyPatch.context() as without:
        without.setattr("lineament.torch.jacobian.Jacobian._otherwise", None)
        found = ntk(model, x)
    close(found, naive(model, x))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_convolutions_of_each_channel_by_itself(data):
    """At few positions, where their derivatives are written out at once, and at many, along one axis to three."""
    axes, channels = data.draw(st.sampled_from([2, 2, 2, 1, 3])), data.draw(st.integers(1, 4))
    kernel, padding = data.draw(st.sampled_from([3, 2, 1])), data.draw(st.sampled_from([0, 1, 2, 3, "same", "valid"]))
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1]
    conv = kind(
        channels, channels, kernel, padding=padding, groups=channels, bias=data.draw(st.booleans()),
        stride=1 if padding == "same" else data.draw(st.sampled_from([1, 1, 2, 3])),
        dilation=data.draw(st.sampled_from([1, 1, 2])),
    )  # fmt: skip
    before = kind(channels, channels, 1)  # whose derivatives come through the convolution
    model = nn.Sequential(before, conv, nn.Hardtanh(-0.5, 0.5), nn.Flatten(), nn.LazyLinear(2)).double()
    size = data.draw(st.sampled_from([(5,), (20,)] if axes == 1 else [(5, 6)] if axes == 2 else [(4, 3, 4)]))
    x = draw(3, channels, *size)
    model(x)
    with pytest.MonkeyPatch.context() as without:
        without.setattr("lineament.torch.jacobian.Jacobian._otherwise", None)
        found, block = ntk(model, x), ntk(model, x[:2], x[1:])
    close(found, naive(model, x))
    close(block, found[:2, 1:])


class Tokens(nn.Module):
    """Integer inputs, a padding index, a linear layer over a sequence and one called twice."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4, padding_idx=0)
        self.place = nn.Embedding(5, 4)
        self.mix = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 3)

    def forward(self, tokens):
        x = self.table(tokens) + self.place(torch.arange(5).expand(len(tokens), 5))
        x = self.norm(torch.tanh(self.mix(torch.tanh(self.mix(x)))))
        return self.head(x.mean(1))


def normalised():
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, bias=False), nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4, affine=True), nn.Dropout(0.5), nn.Flatten(), nn.Linear(16, 6), nn.BatchNorm1d(6),
        nn.RMSNorm(6), nn.LayerNorm(6), nn.SiLU(), nn.Linear(6, 2),
    ).double()  # fmt: skip
    model(draw(8, 2, 6, 6))  # statistics of its own
    return model.eval()


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, a, b):
        return torch.tanh(self.left(a) * self.right(b)).sum(1)


def tied():
    """One weight looked up, then multiplied by; one bias and one normalisation used twice."""
    norm = nn.LayerNorm(4)
    model = nn.Sequential(
        nn.Embedding(6, 4), norm, nn.Linear(4, 4), nn.Tanh(), norm, nn.Linear(4, 4), nn.Linear(4, 6), nn.Flatten()
    )
    model[6].weight = model[0].weight
    model[5].bias = model[2].bias
    return model.double()


def frozen():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    model[0].weight.requires_grad_(False)
    model[2].bias.requires_grad_(False)
    return model


CASES = {
    "tokens": (lambda: Tokens().double(), lambda n: torch.randint(9, (n, 5))),
    "normalised": (normalised, lambda n: draw(n, 2, 6, 6)),
    "two inputs, one output": (lambda: Two().double(), lambda n: (draw(n, 3), draw(n, 2))),
    "tied": (tied, lambda n: torch.randint(6, (n, 2))),
    "frozen": (frozen, lambda n: draw(n, 3)),
    "expanded": (lambda: expand(nn.Conv1d(2, 3, 3).double(), 3).model, lambda n: draw(n, 2, 5)),
    "one weight": (lambda: nn.Linear(1, 1, bias=False).double(), lambda n: draw(n, 1)),
}


@pytest.mark.parametrize("memory", [1, 2**14, 2**17, 2**27])
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_output_in_blocks(case, memory):
    make, inputs = CASES[case]
    model, x, y = make(), inputs(5), inputs(3)
    for other in (None, y):
        wanted = naive(model, x, other)
        close(ntk(model, x, other, memory=memory), wanted)
        close(ntk(model, x, other, memory=memory, outputs="diagonal"), torch.einsum("xyii->xyi", wanted))
        close(ntk(model, x, other, memory=memory, outputs="mean"), torch.einsum("xyii->xy", wanted) / wanted.shape[-1])


@pytest.mark.parametrize("memory", [1, 20_000, 10**9])
def test_little_memory_changes_nothing(memory):
    model, x = normalised(), draw(7, 2, 6, 6)
    close(ntk(model, x, memory=memory), naive(model, x))


class Functional(nn.Module):
    """A weight that is used a second time behind its layer's back."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return functional.linear(torch.tanh(self.layer(x)), self.layer.weight)


class TimeFirst(nn.Module):
    """Linear layers that see examples along the second axis, of a square so that the lengths do not tell."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(3, 2), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return (torch.tanh(self.layer(x.transpose(0, 1))) * self.scale).sum(0)


class Recurrent(nn.Module):
    """A recurrent layer, its outputs at all times and its last states."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(3, 4, **options)
        self.first = 0 if options.get("batch_first") else 1

    def forward(self, x):
        out, states = self.layer(x if self.first == 0 else x.transpose(0, 1))
        states = states if isinstance(states, tuple) else (states,)
        ends = [state.transpose(0, 1).flatten(1) for state in states]
        return torch.cat([out.transpose(0, self.first).sin().sum(1), *ends], 1)[:, ::3]


class Cells(nn.Module):
    """A cell of each kind, called twice."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(3, 2), nn.GRUCell(2, 2, bias=False), nn.RNNCell(2, 2)

    def forward(self, x):
        h, c = self.lstm(x[:, 1], self.lstm(x[:, 0]))
        return self.rnn(self.gru(h, self.gru(c)), c)


class Scaled(nn.Module):
    """Parameters that enter by themselves: positions, a class token, a scale of channels, a part of a table."""

    def __init__(self):
        super().__init__()
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 4)), nn.Parameter(torch.randn(1, 9, 4))
        self.shift, self.gamma = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(4))
        self.mix, self.norm = nn.Linear(4, 4), Normed(4)

    def forward(self, x):
        x = torch.cat([self.token.expand(len(x), -1, -1), x + self.shift[:5]], 1) + self.places[:, :6]
        x = x + self.gamma * self.mix(self.norm(x))
        return (x * self.gamma.reshape(1, 1, -1)).mean(1)[:, :3]


class Normed(nn.LayerNorm):
    """As timm's: a subclass with a forward of its own."""

    def forward(self, x):
        return torch.tanh(functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps))


class Positions(nn.Module):
    """As BERT: one row of positions for all examples, and a projection of flattened tokens as in GPT-2."""

    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(9, 4), nn.Embedding(5, 4)
        self.weight, self.bias = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(3))

    def forward(self, tokens):
        x = self.table(tokens) + self.place(torch.arange(5)[None])
        return torch.tanh(torch.addmm(self.bias, x.view(-1, 4), self.weight).view(len(x), 5, 3)).sum(1)


OTHER = {
    "a second use": (Functional, lambda n: draw(n, 3)),
    "attention": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), nn.Flatten()).eval(),
        lambda n: draw(n, 2, 4),
    ),
    "by themselves": (Scaled, lambda n: draw(n, 5, 4)),
    "positions": (Positions, lambda n: torch.randint(9, (n, 5))),
    "time first": (TimeFirst, lambda n: draw(n, 5, 3)),
    **{
        f"recurrent {kind.__name__} {options}": (
            lambda kind=kind, o=options: Recurrent(kind, **o),
            lambda n: draw(n, 5, 3),
        )
        for kind, options in (
            (nn.LSTM, {"batch_first": True}),
            (nn.LSTM, {"num_layers": 2, "bidirectional": True, "bias": False}),
            (nn.GRU, {"bidirectional": True, "batch_first": True}),
            (nn.GRU, {"num_layers": 2}),
            (nn.RNN, {"num_layers": 2}),
            (nn.RNN, {"nonlinearity": "relu"}),
        )
    },
    "recurrent cells": (Cells, lambda n: draw(n, 2, 3)),
    "parametrised": (lambda: parametrizations.weight_norm(nn.Linear(3, 2)), lambda n: draw(n, 3)),
    "hooked": (lambda: nn.Sequential(weight_norm(nn.Linear(3, 2))), lambda n: draw(n, 3)),
    "attention of expand": (
        lambda: expand(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True).eval(), 2).model,
        lambda n: draw(n, 2, 4),
    ),
}
SLOW = {
    "projected states": (
        lambda: Recurrent(nn.LSTM, proj_size=2, batch_first=True),
        lambda n: draw(n, 5, 3),
        ["layer.weight_hr_l0 (LSTM)"],
    ),
    "slopes": (lambda: nn.Sequential(nn.Linear(3, 2), nn.PReLU()), lambda n: draw(n, 3), ["1.weight (PReLU)"]),
}


def built(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return make().double()


@pytest.mark.parametrize("memory", [1, 2**13, 2**30])
@pytest.mark.parametrize("case", OTHER)
def test_parameters_that_enter_by_other_ways(case, memory):
    make, inputs = OTHER[case]
    model, x, y = built(make), inputs(5), inputs(2)
    close(ntk(model, x, memory=memory), naive(model, x))
    close(ntk(model, x, y, memory=memory, outputs="mean"), torch.einsum("xyii->xy", naive(model, x, y)) / naive(
        model, x[:1]).shape[-1])  # fmt: skip


@pytest.mark.parametrize(
    "case", ["attention", "by themselves", "positions", *(case for case in OTHER if case.startswith("recurrent"))]
)
def test_nothing_of_these_needs_the_whole_jacobian(case, monkeypatch):
    """Attention, normalisations of a subclass, positions, scales, recurrent gates: all are found where they enter."""
    make, inputs = OTHER[case]
    monkeypatch.setattr("lineament.torch.jacobian.Jacobian._otherwise", None)
    model, x = built(make), inputs(4)
    close(ntk(model, x), naive(model, x))


@pytest.mark.parametrize("case", SLOW)
def test_what_has_no_structure_is_named_and_still_exact(case):
    make, inputs, named = SLOW[case]
    model, x = built(make), inputs(5)
    with pytest.warns(UserWarning, match="differentiating one example at a time") as caught:
        found = ntk(model, x, memory=2**16)
    message = " ".join(str(warning.message) for warning in caught)
    assert all(name in message for name in named)
    assert [warning.filename for warning in caught if "one example at a time" in str(warning.message)] == [__file__]
    close(found, naive(model, x))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2), st.sampled_from(["all", "diagonal", "mean"]))
def test_both_routes_are_the_same(positions, out, groups, outputs):
    """Pairs of positions and sums over positions, whatever the plan would choose."""
    torch.manual_seed(positions + 10 * out)
    x, d = draw(3, groups, positions, 2), draw(3, 2, groups, positions, out)
    y, e = draw(4, groups, positions, 2), draw(4, 2, groups, positions, out)
    p, q = Outer(x, d, lambda x: x, 2), Outer(y, e, lambda x: x, 2)
    found = []
    for route in ("_pairs", "_slices")[groups > 1 :]:  # pairs are for dense layers
        for memory in (1.0, 1e9):
            tile = Tile(3, 4, 2, outputs, x, False)
            getattr(tile, route)(p, q, memory)
            found.append(tile.result())
    J, K = p.dense(), q.dense()
    everything = torch.einsum("xip,yjp->xyij", J, K)
    wanted = {
        "all": everything, "diagonal": torch.einsum("xyii->xyi", everything), "mean": torch.einsum("xyii->xy", everything)
    }[outputs]  # fmt: skip
    for each in found:
        close(each, wanted)


def test_single_precision_keeps_its_digits_over_many_parameters():
    """A million products added up in single precision would lose three digits and more."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Unflatten(1, (8, 8, 8)), nn.Conv2d(8, 512, 8), nn.Flatten(),
                          nn.Linear(512, 1))  # fmt: skip
    x = torch.randn(4, 2)
    found = ntk(model, x)
    wanted = ntk(model.double(), x.double())
    close(found.double(), wanted, 1e-6)


def test_float32_stays_float32():
    model, x = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)), torch.randn(6, 1, 6, 6)
    found = ntk(model, x)
    assert found.dtype == torch.float32
    close(found.double(), naive(model.double(), x.double()), 1e-5)


def test_the_model_given_is_not_changed():
    model = normalised()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    ntk(model, draw(3, 2, 6, 6))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


class Random(nn.Linear):
    def forward(self, x):
        return super().forward(x) * torch.rand(())


class Noisy(nn.Linear):
    """Outputs of some size, part of which is drawn anew at every call."""

    def __init__(self, size, part):
        super().__init__(3, 2)
        self.size, self.part = size, part

    def forward(self, x):
        return self.size * super().forward(x) * (1 + self.part * torch.rand(()))


@pytest.mark.parametrize("part", [0.01, 1.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_random_outputs_are_refused_however_large_they_are(size, part):
    with pytest.raises(ValueError, match="the same output for the same input"):
        ntk(Noisy(size, part), torch.randn(4, 3))


@pytest.mark.parametrize("size", [1e-30, 1e-6, 1e6])
def test_a_kernel_grows_with_the_square_of_the_outputs(size):
    model, x = Noisy(1.0, 0.0).double(), draw(4, 3)
    plain = ntk(model, x)
    model.size = size
    close(ntk(model, x), size**2 * plain)


class Detached(nn.Linear):
    def forward(self, x):
        return super().forward(x).detach()


def test_wrong_arguments_are_named():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with pytest.raises(ValueError, match="outputs must be one of 'all', 'diagonal', 'mean'; got 'full'"):
        ntk(model, x, outputs="full")
    with pytest.raises(ValueError, match="memory must be a finite number above 0; got 0"):
        ntk(model, x, memory=0)
    with pytest.raises(ValueError, match=r"x must be a tensor with examples along its first axis.*got \(ndarray\)"):
        ntk(model, x.numpy())
    for odd, kind in ((x.numpy(), "ndarray"), (torch.tensor(1.0), "Tensor")):
        with pytest.raises(ValueError, match=rf"or a tuple of such; got \(Tensor, {kind}\)"):
            ntk(Two(), (x, odd))
    with pytest.raises(ValueError, match=r"y must hold equally many examples in every part, at least one; got \[0\]"):
        ntk(model, x, x[:0])
    with pytest.raises(
        ValueError, match=r"x must hold equally many examples in every part, at least one; got \[2, 4\]"
    ):
        ntk(Two(), (x, x[:2]))
    with pytest.raises(ValueError, match="model must have parameters that require a gradient"):
        ntk(nn.Linear(3, 2).requires_grad_(False), x)
    with pytest.raises(ValueError, match="outputs that depend on its parameters"):
        ntk(Detached(3, 2), x)
    with pytest.raises(ValueError, match=r"one row per example; for 2 example\(s\) it gave shape \(6,\)"):
        ntk(nn.Sequential(nn.Linear(3, 3), nn.Flatten(0)), x)
    with pytest.raises(ValueError, match="model must return a tensor, or an output that holds logits; got a tuple"):
        ntk(nn.LSTM(3, 2), x[:, None])
    with pytest.raises(ValueError, match="the same output for the same input"):
        ntk(Random(3, 2), x)
    with pytest.raises(ValueError, match=r"'' \(Embedding\) has max_norm, not supported"):
        ntk(nn.Embedding(3, 2, max_norm=1.0), torch.tensor([0, 1]))


@pytest.mark.filterwarnings("ignore")
def test_a_quantised_part_is_refused_rather_than_left_out():
    model = nn.Sequential(nn.Linear(3, 2), torch.ao.nn.quantized.dynamic.Linear(2, 2))
    with pytest.raises(ValueError, match=r"'1' \(Linear\) is quantised, not supported"):
        ntk(model, torch.randn(4, 3))


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (nn.Dropout(0.5), r"'1' \(Dropout\)"),
        (nn.BatchNorm1d(2), r"'1' \(BatchNorm1d\)"),
        (nn.BatchNorm1d(2, track_running_stats=False).eval(), r"'1' \(BatchNorm1d\)"),
    ],
)
def test_a_model_in_training_mode_is_refused(part, named):
    with pytest.raises(ValueError, match=rf"evaluation mode.*{named}.*call model\.eval\(\)"):
        ntk(nn.Sequential(nn.Linear(3, 2), part), torch.randn(4, 3))


def test_a_derivative_of_exactly_zero_is_no_mistake(monkeypatch):
    """Dead units: the first layer moves nothing, and must not be taken for one without a structured derivative."""
    monkeypatch.setattr("lineament.torch.jacobian.Jacobian._otherwise", None)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
    x = draw(3, 4)
    close(ntk(model, x), naive(model, x))


def test_nothing_is_rounded_on_the_way_and_the_settings_return():
    """What PyTorch is told of float32 is as before, also after an error."""
    cudnn = torch.backends.cudnn
    read = lambda: (torch.get_float32_matmul_precision(), cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision)  # noqa: E731
    before = read()
    torch.set_float32_matmul_precision("high")
    try:
        outside = read()
        with full_precision():
            assert read() == ("highest", "ieee", "ieee")
        assert read() == outside
        with pytest.raises(ZeroDivisionError), full_precision():
            raise ZeroDivisionError
        assert read() == outside
    finally:
        torch.set_float32_matmul_precision(before[0])


def test_older_versions_have_one_switch_for_convolutions_and_recurrent_layers(monkeypatch):
    """Before PyTorch 2.9, here by a stand-in."""
    for before in (True, False):
        cudnn = SimpleNamespace(allow_tf32=before)
        monkeypatch.setattr(torch.backends, "cudnn", cudnn)
        with full_precision():
            assert cudnn.allow_tf32 is False
        assert cudnn.allow_tf32 is before
        with pytest.raises(ZeroDivisionError), full_precision():
            raise ZeroDivisionError
        assert cudnn.allow_tf32 is before


def test_recurrent_layers_can_be_differentiated():
    """cuDNN, whose recurrent layers have no derivative in evaluation mode, is off for them, and only for them."""
    seen = []

    class Watched(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.scale = inner, nn.Parameter(torch.ones(3))

        def forward(self, x):
            seen.append(torch.backends.cudnn.enabled)
            out = self.inner(x)
            return (out[0][:, -1] if isinstance(out, tuple) else out[:, -1]) * self.scale

    ntk(Watched(nn.LSTM(2, 3, batch_first=True)).eval(), torch.randn(2, 4, 2))
    assert not any(seen)
    seen.clear()
    ntk(Watched(nn.Linear(2, 3)), torch.randn(2, 4, 2))
    assert all(seen)
    assert torch.backends.cudnn.enabled


def without_help(model, x):
    """The kernel, and whether autograd confirmed all derivatives that were taken at the layers."""
    jacobian = Jacobian(model)
    jacobian((x,))
    assert jacobian.unknown == set()
    return ntk(model, x)


class Clipped(nn.Module):
    """Functions that are computed in another form, or in place, behind layers."""

    def __init__(self, place):
        super().__init__()
        self.place, self.act = place, nn.ReLU6(inplace=place)
        self.first, self.plain = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, affine=False)
        self.normal, self.last = nn.BatchNorm2d(3), nn.Linear(48, 2)
        with torch.no_grad():
            for norm in (self.plain, self.normal):
                norm.running_mean.uniform_(-1, 1)
                norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.act(self.normal(self.plain(self.first(x))))
        x = self.last(x.flatten(1))
        return functional.hardtanh_(x, -0.2, 0.3) if self.place else functional.hardtanh(x, -0.2, 0.3)


@pytest.mark.parametrize("place", [False, True])
def test_normalised_clipped_and_in_place(place):
    torch.manual_seed(0)
    model = Clipped(place).double().eval()
    x = 3 * draw(4, 2, 6, 6)
    assert (model(x) == 0.3).any()
    close(without_help(model, x), naive(model, x))


def test_there_is_no_slope_at_a_kink():
    """PyTorch's derivative of ReLU6 is zero at 0 and at 6."""
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU6()).double()
    nn.init.ones_(model[0].weight)
    x = torch.tensor([[0.0], [6.0], [2.0]], dtype=torch.float64)
    close(without_help(model, x)[..., 0, 0], torch.diag(torch.tensor([0.0, 0.0, 4.0], dtype=torch.float64)))


class InPlace(nn.Module):
    """No module tells that its output is changed."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x)
        x[:, 1:].mul_(2).tanh_()
        return self.last(x)


def test_a_place_that_is_changed_later_is_found():
    torch.manual_seed(0)
    model, x = InPlace().double(), draw(5, 3)
    close(without_help(model, x), naive(model, x))


class Last(nn.Module):
    """What a recurrent network says at the end."""

    def __init__(self, cells):
        super().__init__()
        self.cells = cells

    def forward(self, x):
        return self.cells(x)[0][:, -1]


@pytest.mark.parametrize("frozen", [None, "weight_ih_l0", "weight_hh_l0", "_ih_l0", "_hh_l0", "weight", "bias"])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_need_no_help(kind, frozen):
    """Whatever trains of them: also where inputs and what they are multiplied by are constants."""
    torch.manual_seed(0)
    model = Last(kind(2, 3, 2, batch_first=True, bidirectional=True)).double()
    for name, parameter in model.cells.named_parameters():
        parameter.requires_grad_(frozen is None or frozen not in name)
    x = draw(3, 4, 2)
    close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize("frozen", ["lstm", "gru", "rnn", "_ih", "_hh", "weight", "bias"])
def test_recurrent_cells_need_no_help(frozen):
    model, x = Cells().double(), draw(3, 2, 3)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(frozen not in name)
    close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize("n", [3, 17])
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (1, {}),
        (1, {"stride": 2}),
        (1, {"groups": 2}),
        (3, {"padding": 1, "stride": 2}),
        (3, {"padding": (1, 0), "stride": (1, 2), "dilation": 2}),
        (3, {"padding": 1, "groups": 4}),
        ((5, 2), {"padding": 2, "groups": 2, "stride": 3}),
    ],
)
def test_pictures_are_differentiated_for_all_outputs_at_once(n, kernel, options):
    """Few and many examples, by products of matrices and by convolutions; what lies before must be right too."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Conv2d(4, 8, kernel, **options), nn.Tanh(), nn.Flatten())
    model = model.append(nn.LazyLinear(2)).double()
    x = draw(n, 2, 11, 10)
    model(x)
    close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize(
    "activation",
    [nn.SiLU(), nn.SiLU(True), nn.GELU(), nn.GELU("tanh"), nn.Hardswish(True), nn.Mish(), nn.ELU(1.0, True)],
    ids=str,
)
def test_slopes_are_taken_once_for_all_outputs(activation):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), activation, nn.BatchNorm1d(5), activation, nn.Linear(5, 4)).double().eval()
    x = 3 * draw(4, 3)
    close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
@pytest.mark.parametrize("memory", [1.0, 3000.0, 1e9])
@pytest.mark.parametrize("positions", [1, 3])
def test_a_block_with_itself_takes_half_of_the_pairs(outputs, memory, positions):
    torch.manual_seed(0)
    d = draw(5, 2, 1, positions, 3)
    for part, route in (
        (Outer(draw(5, 1, positions, 2), d, lambda x: x, 2), "_pairs"),
        (Lookup(torch.randint(9, (5, positions)), d[:, :, 0], 1000), "_lookups"),
    ):
        tile = Tile(5, 5, 2, outputs, d, True)
        getattr(tile, route)(part, part, memory)
        wanted = torch.einsum("xip,yjp->xyij", part.dense(), part.dense())
        diagonal = torch.einsum("xyii->xyi", wanted)
        close(tile.result(), {"all": wanted, "diagonal": diagonal, "mean": diagonal.sum(2)}[outputs])


def test_many_outputs_take_several_passes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.LayerNorm(9), nn.Linear(9, 37)).double()
    x = draw(3, 2, 4)
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


class Branches(nn.Module):
    """Places that are written out early and lie on no way to another, and one that no output sees."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(2, 4, 1), nn.Conv2d(2, 4, 3, padding=1, groups=2)
        self.unseen, self.normal = nn.Conv2d(2, 4, 1), nn.BatchNorm2d(4)

    def forward(self, x):
        self.unseen(x)
        return (torch.tanh(self.left(x)) * self.normal(self.right(x))).sum((2, 3))


def with_statistics(model):
    """The model with statistics and scales that are not those it starts with."""
    with torch.no_grad():
        for norm in model.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.running_mean.uniform_(-1, 1)
                norm.running_var.uniform_(0.5, 2)
                norm.weight.uniform_(-1, 1)
                norm.bias.uniform_(-1, 1)
    return model.double().eval()


@pytest.mark.parametrize("side", [3, 9])
@pytest.mark.parametrize(
    ("kernel", "options"),
    [(1, {}), (1, {"bias": False}), (3, {"padding": 1, "groups": 4}), (3, {"stride": 2, "groups": 2, "bias": False})],
)
def test_a_convolution_and_its_normalisation_share_a_place(side, kernel, options):
    """With few positions and with many, by an activation in place; a channel whose scale is zero has a slope too."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 1), nn.BatchNorm2d(4), nn.ReLU6(inplace=True), nn.Conv2d(4, 8, kernel, **options),
        nn.BatchNorm2d(8), nn.SiLU(inplace=True), nn.Flatten(), nn.LazyLinear(3),
    )  # fmt: skip
    x = draw(4, 2, side, side)
    model(x.float())
    model = with_statistics(model)
    with torch.no_grad():
        model[4].weight[0] = 0.0
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


class Watched(nn.Module):
    """What a convolution gives is normalised, and seen by another layer as well."""

    def __init__(self, first, groups):
        super().__init__()
        self.before = nn.Identity() if first else nn.Conv2d(4, 4, 1)
        self.conv, self.normal = nn.Conv2d(4, 4, 3, groups=groups), nn.BatchNorm2d(4)
        self.other = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        z = self.conv(torch.tanh(self.before(x)))
        return (torch.tanh(self.normal(z)) * self.other(z)).sum((2, 3))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("groups", [1, 4])
def test_what_is_normalised_may_be_seen_by_others(first, groups):
    torch.manual_seed(0)
    model, x = with_statistics(Watched(first, groups)), draw(3, 4, 5, 5)
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("affine", [False, True])
def test_layers_are_normalised_for_all_outputs_at_once(axes, affine):
    torch.manual_seed(0)
    norm = nn.LayerNorm((3, 5)[-axes:], elementwise_affine=affine)
    model = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), norm, nn.Flatten(), nn.Linear(15, 4)).double()
    x = 3 * draw(4, 3, 5)
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


@pytest.mark.parametrize("wrong", ["by_written", "by_linear", "affine"])
def test_a_wrong_formula_is_not_believed(wrong, monkeypatch):
    """Derivatives that are one per mille too large are noticed by the check, and autograd's taken."""
    torch.manual_seed(0)
    right = getattr(taps, wrong)

    def slightly(*given):
        return lambda d: right(*given)(d * 1.001)

    monkeypatch.setattr(taps, wrong, slightly)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 6), nn.LayerNorm(6),
        nn.Linear(6, 2),
    )  # fmt: skip
    model, x = with_statistics(model), draw(4, 2, 5, 5)
    jacobian = Jacobian(model)
    jacobian((x,))
    assert jacobian.unknown
    close(ntk(model, x), naive(model, x))


def test_places_side_by_side_are_all_reached():
    torch.manual_seed(0)
    model, x = Branches().double().eval(), draw(4, 2, 5, 5)
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


class Alone(torch.autograd.Function):
    """A function whose derivative cannot be batched: it looks at the numbers."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, slope):
        return slope * (2 if float(slope.abs().max()) >= 0 else 0)


class Unbatched(nn.Linear):
    def forward(self, x):
        return Alone.apply(torch.tanh(super().forward(x))).cumsum(1)


def test_what_cannot_be_batched_takes_a_pass_for_each_output():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 3), Unbatched(3, 4)).double(), draw(5, 3)
    for _ in range(2):
        close(without_help(model, x), naive(model, x))


ONE_WAY = {
    "dense": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2)), (4, 3)),
    "a convolution, normalised": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 2)),
        (3, 2, 4, 4),
    ),
    "channels alone, normalised": (
        lambda: nn.Sequential(nn.Conv2d(2, 2, 2, groups=2), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 3, 1),
                              nn.BatchNorm2d(3), nn.Flatten()),
        (3, 2, 4, 4),
    ),
    "early alone": (lambda: nn.Sequential(nn.BatchNorm2d(2), nn.Conv2d(2, 3, 2), nn.Flatten()), (3, 2, 4, 4)),
    "recurrent": (lambda: Last(nn.GRU(3, 4, 2, batch_first=True)), (3, 4, 3)),
    "attention": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), nn.Flatten()), (3, 2, 4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_WAY)
def test_one_pass_reaches_every_place_where_all_lie_on_one_way(case):
    """Behind the first of them, whichever of them are written out on the way, or stood for by others."""
    make, shape = ONE_WAY[case]
    torch.manual_seed(0)
    model, x = with_statistics(make()), draw(*shape)
    for _ in range(2):
        jacobian = Jacobian(model)
        jacobian((x,))
        assert jacobian.at_once
        assert jacobian.unknown == frozenset()


def test_memory_of_a_pass_is_given_up_where_one_reaches_every_place(monkeypatch):
    """Of the first block what the forward pass left is held, as a second pass may need it; of the next no longer."""
    given_up, begin = [], Backwards.__init__
    monkeypatch.setattr(
        Backwards,
        "__init__",
        lambda self, *given, free, **named: (given_up.append(free), begin(self, *given, free=free, **named))[1],
    )
    plain = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 4)).double()
    unbatched = nn.Sequential(nn.Linear(3, 3), Unbatched(3, 4)).double()
    for model, x, at_once in (
        (plain, draw(5, 3), True),
        (unbatched, draw(5, 3), False),
        (Branches().double().eval(), draw(4, 2, 5, 5), False),
    ):
        for passes in ([False, at_once], [at_once]):  # a model that was seen before is known from the first block on
            given_up.clear()
            jacobian = Jacobian(model)
            for _ in passes:
                jacobian((x,))
            assert jacobian.at_once is at_once
            assert given_up == passes


class Folded(nn.Module):
    """Layers that see several rows of each example, folded into the axis of examples."""

    def __init__(self):
        super().__init__()
        self.table, self.convolution, self.norm = nn.Embedding(9, 4), nn.Conv1d(4, 3, 2), nn.BatchNorm1d(3).eval()
        self.layer = nn.Linear(3, 2)

    def forward(self, tokens):
        x = self.table(tokens.flatten(0, 1)).transpose(1, 2)
        x = self.layer(torch.tanh(self.norm(self.convolution(x))).sum(2))
        return torch.tanh(x).unflatten(0, (len(tokens), -1)).sum(1)


class Aside(nn.Module):
    """Parts that are no layer of every example: one without a gradient, one of a vector, one of a stack of weights."""

    def __init__(self):
        super().__init__()
        self.main, self.still = nn.Linear(3, 3), nn.Linear(3, 3)
        self.vector, self.stack = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(2, 3, 3))

    def forward(self, x):
        with torch.no_grad():
            still = self.still(x)
        one = functional.linear(x, self.vector)[:, None] * (x @ self.vector)[:, None]
        several = (x[:, None, None] @ self.stack).sum((1, 2))
        return torch.tanh(self.main(x) + still + one) * several


class FrozenTable(nn.Module):
    """A table that does not train, beside one that does."""

    def __init__(self):
        super().__init__()
        self.table, self.place, self.layer = nn.Embedding(9, 3), nn.Embedding(5, 3), nn.Linear(3, 2)
        self.table.requires_grad_(False)

    def forward(self, tokens):
        return self.layer(torch.tanh(self.table(tokens) + self.place(torch.arange(5)[None]))).sum(1)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (Folded, lambda: torch.randint(9, (4, 3, 5))),
        (Aside, lambda: draw(4, 3)),
        (FrozenTable, lambda: torch.randint(9, (4, 5))),
        (lambda: nn.Sequential(FrozenTable(), nn.Linear(2, 1, bias=False)), lambda: torch.randint(9, (1, 5))),
    ],
    ids=["folded", "aside", "a frozen table", "one output of one example"],
)
def test_what_is_no_plain_layer_of_every_example_is_still_exact(make, inputs):
    torch.manual_seed(0)
    model, x = make().double(), inputs()
    for _ in range(2):
        close(ntk(model, x), naive(model, x))


class Joined(nn.Module):
    """A parameter that a function of two joins with what comes from a layer, as the first or as the second."""

    def __init__(self, function, first, shape, **options):
        super().__init__()
        self.function, self.first, self.options = function, first, options
        self.layer, self.parameter = nn.Linear(3, 4), nn.Parameter(torch.rand(shape) + 1)

    def forward(self, x):
        z = torch.tanh(self.layer(x))
        pair = (self.parameter, z) if self.first else (z, self.parameter)
        return torch.tanh(self.function(*pair, **self.options)).sum(1)


JOINING = [
    (torch.add, {}), (torch.add, {"alpha": 3}), (torch.Tensor.add, {"alpha": -2}), (operator.add, {}),
    (torch.mul, {}), (torch.Tensor.mul, {}), (operator.mul, {}), (torch.Tensor.sub, {}), (operator.sub, {}),
    (torch.Tensor.sub, {"alpha": 3}),
]  # fmt: skip


@pytest.mark.parametrize("shape", [(4,), (5, 1), (1, 5, 4), ()])
@pytest.mark.parametrize("first", [False, True])
def test_parameters_are_joined_in_their_order(first, shape):
    """Where the function is no difference the order makes none."""
    x = draw(3, 5, 3)
    for function, options in JOINING:
        model = Joined(function, first, shape, **options).double()
        close(without_help(model, x), naive(model, x))


class Plain(nn.Module):
    """Functions that are given what they need and nothing else, of numbers so small that ε matters."""

    def __init__(self):
        super().__init__()
        self.table, self.line = nn.Parameter(torch.randn(9, 4)), nn.Parameter(torch.randn(4, 4, 2))
        self.picture, self.body = nn.Parameter(torch.randn(2, 1, 2, 2)), nn.Parameter(torch.randn(1, 2, 1, 1, 2))
        self.gain, self.shift = nn.Parameter(torch.randn(2)), nn.Parameter(torch.randn(2))
        self.last = nn.Parameter(torch.randn(2, 4))
        self.register_buffer("mean", torch.randn(2))
        self.register_buffer("variance", 1e-6 * torch.rand(2))

    def forward(self, tokens):
        x = functional.conv1d(functional.embedding(tokens, self.table).transpose(1, 2), self.line)
        x = functional.conv2d(functional.hardtanh(x)[:, None], self.picture)
        x = functional.batch_norm(1e-3 * functional.gelu(x), self.mean, self.variance, self.gain, self.shift)
        x = functional.conv3d(functional.relu6(functional.silu(x))[:, :, None], self.body).flatten(1)
        x = functional.layer_norm(1e-3 * functional.linear(x[:, :4], self.last), (2,), self.gain, self.shift)
        x = functional.group_norm(x[:, :, None] * 1e-3, 1, self.gain)[:, :, 0]
        return functional.rms_norm(functional.elu(functional.leaky_relu(functional.relu(x))), (2,), self.shift)


def test_functions_have_the_defaults_that_pytorch_gives_them():
    model, tokens = Plain().double(), torch.randint(9, (4, 6))
    close(without_help(model, tokens), naive(model, tokens), 1e-10)


class Made(nn.Module):
    """Weights that are made of parameters, by functions that have a rule for parameters themselves."""

    def __init__(self):
        super().__init__()
        self.table, self.kernel = nn.Parameter(torch.randn(9, 4)), nn.Parameter(torch.randn(3, 4, 2))
        self.shift, self.gamma = nn.Parameter(torch.randn(3)), nn.Parameter(torch.rand(3) + 1)
        self.mix, self.last = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3, 2))
        self.register_buffer("mean", torch.randn(3))
        self.register_buffer("variance", torch.rand(3) + 1)

    def forward(self, tokens):
        x = functional.embedding(tokens, self.table.tanh()).transpose(1, 2)
        x = functional.conv1d(x, self.kernel.sin(), self.shift)
        x = functional.batch_norm(x, self.mean, self.variance, self.gamma.exp() / 4, self.shift)
        x = functional.layer_norm(torch.tanh(x).sum(2), (3,), self.gamma**2, self.shift)
        x = functional.rms_norm(x @ self.mix.sinh(), (3,), self.gamma.sqrt())
        x = torch.addmm(self.shift, x, self.mix, beta=2, alpha=0.5)
        return torch.addmm(self.shift[:2], torch.tanh(x), self.last.cos())


class Packed(nn.Module):
    """A batch that is packed before a recurrent layer sees it."""

    def __init__(self, kind, layers):
        super().__init__()
        self.layer = kind(3, 2, layers, batch_first=True)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, [x.shape[1]] * len(x), batch_first=True)
        states = self.layer(packed)[1]
        return (states[0] if isinstance(states, tuple) else states)[-1]


class ByName(nn.GRU):
    """A recurrent layer whose function is given everything by name."""

    def forward(self, x):
        zeros = x.new_zeros(1, len(x), self.hidden_size)
        return torch.gru(
            x, zeros, params=[getattr(self, name) for name in self._flat_weights_names], has_biases=True, num_layers=1,
            dropout=0.0, train=False, bidirectional=False, batch_first=True,
        )[1][0]  # fmt: skip


class Listed(nn.Module):
    """Parameters that a plain list holds as well, and functions that no place is noted at."""

    def __init__(self, part, size):
        super().__init__()
        self.layer, self.part, self.size = nn.Linear(3, 2), part, size
        self.parts = [self.layer.weight, self.layer.bias]

    def forward(self, x):
        W, b = self.parts
        once = torch.einsum("bi,oi->bo", x, W.exp()) + b.exp()
        return self.size * (once + self.part * torch.einsum("bi,oi->bo", x, self.layer.weight.sin()))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("part", [0.0, 1.0])
def test_what_torch_func_does_not_reach_is_differentiated_one_by_one(part, size):
    """Neither where it finds no derivative nor where it finds part of one is it believed."""
    model, x = Listed(part, size).double(), draw(4, 3)
    with pytest.warns(UserWarning, match="torch.func cannot differentiate the model .it does not reach layer.weight"):
        close(ntk(model, x), naive(model, x))


class Unmoved(nn.Module):
    """A derivative that vanishes but for rounding, of a parameter that no place is noted at."""

    def __init__(self, size):
        super().__init__()
        self.layer, self.shift, self.size = nn.Linear(3, 4), nn.Parameter(torch.randn(1)), size

    def forward(self, x):
        return self.size * functional.layer_norm(torch.tanh(self.layer(x)) + 3 * self.shift.exp(), (4,))


@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 1e9])
def test_a_derivative_that_vanishes_but_for_rounding_is_taken_as_it_is(size):
    model, x = Unmoved(size).double(), draw(4, 3)
    close(ntk(model, x), naive(model, x))


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (Made, lambda: torch.randint(9, (4, 5))),
        (lambda: Packed(nn.LSTM, 1), lambda: draw(4, 3, 3)),
        (lambda: Packed(nn.GRU, 4), lambda: draw(4, 3, 3)),
        (lambda: ByName(3, 2), lambda: draw(4, 3, 3)),
    ],
    ids=["made", "packed", "four layers, packed", "by name"],
)
def test_what_has_no_rule_is_differentiated_otherwise(make, inputs):
    torch.manual_seed(0)
    model, x = make().double(), inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one example at a time, where torch.func cannot
        for _ in range(2):
            close(ntk(model, x), naive(model, x), 1e-10)


class Sometimes(nn.Module):
    """A layer that only inputs above zero see."""

    def __init__(self):
        super().__init__()
        self.layer, self.extra = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        out = torch.tanh(self.layer(x))
        return out + self.extra(x) if (x > 0).all() else out


@pytest.mark.parametrize("memory", [1, 2000, 2**28])
def test_a_layer_that_some_blocks_do_not_see(memory, monkeypatch):
    monkeypatch.setattr("lineament.torch.kernel._EXAMPLES", 2)
    model, x = Sometimes().double(), -draw(7, 3).abs()
    x[2:4] *= -1
    close(ntk(model, x, memory=memory), naive(model, x))


class Detour(nn.Module):
    """Inputs above zero see a way of their own, which is not behind the first place."""

    def __init__(self):
        super().__init__()
        self.first, self.normal = nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2)

    def forward(self, x):
        out = torch.tanh(self.first(x[:, None])).sum(2)
        return out * self.normal(x[:, :2]) if (x > 0).all() else out


def test_a_block_that_needs_a_second_pass(monkeypatch):
    monkeypatch.setattr("lineament.torch.kernel._EXAMPLES", 2)
    torch.manual_seed(0)
    model, x = Detour().double().eval(), -draw(6, 3).abs()
    x[2:4] *= -1
    for _ in range(2):
        close(ntk(model, x), naive(model, x))


class Switched(nn.Module):
    """A second use of a weight, by a function that no place is noted at, may be switched on."""

    def __init__(self):
        super().__init__()
        self.layer, self.twice = nn.Linear(3, 2), False

    def forward(self, x):
        out = torch.tanh(self.layer(x))
        return out + x @ self.layer.weight.T.exp() if self.twice else out


def test_a_model_is_checked_once_and_again_when_it_runs_other_functions(monkeypatch):
    torch.manual_seed(0)
    model, x = Switched().double(), draw(4, 3)
    checked, check = [], Jacobian._unconfirmed
    monkeypatch.setattr(Jacobian, "_unconfirmed", lambda *given: (checked.append(1), check(*given))[1])
    close(ntk(model, x), naive(model, x))
    assert len(checked) == 1
    with torch.no_grad():  # other weights, other inputs, another number of them
        model.layer.weight.mul_(2)
    for other in (draw(6, 3) - 9, x):
        close(ntk(model, other), naive(model, other))
    assert len(checked) == 1
    model.twice = True
    close(ntk(model, x), naive(model, x))
    assert len(checked) == 2
    model.layer.bias.requires_grad_(False)
    close(ntk(model, x), naive(model, x))
    assert len(checked) == 3
    for _ in range(2):  # a way to call the model may stand for anything
        close(ntk(model, x, forward=lambda model, x: model(x)), naive(model, x))
    assert len(checked) == 5


def test_what_was_found_out_of_a_model_does_not_keep_it():
    model = nn.Linear(3, 2)
    ntk(model, torch.randn(4, 3))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_inputs_that_are_not_finite_are_named(bad):
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with pytest.raises(ValueError, match="x must be finite; some of its numbers are not"):
        ntk(model, bad * x)
    with pytest.raises(ValueError, match="y must be finite; some of its numbers are not"):
        ntk(model, x, bad * x)


class Mixing(nn.Module):
    """A dense layer, and a function of all its outputs."""

    def __init__(self, mix):
        super().__init__()
        self.layer, self.mix = nn.Linear(3, 2).double(), mix

    def forward(self, x):
        return self.mix(self.layer(x))


MIXING = {
    "softmax": lambda z: z.softmax(0),
    "centred": lambda z: z - z.mean(0),
    "normalised": lambda z: functional.batch_norm(z[:, :, None].repeat(1, 1, 3), None, None, training=True)[..., 0],
    "neighbour": lambda z: z + 0.1 * z.roll(1, 0),
    "out of sight": lambda z: z / z.detach().abs().mean(),
    "attention": lambda z: functional.scaled_dot_product_attention(z[None], z[None], z[None])[0],
}


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("mix", MIXING)
def test_models_whose_examples_see_each_other_are_refused(mix, n):
    model = Mixing(MIXING[mix])
    x = draw(n, 3)
    for forward in (None, lambda model, x: model(x)):
        with pytest.raises(ValueError, match="whatever others are beside it; this one mixes examples"):
            ntk(model, x, forward=forward)
    with pytest.raises(ValueError, match="this one mixes examples"):
        ntk(model, x, memory=1)  # one example at a time
    with pytest.raises(ValueError, match="this one mixes examples"):
        ntk(model, x[:1], draw(4, 3))


def test_models_that_mix_pairs_of_examples_are_refused():
    model = Mixing(lambda z: z.unflatten(0, (-1, 2)).flip(1).flatten(0, 1) + z)
    with pytest.raises(ValueError, match="must take its examples in any number; given 1 it raised"):
        ntk(model, draw(6, 3))


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_outputs_that_are_not_finite_are_not_taken_for_random_ones(value):
    with pytest.raises(ValueError, match="model must give finite outputs"):
        ntk(Mixing(lambda z: z + value), draw(3, 3))
    one = torch.tensor([0.0, value], dtype=torch.float64)  # of two outputs
    with pytest.raises(ValueError, match="model must give finite outputs"):
        ntk(Mixing(lambda z: z + one), draw(3, 3))


def test_a_single_example_and_inputs_of_another_length_have_their_kernel():
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh()).double()
    x, y = draw(1, 3), draw(2, 3)
    close(ntk(model, x, y), naive(model, x, y))
    tokens = nn.Sequential(nn.Conv1d(1, 2, 2), nn.Tanh(), nn.AdaptiveAvgPool1d(1), nn.Flatten()).double()
    x, y = draw(1, 1, 5), draw(2, 1, 7)
    close(ntk(tokens, x, y), naive(tokens, x, y))


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_hooks_on_gradients_of_modules_have_no_part_in_a_kernel(register):
    model, x, seen = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), draw(4, 3), []
    wanted = naive(model, x)
    getattr(model[1], register)(lambda module, *given: seen.append(1) or (0 * given[0][0],))
    close(ntk(model, x), wanted)
    assert not seen
    model(x).sum().backward()
    assert seen
    assert not model[0].weight.grad.any()


def test_inference_mode_makes_no_difference():
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh()).double()
    with torch.inference_mode():
        x = draw(4, 3)
        found = ntk(model, x), ntk(model, x[:1], x)
    wanted = naive(model, x.clone())
    close(found[0], wanted)
    close(found[1], wanted[:1])


class Asking(nn.Module):
    """What `torch.func` cannot differentiate, with a parameter that no place gives."""

    def __init__(self):
        super().__init__()
        self.scale, self.layer = nn.Parameter(draw(3)), nn.Linear(3, 2).double()

    def forward(self, x):
        return self.layer(x * self.scale.tanh()) + 0 * x.sum().item()


@pytest.mark.parametrize("make", [Asking, lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()])
def test_hooks_on_gradients_of_parameters_have_no_part_in_a_kernel(make):
    model, x, seen = make(), draw(4, 3), []
    wanted = naive(model, x)
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: seen.append(1) or 0 * gradient)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(ntk(model, x), wanted)
    assert not seen
    model(x).sum().backward()
    assert len(seen) == len(list(model.parameters()))
    assert not any(parameter.grad.any() for parameter in model.parameters())


class Mixed(nn.Module):
    """Layers with numbers of two types."""

    def __init__(self, first, second):
        super().__init__()
        self.types = first, second
        self.conv, self.norm = nn.Conv2d(2, 3, 3).to(first), nn.BatchNorm2d(3).to(second)
        self.scale, self.table = nn.Parameter(draw(1, 3, 1, 1).to(first)), nn.Embedding(5, 6).to(first)
        self.each, self.out = nn.Conv2d(3, 3, 3, groups=3).to(second), nn.Linear(6, 2).to(second)

    def forward(self, x, index):
        first, second = self.types
        z = self.norm((self.conv(x.to(first)) * self.scale).to(second))
        return self.out(self.each(z).flatten(1)[:, :6] + self.table(index).to(second))


TYPES = [(torch.bfloat16, torch.float32), (torch.float32, torch.bfloat16), (torch.float32, torch.float64)]


@pytest.mark.parametrize(("first", "second"), [*TYPES, (torch.float64, torch.float32)])
def test_layers_of_several_types_have_a_kernel_of_the_widest(first, second):
    model, wide = Mixed(first, second).eval(), Mixed(torch.float64, torch.float64).eval()
    wide.load_state_dict(model.state_dict())
    x, index = draw(4, 2, 6, 6), torch.tensor([0, 3, 1, 3])
    found = ntk(model, (x, index))
    assert found.dtype == torch.promote_types(first, second)
    bar = 3e-2 if torch.bfloat16 in (first, second) else 1e-5
    close(found.double(), naive(wide, (x, index)), bar)


def test_a_model_that_computes_in_half_precision_by_itself_has_its_kernel():
    class Half(nn.Sequential):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return super().forward(x).float()

    model, x = Half(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), draw(5, 3).float()
    close(ntk(model, x), naive(model, x), 2e-2)


def test_a_model_that_works_in_place_on_its_inputs_leaves_them_as_they_are(in_place):
    x, y = draw(4, 3), draw(2, 3)
    before = x.clone()
    close(ntk(in_place(True), x, y), naive(in_place(False), x, y))
    close(ntk(in_place(True), x, forward=lambda model, x: model(x)), naive(in_place(False), x))
    assert torch.equal(x, before)


class Beside(nn.Module):
    """A dense layer, and beside it a parameter that no place explains, in what may vanish."""

    def __init__(self, tied=False):
        super().__init__()
        self.layer, self.alpha = nn.Linear(4, 3).double(), nn.Parameter(torch.zeros(1).double())
        self.W = self.layer.weight if tied else nn.Parameter(draw(3, 4))

    def forward(self, x):
        return self.layer(x) + self.alpha * torch.relu(torch.einsum("bi,oi->bo", x, self.W))


@pytest.mark.parametrize("tied", [False, True])
def test_what_vanishes_when_a_model_is_first_seen_is_not_taken_to_vanish_ever(tied):
    model, x = Beside(tied), draw(5, 4)
    close(ntk(model, x), naive(model, x))
    with torch.no_grad():
        model.alpha.fill_(1.5)
    close(ntk(model, x), naive(model, x))


@pytest.mark.parametrize("tied", [False, True])
def test_what_vanishes_for_the_first_examples_is_not_taken_to_vanish_for_all(tied):
    model, x = Beside(tied), draw(9, 4)
    with torch.no_grad():
        model.alpha.fill_(1.5)
    x[:4] = 0
    close(ntk(model, x), naive(model, x))
    close(ntk(model, x, memory=1), naive(model, x))


class Branching(Beside):
    """Examples that are alone, or longer, take another way."""

    def forward(self, x):
        weight = torch.einsum("oi->oi", self.W) if x.shape[1] > 4 else self.layer.weight
        return functional.linear(x[:, :4], weight) + self.layer(x[:, -4:])


def test_inputs_that_take_another_way_are_checked_anew():
    model = Branching(tied=True)
    x, y = draw(3, 4), draw(5, 6)
    found = ntk(model, x, y)
    one, other = (naive_jacobian(model, part) for part in (x, y))
    close(found, torch.einsum("xip,yjp->xyij", one, other))
    close(ntk(model, y, x), found.permute(1, 0, 3, 2))


def naive_jacobian(model, x):
    """The derivatives of a model by all its parameters, one output at a time."""
    parameters = list(model.parameters())
    rows = []
    for k in range(len(x)):
        for output in model(x[k : k + 1]).flatten():
            gradients = torch.autograd.grad(output, parameters, retain_graph=True, allow_unused=True)
            pairs = zip(parameters, gradients, strict=True)
            rows.append(torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in pairs]))
    return torch.stack(rows).unflatten(0, (len(x), -1))


class Mirrored(nn.Module):
    """Two copies of a network, the second with the opposite sign: what it gives is rounding alone."""

    def __init__(self, width, mixed=0.0):
        super().__init__()
        self.hidden, self.readout = nn.Linear(10, 2 * width), nn.Linear(2 * width, 3, bias=False)
        self.mixed = mixed
        with torch.no_grad():
            for part in (self.hidden.weight, self.hidden.bias):
                part[width:] = part[:width]
            self.readout.weight[:, width:] = -self.readout.weight[:, :width]

    def forward(self, x):
        h = functional.softplus(self.hidden(x))
        return self.readout(h + self.mixed * h.mean(0, keepdim=True)) + self.mixed * h.mean(0)[:3]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("examples", [1, 2, 3, 24])
def test_outputs_that_cancel_are_not_taken_for_those_of_a_model_that_mixes(dtype, examples):
    for seed in range(4):
        torch.manual_seed(seed)
        model, x = Mirrored(37).to(dtype), torch.randn(examples, 10, dtype=dtype)
        wanted = naive(copy.deepcopy(model).double(), x.double())
        assert float(model(x).abs().max()) < 100 * torch.finfo(dtype).eps
        torch.testing.assert_close(ntk(model, x).double(), wanted, rtol=0, atol=1e3 * torch.finfo(dtype).eps)
        with pytest.raises(ValueError, match="this one mixes examples"):
            ntk(Mirrored(37, 1e-2).to(dtype), torch.randn(examples + 1, 10, dtype=dtype))
