"""Expanding and collapsing: the same function, whatever the layer, and never a layer dropped in silence."""

import copy
import functools
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.utils import parametrizations, prune, weight_norm  # noqa: E402

from lineament.torch import Factored, collapse, expand, truncate  # noqa: E402


@st.composite
def linear_layers(draw):
    sizes = st.integers(1, 6)
    return nn.Linear(draw(sizes), draw(sizes), bias=draw(st.booleans())), ()


@st.composite
def conv_layers(draw):
    axes = draw(st.sampled_from([1, 2]))
    groups = draw(st.integers(1, 3))
    small = lambda top: tuple(draw(st.integers(1, top)) for _ in range(axes))  # noqa: E731
    mode = draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"]))
    stride, kernel, dilation = small(3), small(3), small(2)
    padding = draw(st.sampled_from(["same", "valid", "numbers"]))
    if padding == "numbers":
        padding = tuple(draw(st.integers(0, 2)) for _ in range(axes))
    elif padding == "same":
        stride = (1,) * axes
    layer = (nn.Conv1d, nn.Conv2d)[axes - 1](
        groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3)), kernel, stride, padding, dilation, groups,
        draw(st.booleans()), mode,
    )  # fmt: skip
    return layer, (7,) * axes


def some_input(layer, size, dtype):
    channels = layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels
    return torch.randn(3, channels, *size, dtype=dtype)


@settings(max_examples=120)
@given(
    st.one_of(linear_layers(), conv_layers(), conv_layers()),
    st.integers(1, 5),
    st.sampled_from([torch.float64, torch.float32]),
    st.sampled_from([1e-4, 1.0, 1e4]),
)
def test_expanding_and_collapsing_keeps_the_function(case, depth, dtype, scale):
    layer, size = case
    layer = layer.to(dtype)
    with torch.no_grad():
        layer.weight.mul_(scale)
    x = some_input(layer, size, dtype)
    before = copy.deepcopy(layer.state_dict())
    net, report = expand(layer, depth)
    back = collapse(net)
    wanted = layer(x)
    bar = 1e-12 if dtype == torch.float64 else 1e-5
    for model in (net, back):
        assert model(x).dtype == dtype
        assert (model(x) - wanted).norm() <= bar * wanted.norm()
    assert list(back.state_dict()) == list(before)
    assert str(back) == str(layer)
    assert all(torch.equal(layer.state_dict()[name], value) for name, value in before.items())
    (row,) = report
    assert row.done == (depth > 1)
    assert row.expanded == sum(p.numel() for n, p in net.named_parameters() if n.endswith("weight"))


@given(linear_layers(), st.integers(2, 5))
def test_factors_are_balanced(case, depth):
    net, _ = expand(case[0].double(), depth)
    assert len(net) == depth
    for before, after in pairwise(factor.weight for factor in net):
        torch.testing.assert_close(after.T @ after, before @ before.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_step_of_the_expansion_is_a_step_of_the_product(depth):
    layer = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2).double()
    x, target = torch.randn(5, 4, 8, 8, dtype=torch.float64), torch.randn(5, 6, 4, 4, dtype=torch.float64)
    loss = lambda out: ((out - target) ** 2).mean()  # noqa: E731
    net, _ = expand(layer, depth)

    # By hand, for each group: W_j − η Aᵀ G Bᵀ with A the factors after W_j, B those before, G the gradient by W.
    gradient = torch.autograd.grad(loss(layer(x)), layer.weight)[0].reshape(2, 3, -1)
    bias_gradient = torch.autograd.grad(loss(layer(x)), layer.bias)[0]
    factors = [factor.weight.detach().reshape(2, factor.weight.shape[0] // 2, -1) for factor in net]
    stepped = []
    for j, W in enumerate(factors):
        after = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        for later in reversed(factors[j + 1 :]):
            after = after @ later
        G = after.mT @ gradient
        if j:
            before = factors[0]
            for earlier in factors[1:j]:
                before = earlier @ before
            G = G @ before.mT
        stepped.append(W - 0.1 * G)
    product = stepped[0]
    for W in stepped[1:]:
        product = W @ product

    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    loss(net(x)).backward()
    optimiser.step()
    back = collapse(net)
    torch.testing.assert_close(back.weight.detach(), product.reshape(layer.weight.shape), rtol=0, atol=1e-13)
    torch.testing.assert_close(back.bias.detach(), layer.bias.detach() - 0.1 * bias_gradient, rtol=0, atol=1e-13)


class Net(nn.Module):
    """Layers in corners: nested, used twice, sharing a weight, sharing a bias, normalised."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(3, 4, 3, padding="same", padding_mode="circular")
        self.norm = nn.BatchNorm1d(4)
        self.body = nn.ModuleList([nn.Linear(5, 5), nn.Sequential(nn.Linear(5, 5), nn.ReLU())])
        self.again = self.body[0]
        self.tied = nn.Linear(5, 5)
        self.tied.weight = self.body[1][0].weight
        self.tied.bias = self.body[0].bias
        self.head = nn.Linear(20, 2)

    def forward(self, x):
        x = self.norm(self.first(x))
        for layer in (*self.body, self.again, self.tied):
            x = torch.tanh(layer(x))
        return self.head(x.flatten(1))


def test_shared_modules_and_shared_weights_stay_shared():
    model = Net().double().eval()
    x = torch.randn(6, 3, 5, dtype=torch.float64)
    net, report = expand(model, 3)
    assert not report.skipped
    assert report["again"] == report["body.0"]
    assert net.again is net.body[0]
    assert all(a.weight is b.weight for a, b in zip(net.tied, net.body[1][0], strict=True))
    assert net.tied.bias is net.body[0].bias
    torch.testing.assert_close(net(x), model(x), rtol=1e-12, atol=1e-13)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    net(x).square().sum().backward()
    optimiser.step()
    back = collapse(net)
    assert back.again is back.body[0]
    assert back.tied.weight is back.body[1][0].weight
    assert back.tied.bias is back.body[0].bias
    assert list(back.state_dict()) == list(model.state_dict())
    torch.testing.assert_close(back(x), net(x), rtol=1e-12, atol=1e-13)
    model.load_state_dict(back.state_dict())


def test_mode_gradients_hooks_and_the_random_state_are_kept():
    seen = []
    model = Net().train()
    model.body.eval()
    model.head.weight.requires_grad_(False)
    model.head.register_forward_hook(lambda module, args, out: seen.append(type(module).__name__))
    state = torch.get_rng_state()
    net, _ = expand(model, 2)
    assert torch.equal(torch.get_rng_state(), state)
    assert net.training
    assert not any(module.training for module in net.body.modules())
    assert [factor.weight.requires_grad for factor in net.head] == [False, False]
    assert net.head.bias.requires_grad
    back = collapse(net)
    assert back.training
    assert not back.body.training
    assert not back.head.weight.requires_grad
    x = torch.randn(4, 3, 5)
    net(x), back(x)
    assert seen == ["Factored", "Linear"]


HOOKED = ("register_hook", "register_post_accumulate_grad_hook")


@pytest.mark.parametrize("register", HOOKED)
def test_a_layer_whose_weight_has_a_gradient_hook_is_left_alone_with_its_hook(register):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.MultiheadAttention(4, 2))
    seen = []
    getattr(model[0].weight, register)(lambda found: seen.append(tuple(found.shape)))
    getattr(model[2].in_proj_weight, register)(lambda found: seen.append(tuple(found.shape)))
    net, report = expand(model, 2)
    assert [row.layer for row in report.done] == ["1", "2.out_proj"]
    assert all("a hook acts on the gradient of its weight" in report[name].note for name in ("0", "2.in_proj_weight"))
    net[1](net[0](torch.ones(2, 3))).sum().backward()
    assert seen == [(3, 3)]
    small, truncation = truncate(model, ranks=1)
    assert [row.layer for row in truncation.layers.done] == ["1", "2.out_proj"]
    small[1](small[0](torch.ones(2, 3))).sum().backward()
    assert seen == [(3, 3)] * 2


def test_hooks_of_what_stays_a_parameter_are_kept_and_those_of_methods_move_to_the_copy():
    class Clipped(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = nn.Linear(2, 2), 0
            self.inner.bias.register_hook(self.clip)

        def clip(self, gradient):
            self.calls += 1
            return gradient.clamp(-1, 1)

    model = Clipped()
    net, report = expand(model, 2)
    assert report["inner"].done
    (10 * net.inner(torch.ones(1, 2))).sum().backward()
    assert torch.equal(net.inner.bias.grad, torch.ones(2))
    assert (model.calls, net.calls) == (0, 1)
    net.inner.bias.requires_grad_(False)
    assert collapse(net).inner.bias._backward_hooks


def test_collapsing_names_the_factors_whose_hooks_it_cannot_keep():
    net, _ = expand(nn.Sequential(nn.Linear(3, 3), nn.MultiheadAttention(4, 2)), 2)
    net[0][1].weight.register_hook(lambda gradient: gradient)
    with pytest.warns(UserWarning, match="hooks on the gradients of the factors of '0' are left out"):
        collapse(net)
    net, _ = expand(nn.Sequential(nn.MultiheadAttention(4, 2)), 2, layers=["0.in_proj_weight"])
    net[0].parametrizations.in_proj_weight.original1.register_post_accumulate_grad_hook(lambda parameter: None)
    with pytest.warns(UserWarning, match="of the factors of '0.in_proj_weight' are left out"):
        collapse(net)


@pytest.mark.parametrize("change", [lambda m: expand(m, 2)[0], lambda m: truncate(m, ranks=1)[0], collapse])
def test_what_is_made_in_inference_mode_can_be_trained(change):
    with torch.inference_mode():
        net = change(nn.Sequential(nn.Linear(3, 3), nn.GRU(3, 4)))
    net[1](net[0](torch.ones(2, 3)))[0].sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_compiled_and_exported():
    model = nn.Sequential(nn.Conv2d(1, 3, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4)).eval()
    x = torch.randn(2, 1, 7, 7)
    net, _ = expand(model, 3)
    for each in (net, collapse(net)):
        torch.testing.assert_close(torch.compile(each, backend="eager")(x), model(x), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(torch.export.export(each, (x,)).module()(x), model(x), rtol=1e-5, atol=1e-6)


def test_code_that_reads_the_weight_off_the_layer_still_works():
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    net, report = expand(encoder, 2)
    every = ["self_attn.in_proj_weight", "self_attn.out_proj", "linear1", "linear2"]
    assert [row.layer for row in report.done] == every
    x = torch.randn(3, 4, 8, dtype=torch.float64)
    with torch.no_grad():  # the fast path takes linear1.weight
        torch.testing.assert_close(net(x), encoder(x), rtol=1e-12, atol=1e-12)
    assert isinstance(net.linear1, Factored)
    torch.testing.assert_close(net.linear1.weight, encoder.linear1.weight, rtol=1e-12, atol=1e-13)


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.steps = [self.inner]

    def forward(self, x):
        return self.steps[0](x)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def tied_to_a_bilinear():
    model = nn.Sequential(nn.Conv1d(2, 3, 2), nn.Bilinear(2, 2, 3))
    model[1].weight = model[0].weight
    return model


def with_a_nan():
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight[0, 0] = torch.nan
    return layer


def with_own_forward():
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: x
    return layer


class Handed(nn.Module):
    """Another name for a layer that replacing the layer does not reach."""

    def __init__(self, wrap):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self._other = wrap(self.layer)

    def forward(self, x):
        return self.layer(x)


class Compiled(nn.Module):
    """A part that was compiled on its own, as people do with each block."""

    def __init__(self):
        super().__init__()
        self.part = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.MultiheadAttention(4, 2)), backend="eager")


SKIPPED = {
    "hidden list": (lambda: Handed(lambda layer: [[layer]]), "also held by the list '_other'"),
    "method": (lambda: Handed(lambda layer: layer.forward), "also held by the method '_other'"),
    "partial": (lambda: Handed(lambda layer: functools.partial(layer.forward)), "also held by the partial '_other'"),
    "compiled part": (Compiled, "in a part that torch.compile took as it was"),
    "parametrised": (lambda: parametrizations.orthogonal(nn.Linear(3, 3)), "parametrize computes its weight"),
    "parametrised norm": (lambda: parametrizations.weight_norm(nn.Conv1d(3, 3, 1)), "parametrize computes its weight"),
    "pruned": (lambda: prune.l1_unstructured(nn.Linear(3, 3), "weight", 0.5), "a hook computes it"),
    "lazy": (lambda: nn.LazyLinear(3), "run the lazy layer once"),
    "subclass": (lambda: Doubled(3, 3), "may compute something of its own"),
    "bilinear": (lambda: nn.Bilinear(4, 2, 3), "a Bilinear is none of Linear, Conv1d to 3d"),
    "rescaled rows": (lambda: nn.Embedding(4, 2, max_norm=1.0), "changes its rows one by one"),
    "own recurrence": (lambda: type("Mine", (nn.LSTM,), {})(4, 2), "a Mine may compute something of its own"),
    "listed": (Listed, "also held by the list 'steps'"),
    "tied otherwise": (tied_to_a_bilinear, "shared with '1'"),
    "integers": (lambda: nn.Linear(2, 2).requires_grad_(False).to(torch.complex64), "torch.complex64"),
    "meta": (lambda: nn.Linear(2, 2, device="meta"), "no values"),
    "empty": (lambda: nn.Linear(0, 2), "empty"),
    "nan": (with_a_nan, "not finite"),
    "own forward": (with_own_forward, "parts of its own"),
    "qat": (lambda: torch.ao.nn.qat.Linear(2, 2, qconfig=torch.ao.quantization.get_default_qat_qconfig()), "quantised"),
    "quantised": (lambda: torch.ao.nn.quantized.dynamic.Linear(2, 2), "quantised"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SKIPPED)
def test_what_cannot_be_expanded_is_left_alone_and_named(case):
    make, reason = SKIPPED[case]
    model = make()
    net, report = expand(model, 2)
    assert not report.done
    assert any(reason in row.note for row in report.skipped)
    assert not any(isinstance(module, Factored) for module in net.modules())
    assert reason in str(report)


def test_a_compiled_part_goes_on_computing_with_its_own_parameters():
    model = nn.Sequential(torch.compile(nn.Linear(3, 3), backend="eager"), nn.Linear(3, 2))
    x = torch.randn(4, 3)
    model(x)
    for net in (expand(model, 2).model, truncate(model, ranks=1).model):
        with torch.no_grad():
            for parameter in net[0].parameters():
                parameter.zero_()
        assert not net[0](x).any()
        assert isinstance(net[1], Factored)
    net, _ = expand(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)), 2)
    net[0] = torch.compile(net[0], backend="eager")
    with pytest.raises(ValueError, match=r"products in compiled parts; '0\._orig_mod' is one: put back"):
        collapse(net)


def test_a_transposed_convolution_may_be_told_the_size_of_its_outputs():
    class Up(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)

        def forward(self, x):
            return self.up(x, [12, 12]), self.up(x, output_size=(11, 12))

    model, x = Up().double(), torch.randn(2, 4, 6, 6, dtype=torch.float64)
    for net in (expand(model, 3).model, truncate(model, ranks=3).model, collapse(expand(model, 2).model)):
        assert [tuple(found.shape[2:]) for found in net(x)] == [(12, 12), (11, 12)]
    for found, wanted in zip(expand(model, 3).model(x), model(x), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_weight_that_a_hook_computes_is_copied_and_left_alone():
    model = nn.Sequential(weight_norm(nn.Linear(3, 3)), nn.Linear(3, 2))
    x = torch.randn(4, 3)
    model(x)
    net, report = expand(model, 2)
    assert "a hook computes it" in report["0"].note
    assert report["1"].done
    torch.testing.assert_close(net(x), model(x))


@pytest.mark.parametrize("frozen", ["none", "first", "last", "all"])
def test_a_weight_trains_again_if_any_of_its_factors_did(frozen):
    model = expand(nn.Sequential(nn.Linear(3, 3, bias=False), nn.MultiheadAttention(3, 1, bias=False)), 2).model
    rule = model[1].parametrizations.in_proj_weight
    for first, last in ((model[0][0].weight, model[0][1].weight), (rule.original0, rule.original1)):
        first.requires_grad_(frozen not in ("first", "all"))
        last.requires_grad_(frozen not in ("last", "all"))
    plain = collapse(model)
    for weight in (plain[0].weight, plain[1].in_proj_weight):
        assert weight.requires_grad is (frozen != "all")


def test_a_product_is_not_expanded_again():
    net, _ = expand(nn.Sequential(nn.Linear(3, 3)), 2)
    _, report = expand(net, 2)
    assert [(row.layer, row.done) for row in report] == [("0", False)]
    assert "collapse the model first" in report[0].note


def test_layers_are_chosen_by_name_and_the_table_is_asked_by_name():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    net, report = expand(model, 2, layers=["2", "1"])
    assert isinstance(net[2], Factored)
    assert not isinstance(net[0], Factored)
    assert report["2"].widths == (2,)
    assert "ReLU" in report["1"].note
    with pytest.raises(KeyError, match="no layer '7'"):
        report["7"]


def test_widths_below_the_rank_are_refused_and_above_it_carry_nothing():
    low_rank = nn.Linear(6, 5, bias=False).double()
    with torch.no_grad():
        low_rank.weight.copy_(torch.outer(torch.arange(1.0, 6), torch.arange(1.0, 7)))
    model = nn.Sequential(low_rank, nn.Linear(5, 4), nn.Conv1d(4, 4, 3, groups=2))
    _, report = expand(model, 2, width=3, layers=["0", "1", "2"])
    assert report["0"].note == "2 hidden units carry nothing: the rank is 1"
    assert report["1"].note == "width 3 is below its rank 4: the function would change"
    assert report["2"].note == "width 3 is no multiple of its 2 groups"
    net, _ = expand(low_rank, 3, width=3)
    x = torch.randn(4, 6, dtype=torch.float64)
    torch.testing.assert_close(net(x), low_rank(x), rtol=1e-12, atol=1e-12)
    net(x).square().sum().backward()
    assert torch.all(net[0].weight.grad[1:] == 0)


def test_a_fresh_start_has_the_variance_of_the_layers_own():
    layer = nn.Conv2d(4, 60, 3, groups=2)
    products, biases = [], []
    generator = torch.Generator().manual_seed(1)
    for _ in range(60):
        net, _ = expand(layer, 3, width=30, preserve=False, generator=generator)
        products.append(collapse(net).weight.detach())
        biases.append(net.bias.detach())
    fan_in = 2 * 9
    variance = torch.stack(products).var().item()
    assert variance == pytest.approx(1 / (3 * fan_in), rel=0.1)
    assert layer.weight.var().item() == pytest.approx(1 / (3 * fan_in), rel=0.1)
    drawn = torch.stack(biases)
    assert drawn.abs().max() <= fan_in**-0.5
    assert drawn.var().item() == pytest.approx(1 / (3 * fan_in), rel=0.1)


def test_a_fresh_start_follows_its_generator():
    layer = nn.Linear(4, 3)
    draw = lambda seed: expand(layer, 2, preserve=False, generator=torch.Generator().manual_seed(seed)).model  # noqa: E731
    assert torch.equal(draw(0)[1].weight, draw(0)[1].weight)
    assert not torch.equal(draw(0)[1].weight, draw(1)[1].weight)


def test_wrong_arguments_are_named():
    model = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="depth must be a whole number of at least 1 and at most 10000; got 0"):
        expand(model, 0)
    with pytest.raises(ValueError, match=r"depth must be a whole number of at least 1 and at most 10000; got 2\.5"):
        expand(model, 2.5)
    with pytest.raises(ValueError, match="width must be a whole number of at least 1; got -1"):
        expand(model, 2, width=-1)
    with pytest.raises(ValueError, match="layers must name modules of the model; got 'fc'"):
        expand(model, 2, layers=["fc"])
    with pytest.raises(ValueError, match="layers must be a sequence of names"):
        expand(model, 2, layers="fc")
    with pytest.raises(ValueError, match=r"model must be a torch\.nn\.Module; got int"):
        expand(3, 2)
    with pytest.raises(ValueError, match=r"must not be compiled yet: give the module itself \(model\._orig_mod\)"):
        collapse(torch.compile(model))


def test_importing_lineament_never_imports_torch_and_missing_torch_is_said():
    code = "import sys, lineament; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys; sys.modules['torch'] = None; import lineament.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'lineament[torch]'" in done.stderr
    assert done.returncode == 1


class Conv1D(nn.Module):
    """transformers' layer, letter by letter: tests run without that package."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight = nn.Parameter(torch.randn(nx, nf))
        self.bias = nn.Parameter(torch.randn(nf))

    def forward(self, x):
        size_out = (*x.size()[:-1], self.nf)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(size_out)


Conv1D.__module__ = "transformers.pytorch_utils"


class Conv2dSame(nn.Conv2d):
    """timm's layer: as much padding as the size of the input asks for."""

    def forward(self, x):
        pads = [
            max((-(-n // s) - 1) * s + k - n, 0)
            for n, k, s in zip(x.shape[2:], self.kernel_size, self.stride, strict=True)
        ]
        pads = [part for pad in reversed(pads) for part in (pad // 2, pad - pad // 2)]
        return functional.conv2d(functional.pad(x, pads), self.weight, self.bias, self.stride)


Conv2dSame.__module__ = "timm.layers.conv2d_same"


class Named(nn.Linear):
    """A subclass that computes nothing of its own."""


class First(nn.Module):
    """Whatever a layer returns, its first output."""

    def __init__(self, layer, *more):
        super().__init__()
        self.layer, self.more = layer, more

    def forward(self, *x):
        out = self.layer(*x, *self.more)
        return out[0] if isinstance(out, tuple) else out


class Attended(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x):
        other = x[..., : self.attention.kdim]
        return self.attention(x, other, other)[0]


def tied_table():
    model = nn.Sequential(nn.Embedding(20, 6, padding_idx=0), nn.Tanh(), nn.Linear(6, 20))
    model[2].weight = model[0].weight
    return model


numbers = lambda *shape: lambda: torch.randn(*shape)  # noqa: E731
EVERYTHING = {
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2, stride=2, padding=1), numbers(2, 2, 5, 5, 5), 1),
    "transposed 1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2), numbers(2, 4, 5), 1),
    "transposed 2d": (
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, dilation=2), numbers(2, 4, 5, 4), 1
    ),
    "transposed 3d": (lambda: nn.ConvTranspose3d(2, 2, 2, bias=False), numbers(2, 2, 3, 3, 3), 1),
    "Conv1D of transformers": (lambda: Conv1D(7, 5), numbers(2, 3, 5), 1),
    "Conv2dSame of timm": (lambda: Conv2dSame(3, 5, 3, stride=2), numbers(2, 3, 8, 7), 1),
    "named subclass": (lambda: Named(5, 4), numbers(3, 5), 1),
    "attention": (lambda: Attended(), numbers(2, 5, 8), 2),
    "attention of three widths": (lambda: Attended(kdim=4, vdim=4), numbers(2, 5, 8), 4),
    "LSTM": (lambda: First(nn.LSTM(3, 5, 2, bidirectional=True, proj_size=4)), numbers(4, 2, 3), 12),
    "GRU": (lambda: First(nn.GRU(3, 5, batch_first=True)), numbers(4, 2, 3), 2),
    "cell": (lambda: First(nn.LSTMCell(3, 5)), numbers(4, 3), 2),
    "embedding": (lambda: nn.Embedding(9, 4), lambda: torch.randint(9, (2, 3)), 1),
    "tied embedding": (tied_table, lambda: torch.randint(20, (2, 3)), 2),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("case", EVERYTHING)
def test_everything_people_have(case, depth, dtype):
    make, inputs, weights = EVERYTHING[case]
    model, x = make().to(dtype), inputs()
    x = x.to(dtype) if x.is_floating_point() else x
    state = {name: value.clone() for name, value in model.state_dict().items()}
    net, report = expand(model, depth)
    assert len(report.done) == weights
    assert not report.skipped
    bar = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 8 * 2**-8}[dtype]
    wanted = model(x)
    back = collapse(net)
    for each in (net, back, copy.deepcopy(net)):
        found = each(x)
        assert found.dtype == dtype
        assert (found - wanted).double().norm() <= bar * wanted.double().norm()
    assert list(back.state_dict()) == list(state)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in state.items())
    assert str(back) == str(model)
    # All factors train: the gradient reaches each of them.
    net(x).double().square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    if case != "tied embedding":
        grown = sum(row.expanded - row.parameters for row in report)
        assert sum(map(torch.numel, net.parameters())) == sum(map(torch.numel, model.parameters())) + grown


def test_a_tied_embedding_stays_tied_through_training():
    model = tied_table().double()
    net, report = expand(model, 3)
    assert net[0][0].weight is net[2][2].weight
    assert net[0][2].weight is net[2][0].weight
    assert sum(p.numel() for p in net.parameters()) == report[0].expanded + 20
    tokens = torch.randint(20, (4, 3))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    net(tokens).square().sum().backward()
    optimiser.step()
    back = collapse(net)
    assert back[0].weight is back[2].weight
    torch.testing.assert_close(back(tokens), net(tokens), rtol=1e-12, atol=1e-13)
    assert not torch.allclose(back(tokens), model(tokens))


def test_a_recurrent_layer_follows_its_factors_and_is_copied_and_moved():
    net, _ = expand(nn.LSTM(3, 4), 2)
    x = torch.randn(5, 2, 3)
    before = net(x)[0].detach()
    with torch.no_grad():
        for factor in net.parametrizations.weight_hh_l0.parameters():
            factor.mul_(2)
    moved = copy.deepcopy(net.double().float())
    after = moved(x)[0].detach()
    assert not torch.allclose(after, before)
    torch.testing.assert_close(collapse(moved)(x)[0].detach(), after)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_not_taken_for_rank_zero(dtype):
    layer = nn.Linear(2048, 64, bias=False).to(dtype)
    net, report = expand(layer, 2, width=8)
    assert not report.done
    assert "width 8 is below its rank 64" in report[0].note
    net, report = expand(layer, 2)
    assert report.done
    W = layer.weight.detach().double()
    assert (collapse(net).weight.detach().double() - W).norm() <= 3 * torch.finfo(dtype).eps * W.norm()
    x = torch.randn(16, 2048).to(dtype)
    assert (net(x) - layer(x)).double().norm() <= 4 * torch.finfo(dtype).eps * layer(x).double().norm()


def test_weights_at_both_ends_of_half_precision_keep_their_function():
    """Rows of `Σ^{1/2}Vᵀ` with entries near 6e-8, the step of float16 near zero, lose most of their digits."""
    layer = nn.Linear(4096, 2, bias=False).to(torch.float16)
    with torch.no_grad():
        layer.weight.fill_(6e-8)
        layer.weight[1] *= torch.tensor([1.0, -1.0], dtype=torch.float16).repeat(2048)
    net, report = expand(layer, 2)
    assert report.done  # σ^{1/2} is large enough here
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[0, 0] = 60000.0
        layer.weight[1, 1:] = 6e-8
    net, report = expand(layer, 2)
    moved = (collapse(net).weight.double() - layer.weight.double()).norm() / layer.weight.double().norm()
    assert moved <= 3 * torch.finfo(torch.float16).eps


def test_channels_last_and_a_low_rank_of_single_precision():
    conv = nn.Conv2d(8, 12, 3).to(memory_format=torch.channels_last)
    net, _ = expand(conv, 3)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert collapse(net).weight.is_contiguous(memory_format=torch.channels_last)
    wide = nn.Linear(200, 100, bias=False)
    with torch.no_grad():
        wide.weight.copy_(torch.randn(100, 7) @ torch.randn(7, 200))
    net, report = expand(wide, 4, width=9)
    assert report[0].note == "2 hidden units carry nothing: the rank is 7"
    for before, after in pairwise(factor.weight.detach() for factor in net):
        torch.testing.assert_close(after.T @ after, before @ before.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["transposed 2d", "Conv1D of transformers", "attention", "GRU", "embedding"])
def test_a_fresh_start_of_everything(case):
    make, inputs, _ = EVERYTHING[case]
    model, x = make(), inputs()
    draw = lambda seed: expand(model, 3, preserve=False, generator=torch.Generator().manual_seed(seed)).model  # noqa: E731
    first, again = draw(0), draw(0)
    assert torch.equal(first(x), again(x))
    assert not torch.equal(first(x), model(x))


def test_half_precision_keeps_its_dtype():
    layer = nn.Linear(4, 3).to(torch.bfloat16)
    net, _ = expand(layer, 2)
    x = torch.randn(5, 4, dtype=torch.bfloat16)
    assert {p.dtype for p in net.parameters()} == {torch.bfloat16}
    np.testing.assert_allclose(net(x).float().detach(), layer(x).float().detach(), atol=0.05)


def test_code_that_reads_a_layers_settings_finds_them():
    """As transformers' MobileNet does, which pads by the stride and the kernel of its layers itself."""

    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(2, 3, 3, stride=2, dilation=1)

        def forward(self, x):
            (side, _), (stride, _) = self.layer.kernel_size, self.layer.stride
            assert self.layer.in_channels == x.shape[1]
            return self.layer(nn.functional.pad(x, (side - stride,) * 4))

    model, x = Padded(), torch.randn(2, 2, 7, 7)
    net = expand(model, 3).model
    torch.testing.assert_close(net(x), model(x), rtol=1e-4, atol=1e-5)
    assert net.layer.groups == 1
    assert (net.layer.out_channels, net.layer.padding) == (3, (0, 0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_moves_by_what_the_type_rounds(dtype):
    """Against the model in float32, two factors are less far off than three roundings of the model itself."""
    torch.manual_seed(0)
    whole = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))
    x = torch.randn(200, 64)
    half = copy.deepcopy(whole).to(dtype)
    with torch.no_grad():
        wanted = whole(x)
        own, expanded = (
            float((net(x.to(dtype)).float() - wanted).norm() / wanted.norm()) for net in (half, expand(half, 2).model)
        )
    assert torch.finfo(dtype).eps / 4 < own < 8 * torch.finfo(dtype).eps
    assert expanded < 3 * own


def test_factors_that_would_change_a_layer_are_refused(monkeypatch):
    """No weight is known that leads here; should a decomposition fail, the layer is left alone and the report says so."""
    module = sys.modules["lineament.torch.expand"]
    sound = module.balanced
    monkeypatch.setattr(module, "balanced", lambda *given: [1.1 * W for W in sound(*given)])
    layer = nn.Linear(4, 3)
    net, report = expand(nn.Sequential(layer), 2)
    assert report["0"].note == "in torch.float32 its factors would change it by 21.0%: convert the model first"
    assert not report["0"].done
    assert isinstance(net[0], nn.Linear)
    assert torch.equal(net[0].weight, layer.weight)


def test_what_has_no_weight_of_that_name_is_counted():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.scale = nn.Parameter(torch.randn(3, 4, 5)), nn.Parameter(torch.ones(7))

    model = nn.Sequential(Experts(), nn.ParameterList([torch.randn(2, 3)]), nn.Linear(2, 2))
    rows = expand(model, 2).report
    assert [(row.shape, row.parameters, row.expanded) for row in rows] == [
        (None, 60, 60), (None, 6, 6), ((2, 2), 4, 8)
    ]  # fmt: skip
    assert [(row.parameters, row.truncated) for row in truncate(model, energy=1).report.layers] == [
        (60, 60), (6, 6), (4, 4)
    ]  # fmt: skip


def test_weights_of_eight_bits_are_left_alone():
    model = nn.Sequential(nn.Linear(4, 4).to(torch.float8_e4m3fn), nn.Linear(4, 4))
    first, second = expand(model, 2).report
    assert (
        first.note
        == "its weight holds torch.float8_e4m3fn, which PyTorch does not compute with: convert the model first"
    )
    assert (first.done, second.done) == (False, True)
