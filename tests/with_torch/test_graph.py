"""The way back along autograd's graph: its rules against gradients one by one, and what is left to other routes."""

from itertools import product

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.utils import parametrizations  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import lineament.torch.kernel  # noqa: E402
from lineament.torch import derivatives as derivatives_of  # noqa: E402
from lineament.torch import jacobian, ntk  # noqa: E402
from lineament.torch.graph import RULES, UnknownError, graph_of, place  # noqa: E402
from lineament.torch.graph.place import Place, apart, few, onto, viewed  # noqa: E402


def draw(*shape):
    return torch.randn(shape, dtype=torch.float64)


class Made(nn.Module):
    """A function of inputs and parameters of some shapes."""

    def __init__(self, f, *shapes):
        super().__init__()
        self.f, self.p = f, nn.ParameterList([nn.Parameter(draw(*shape)) for shape in shapes])

    def forward(self, *inputs):
        return self.f(*inputs, *self.p)


def naive(model, x):
    """The whole Jacobian (examples, outputs, parameters) by the name of the parameter, one gradient at a time."""
    parts = x if isinstance(x, tuple) else (x,)
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = {name: [] for name in names}
    for k in range(len(parts[0])):
        for output in model(*(part[k : k + 1].clone() for part in parts)).flatten():
            gradients = torch.autograd.grad(output, parameters, retain_graph=True, allow_unused=True)
            for name, parameter, given in zip(names, parameters, gradients, strict=True):
                row = torch.zeros_like(parameter) if given is None else given.to_dense()
                found[name].append(row.flatten())
    return {name: torch.stack(rows).unflatten(0, (len(parts[0]), -1)) for name, rows in found.items()}


def kernel(model, x):
    return sum(torch.einsum("xip,yjp->xyij", J, J) for J in naive(model, x).values())


def close(found, wanted, bar=1e-12):
    assert found.shape == wanted.shape
    assert (found - wanted).norm() <= bar * wanted.norm()


def derivatives(model, x, several=16, **options):
    """The derivatives along the graph of a plain pass."""
    parts = x if isinstance(x, tuple) else (x,)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    out = model(*(part.clone() for part in parts)).reshape(len(parts[0]), -1)
    return graph_of(out, names).derivatives(several, **options)


def by_graph(model):
    return [seen.by_graph for seen in jacobian._SEEN.get(model, {}).values()]


CONVOLUTIONS = {
    f"{axes} axes, {options}": (axes, channels, options)
    for axes, (channels, options) in product(
        (1, 2, 3),
        [
            ((4, 6, 3), {}),
            ((4, 6, 1), {}),
            ((4, 6, 1), {"bias": False}),
            ((4, 6, 3), {"groups": 2, "stride": 2, "padding": 1}),
            ((4, 4, 3), {"groups": 4, "padding": "same"}),
            ((4, 8, 3), {"groups": 4, "padding": "same", "dilation": 2}),
            ((4, 4, 3), {"groups": 4, "stride": 3, "padding": 2}),
            ((4, 6, 2), {"padding": "same"}),
            ((4, 6, 3), {"padding": "valid", "dilation": 2}),
            ((4, 6, 3), {"padding": 1, "padding_mode": "circular"}),
        ],
    )
}


@pytest.mark.parametrize("after", ["nothing", "normalised", "frozen", "scaled"])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, after):
    """With their normalisation, with one whose parameters stay as they are, and with a bias that does."""
    axes, (a, b, size), options = CONVOLUTIONS[case]
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1]
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[axes - 1]
    layers = [kind(a, a, 1), kind(a, b, size, **options), nn.Hardtanh(-0.7, 0.7), nn.Flatten(), nn.LazyLinear(3)]
    if after != "nothing":
        layers.insert(2, norm(b))
    model = nn.Sequential(*layers).double()
    x = draw(3, a, *(6, 5, 7)[:axes])
    model(x)  # statistics of its own
    model.eval()
    if after == "frozen":
        layers[2].weight.requires_grad_(False)
    if after == "scaled" and layers[1].bias is not None:
        layers[1].bias.requires_grad_(False)
    close(ntk(model, x), kernel_of_trained(model, x))
    close(ntk(model, x[:1]), kernel_of_trained(model, x[:1]))
    assert set(by_graph(model)) == {True} or options.get("padding_mode"), "a rule for all but the padding"


def kernel_of_trained(model, x):
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    rows = naive(model, x)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)
    return sum(torch.einsum("xip,yjp->xyij", rows[name], rows[name]) for name in trained)


T = torch
F = functional
ACTIVATIONS = {
    "relu": F.relu, "relu6": F.relu6, "hardtanh": lambda x: F.hardtanh(x, -0.3, 0.4), "leaky": F.leaky_relu,
    "hardsigmoid": F.hardsigmoid, "silu": F.silu, "hardswish": F.hardswish, "mish": F.mish, "softplus": F.softplus,
    "softplus 2": lambda x: F.softplus(x, 2.0, 1.0), "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid": T.sigmoid, "tanh": T.tanh, "square": lambda x: x**2, "cube": lambda x: x**3.0,
    "power 0": lambda x: x**0 + x,
    "exp": T.exp, "rsqrt": lambda x: (x * x + 1).rsqrt(), "sqrt": lambda x: (x * x + 1).sqrt(), "neg": lambda x: -x,
    "times": lambda x: x * 3.0, "over": lambda x: x / 3.0, "plus": lambda x: x + 2.0, "minus": lambda x: x - 2.0,
    "softmax": lambda x: x.softmax(-1), "twice": lambda x: x * x + x, "ratio": lambda x: x / (x * x + 1),
    "in place": lambda x: F.relu(x + 1, inplace=True), "same": lambda x: x.clone().contiguous(),
    "less twice": lambda x: T.sub(x, x * x, alpha=2), "more twice": lambda x: T.add(x, x * x, alpha=2),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_functions_of_numbers(name):
    model = Made(lambda x, W, V: ACTIVATIONS[name](x @ W) @ V, (3, 5), (5, 2))
    x = draw(4, 3)
    for some in (x, x[:1]):
        close(ntk(model, some), kernel(model, some))
    assert by_graph(model) == [True]


SHAPES = {
    "sums": (lambda x, W: (x @ W).sum((1, 2), keepdim=True)[:, :, 0], (4, 5)),
    "means": (lambda x, W: (x @ W).mean(1), (4, 5)),
    "means of two": (lambda x, W: (x @ W).mean((-1, 1)), (4, 5)),
    "permuted": (
        lambda x, W: T.tanh((x @ W).permute(2, 0, 1)[1:4:2].permute(1, 2, 0)).flatten(1) @ T.ones(6, 2).double(), (4, 5)
    ),
    "transposed": (lambda x, W: ((x @ W).transpose(1, 2) ** 2).mean(-1), (4, 5)),
    "time first": (lambda x, W, V: T.tanh(x.transpose(0, 1) @ W).transpose(0, 1).mean(1) @ V, (4, 5), (5, 2)),
    "time first, flat": (
        lambda x, W, V: T.tanh(x.transpose(0, 1).reshape(-1, 4) @ W).view(3, -1, 5).mean(0) @ V, (4, 5), (5, 2)
    ),
    "turned": (lambda x, W: T.tanh((x @ W).permute(1, 2, 0)).transpose(0, 2).flatten(1), (4, 5)),
    "the last step": (lambda x, W: T.tanh(x.transpose(0, 1) @ W)[-1], (4, 5)),
    "all steps": (lambda x, W: sum((T.tanh(x.transpose(0, 1) @ W) ** 2).unbind(0)), (4, 5)),
    "steps stacked": (lambda x, W: T.stack([T.tanh(x[:, k] @ W) for k in range(3)]).sum(0), (4, 5)),
    "one for all steps": (lambda x, W: (T.tanh(x[:, 0] @ W) * (x @ W).transpose(0, 1)).mean(0), (4, 5)),
    "selected": (lambda x, W: T.tanh(x @ W)[:, -1], (4, 5)),
    "sliced": (lambda x, W: T.tanh(x @ W)[:, 1:, ::2].flatten(1), (4, 5)),
    "side by side": (lambda x, W: T.cat([T.tanh(x @ W), x, x @ W], -1).sum(1), (4, 5)),
    "stacked": (lambda x, W: T.stack([T.tanh(x @ W), x @ W], 1).mean((2, 3)), (4, 5)),
    "split": (lambda x, W: T.tanh((x @ W).split(2, -1)[1]).sum(1), (4, 5)),
    "chunks": (lambda x, W: (lambda a, b: a * b)(*(x @ W).chunk(2, -1)).sum(1), (4, 6)),
    "pieces": (lambda x, W: (x @ W).split([1, 4], -1)[1].sum(1), (4, 5)),
    "unbound": (lambda x, W: (lambda a, b, c: a * c)(*(x @ W).unbind(1)), (4, 5)),
    "squeezed": (lambda x, W: T.tanh(x @ W).unsqueeze(1).squeeze(1).mean(1).unsqueeze(-1).squeeze(-1), (4, 5)),
    "padded": (lambda x, W: T.tanh(F.pad(x @ W, (1, -1, 2, 0), value=3.0)).flatten(1), (4, 5)),
    "expanded": (
        lambda x, W, c: (T.cat([c.expand(len(x), -1, -1), T.tanh(x @ W)], 1) ** 2).sum(2), (4, 5), (1, 2, 5)
    ),
    "power 0 at 0": (lambda x, W: ((x @ W) * 0).mean(1) ** 0 + (x @ W).sum(1), (4, 5)),
    "places": (lambda x, W, p: T.tanh(x @ W + p[:, :3]).flatten(1), (4, 5), (1, 6, 5)),
    "scaled": (lambda x, W, g: (g * T.tanh(x @ W)).flatten(1), (4, 5), (5,)),
    "scaled by one": (lambda x, W, g: (T.tanh(x @ W) * g).flatten(1), (4, 5), ()),
    "over a scale": (lambda x, W, g: (T.tanh(x @ W) / (g * g + 1)).flatten(1), (4, 5), (3, 1)),
    "less a shift": (lambda x, W, b: T.tanh(b - x @ W).flatten(1), (4, 5), (5,)),
    "gated": (lambda x, W: (lambda z: z * T.sigmoid(z.mean(1, keepdim=True)))(x @ W).flatten(1), (4, 5)),
    "a made weight": (lambda x, W, V: T.tanh(x @ (W @ V)).sum(1), (4, 2), (2, 5)),
    "an exponential weight": (lambda x, W: T.tanh(x @ W.exp()).sum(1), (4, 5)),
    "a turned weight": (lambda x, W: T.tanh(F.linear(x, W)).sum(1), (5, 4)),
    "a weight twice": (lambda x, W: T.tanh(T.tanh(x @ W) @ W).sum(1), (4, 4)),
    "one way and back": (lambda x, W: T.tanh(F.linear(x @ W, W)).sum(1), (4, 5)),
    "products": (lambda x, W, V: ((x @ W).bmm((x @ V).transpose(1, 2))).flatten(1), (4, 5), (4, 5)),
    "attention": (lambda x, W, V: (((x @ W) @ (x @ V).mT).softmax(-1) @ x).flatten(1), (4, 5), (4, 5)),
    "a product with inputs": (lambda x, W: x[:, 0] * T.tanh(x @ W).mean(1), (4, 4)),
    "normalised": (lambda x, W, g, b: F.layer_norm(x @ W, (5,), g, b).flatten(1), (4, 5), (5,), (5,)),
    "normalised along two": (lambda x, W, g: F.layer_norm(T.tanh(x @ W), (3, 5), g, None, 0.1)[:, 1], (4, 5), (3, 5)),
    "normalised and no more": (lambda x, W: F.layer_norm(x @ W, (5,))[:, 1], (4, 5)),
    "a normal weight": (lambda x, W: T.tanh(x @ F.layer_norm(W, (5,))).sum(1), (4, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_functions_of_shapes_and_layers(name):
    f, *shapes = SHAPES[name]
    model, x = Made(f, *shapes), draw(5, 3, 4)
    for some in (x, x[:1], x[:3]):  # as many as there are positions, too
        close(ntk(model, some), kernel(model, some))
    assert set(by_graph(model)) == {True}


PICTURES = {
    "the largest": lambda z: F.max_pool2d(z, 2),
    "the largest, overlapping": lambda z: F.max_pool2d(z, 3, 1, 1),
    "means": lambda z: F.avg_pool2d(z, 2, padding=1, count_include_pad=False),
    "means of many": lambda z: F.adaptive_avg_pool2d(z, (2, 3)),
    "one mean": lambda z: F.adaptive_avg_pool2d(z, 1),
    "statistics": lambda z: F.batch_norm(z, draw(2), draw(2).abs(), None, None),
}


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", PICTURES)
def test_functions_of_pictures(name, layout):
    torch.manual_seed(1)
    fixed = torch.get_rng_state()

    def f(x, W):
        torch.set_rng_state(fixed)  # for the statistics that are drawn
        return T.tanh(PICTURES[name](F.conv2d(x, W))).flatten(1)

    model, x = Made(f, (2, 3, 2, 2)), draw(4, 3, 6, 5).contiguous(memory_format=layout)
    for some in (x, x[:1]):
        close(ntk(model, some), kernel(model, some))
    assert set(by_graph(model)) == {True}


@pytest.mark.parametrize("padding", [None, 0, 2])
@pytest.mark.parametrize("flat", [False, True])
def test_tables(padding, flat):
    def f(tokens, table, place, V):
        z = F.embedding(tokens.flatten() if flat else tokens, table, padding).view(len(tokens), 3, 4)
        z = z + F.embedding(torch.arange(3)[None], place)  # the same for every example
        return T.tanh(z).sum(1) @ V

    model, x = Made(f, (6, 4), (5, 4), (4, 2)), torch.randint(6, (4, 3))
    for some in (x, x[:1], x[:3]):
        close(ntk(model, some), kernel(model, some))
    assert set(by_graph(model)) == {True}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, "numbers", "truths"])
def test_attention(causal, mask):
    if causal and mask:
        pytest.skip("PyTorch takes one or the other")
    M = {None: None, "numbers": draw(5, 5), "truths": torch.ones(5, 5, dtype=torch.bool).tril()}[mask]

    def f(x, Q, K, V):
        heads = lambda W: (x @ W).view(len(x), 5, 2, 3).transpose(1, 2)  # noqa: E731
        z = F.scaled_dot_product_attention(heads(Q), heads(K), heads(V), attn_mask=M, is_causal=causal, scale=0.7)
        return z.transpose(1, 2).reshape(len(x), -1)

    model, x = Made(f, (4, 6), (4, 6), (4, 6)), draw(3, 5, 4)
    for some in (x, x[:1]):
        close(ntk(model, some), kernel(model, some))
    assert set(by_graph(model)) == {True}


@pytest.mark.parametrize("several", [1, 2, 7])
def test_outputs_in_several_passes(several):
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 5)).double()
    x = draw(4, 3)
    wanted = naive(model, x)
    for options in ({}, {"bounded": True}, {"rough": True}):
        found = derivatives(model, x, several, **options)
        for name, part in found.items():
            close(part.dense(), wanted[name])
    bounded = derivatives(model, x, several, bounded=True)
    for name, part in bounded.items():
        size = derivatives_of._size(part)
        norm = wanted[name][:2].norm()
        assert norm * (1 - 1e-12) <= size <= 30 * norm


def test_types():
    model, x = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)), torch.randn(3, 2, 6, 6)
    found = ntk(model, x)
    assert found.dtype == torch.float32
    assert by_graph(model) == [True]
    close(found.double(), kernel(model.double(), x.double()), 1e-6)


class Unruled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, d):
        return d


class Wider(nn.Module):
    """Numbers in single precision times some in double precision."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x.float()))) * torch.tensor([1.0, 2.0], dtype=torch.float64)


class Wrong(nn.Module):
    """A hook on what is in between doubles the gradient: autograd says so, and the graph does not show it."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4).double(), nn.Linear(4, 2).double()

    def forward(self, x):
        z = torch.tanh(self.first(x))
        if z.requires_grad:
            z.register_hook(lambda d: 2 * d)
        return self.last(z)


ELSEWHERE = {
    "a function of one's own": (lambda: Made(lambda x, W: Unruled.apply(x @ W), (3, 2)), (4, 3)),
    "no rule": (lambda: Made(lambda x, W: torch.erfc(x @ W), (3, 2)), (4, 3)),
    "a recurrent layer": (lambda: Last(nn.LSTM(3, 2, batch_first=True).double()), (4, 5, 3)),
    "several types": (lambda: Made(lambda x, W, V: (x @ W).float() @ V.float(), (3, 2), (2, 2)), (4, 3)),
    "a wider constant": (lambda: Wider(), (4, 3)),
    "a transposed convolution": (
        lambda: Made(lambda x, W: F.conv_transpose1d(x, W).flatten(1), (3, 2, 2)), (4, 3, 5)
    ),
    "a hook": (Wrong, (4, 3)),
    "a written view": (lambda: Made(lambda x, W: written(x @ W), (3, 2)), (4, 3)),
}  # fmt: skip


def written(z):
    z[:, 0] = z[:, 1] * 2
    return z


class Last(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


@pytest.mark.filterwarnings("ignore:ntk has no structured derivative")
@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_is_left_to_other_routes(case):
    make, shape = ELSEWHERE[case]
    model, x = make(), draw(*shape)
    wanted = kernel(model, x)
    for _ in range(2):
        close(ntk(model, x).double(), wanted, 1e-6 if case in ("several types", "a wider constant") else 1e-12)
    assert True not in by_graph(model)


def test_inputs_that_have_a_gradient():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), draw(4, 3).requires_grad_()
    close(ntk(model, x), kernel(model, x.detach()))
    assert by_graph(model) == [True]
    assert x.grad is None


def test_what_is_checkpointed():
    layer, last = nn.Linear(3, 4).double(), nn.Linear(4, 2).double()

    class Checkpointed(nn.Module):
        def __init__(self, reentrant):
            super().__init__()
            self.layer, self.last, self.reentrant = layer, last, reentrant

        def forward(self, x):
            return self.last(checkpoint(lambda x: torch.tanh(self.layer(x)) ** 2, x, use_reentrant=self.reentrant))

    x = draw(4, 3)
    model = Checkpointed(False)
    close(ntk(model, x), kernel(model, x))


def test_a_parametrised_weight():
    model = nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2)).double()
    x = draw(4, 3)
    close(ntk(model, x), kernel(model, x))


class Viewed(nn.Module):
    """Convolutions of channels by themselves, which like their channels last, and a view that wants them first."""

    def __init__(self, how):
        super().__init__()
        self.layer, self.last, self.how = nn.Conv2d(2, 4, 3, groups=2).double(), nn.Linear(4 * 12, 2).double(), how

    def forward(self, x):
        z = torch.tanh(self.layer(x))
        return self.last(self.how(z))


@pytest.mark.parametrize(
    ("how", "last"),
    [
        (lambda z: z.view(len(z), -1), False),
        (lambda z: (z * z.stride(1)).flatten(1), False),
        (lambda z: z.reshape(len(z), -1), True),
    ],
)
@pytest.mark.filterwarnings("ignore:ntk has no structured derivative")
def test_layouts(how, last):
    """Channels last where nothing depends on it; else as they were."""
    model, x = Viewed(how), draw(3, 2, 5, 6)
    wanted = kernel(model, x)
    for _ in range(2):
        close(ntk(model, x), wanted)
    assert [seen.channels_last for seen in jacobian._SEEN[model].values()] == [last]


@pytest.mark.filterwarnings("ignore:ntk has no structured derivative")
def test_a_view_behind_a_convolution_that_is_given_another_form():
    """Along the other route, too, where functions are noted one by one."""
    model, x = Viewed(lambda z: Unruled.apply(z).view(len(z), -1)), draw(3, 2, 5, 6)
    close(ntk(model, x), kernel(model, x))


def test_another_version_of_pytorch_that_keeps_other_things(monkeypatch):
    """A rule that fails leaves the model to the other route."""
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), draw(4, 3)
    wanted = kernel(model, x)

    def fails(way, node, d, place):
        return node.fn._saved_of_another_name

    monkeypatch.setitem(RULES, "TanhBackward0", fails)
    close(ntk(model, x), wanted)
    assert by_graph(model) == [False]


def test_a_wrong_rule_is_not_believed(monkeypatch):
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), draw(4, 3)
    wanted = kernel(model, x)
    monkeypatch.setitem(RULES, "TanhBackward0", lambda way, node, d, place: way.give(node.edges[0], 2 * d, place))
    close(ntk(model, x), wanted)
    assert by_graph(model) == [False]


def test_a_graph_that_joins_the_same_functions_otherwise_is_checked_anew(monkeypatch):
    class Crossed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3).double(), nn.Linear(3, 3).double()
            self.turned = False

        def forward(self, x):
            first, second = (self.b, self.a) if self.turned else (self.a, self.b)
            return second(torch.tanh(first(x)))

    model, x, checks = Crossed(), draw(4, 3), []
    confirm = jacobian.Jacobian._unconfirmed
    monkeypatch.setattr(jacobian.Jacobian, "_unconfirmed", lambda *given: checks.append(1) or confirm(*given))
    for turned, count in ((False, 1), (False, 1), (True, 2), (True, 2)):
        model.turned = turned
        close(ntk(model, x), kernel(model, x))
        assert len(checks) == count


class Plainly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, d):
        return d


@pytest.mark.parametrize("memory", [1, 2**28])
def test_blocks_along_the_graph_and_blocks_otherwise_make_one_kernel(memory, monkeypatch):
    """What no rule knows may come up in a later block only."""

    class Some(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)

        def forward(self, x):
            z = self.norm(self.first(x))
            return self.last(torch.tanh(Plainly.apply(z) if x[0, 0] > 0 else z))

    monkeypatch.setattr("lineament.torch.kernel._AT_ONCE", 1)
    model, x = Some().double(), draw(6, 3)
    x[:, 0] = torch.tensor([-1, -1, 1, 1, -1, 1])
    for some in (x, x.flip(0)):
        close(ntk(model, some, memory=memory), kernel(model, some))


def test_forms_of_one_derivative_may_differ_from_block_to_block():
    d, a = draw(2, 3, 1, 4, 5), draw(2, 1, 4, 6)
    outer = derivatives_of.Outer(a, d, lambda x: x, 6)
    whole = lineament.torch.kernel._joined([{"W": outer}, {"W": derivatives_of.Dense(outer.dense())}], [2, 2])
    close(whole["W"].dense(), torch.cat([outer.dense()] * 2))


def test_what_a_pass_kept_is_given_up_on_the_way():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), draw(4, 3)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    graph = graph_of(model(x), names)
    graph.derivatives(1)
    assert not any(graph.nodes)


def test_what_was_written_into_is_refused():
    W = nn.Parameter(draw(3, 2))
    z = torch.tanh(draw(4, 3) @ W)
    out = z * z
    with torch.no_grad():
        z.mul_(2)
    with pytest.raises(UnknownError):
        graph_of(out, {id(W): "W"}).derivatives(2)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    ("shape", "axis", "new", "wanted"),
    [
        (("n", 6), 0, ("n", 2, 3), (0, 1, 1)),
        (("n", 2, 3), 0, ("6n",), (0, 1, 6)),
        ((5, "n", 4), 1, (5, "4n"), (1, 1, 4)),
        ((5, "n", 4), 1, ("5n", 4), (0, 5, 1)),
        ((5, "n", 4), 1, (1, 5, 1, "n", 2, 2), (3, 1, 1)),
        ((5, "n"), 1, ("5n",), (0, 5, 1)),
    ],
)
def test_places_through_views(n, shape, axis, new, wanted):
    """Where numbers that name their example are found again."""
    sizes = lambda sides: [s if isinstance(s, int) else n * int(s[:-1] or 1) for s in sides]  # noqa: E731
    shape, new = sizes(shape), sizes(new)
    names = torch.arange(n).view([-1 if k == axis else 1 for k in range(len(shape))]).expand(shape).reshape(new)
    where = viewed(Place(axis), shape, new, n)
    assert where == Place(*wanted)
    back = viewed(where, new, shape, n)
    assert back == Place(axis)
    found = apart(names[None], where, n)
    assert all(bool((found[k] == k).all()) for k in range(n))
    first = few(names[None], where, n, 2)
    assert bool((first < 2).all())
    assert first.numel() == int((names < 2).sum())


def test_views_that_split_examples_are_unknown():
    with pytest.raises(UnknownError):
        viewed(Place(0), (4, 3), (2, 6), 4)
    with pytest.raises(UnknownError):
        place.refuse_along(Place(1), 0, 1)
    place.refuse_along(Place(1), 0, 2)
    place.refuse_along(None, 0, 1)


def test_what_is_broadcast_from_a_tensor_of_all_examples_keeps_them_apart():
    d, n = draw(2, 7, 3, 5), 3
    found, where = onto(d, Place(1), (3, 5), n)
    assert where == Place(0)
    close(found, d.sum(1))
    found, where = onto(d, Place(1), (1, 3, 1), n)
    assert where == Place(1)
    close(found, d.sum((1, 3)).view(2, 1, 3, 1))


def test_layers_that_no_rule_is_sure_of():
    """Statistics of a batch, examples that are not the first axis, and gradients scaled by how often a row occurs."""

    def refused(f, *shapes):
        made = Made(f, *shapes)
        out = made().reshape(4, -1)
        with pytest.raises(UnknownError):
            graph_of(out, {id(p): name for name, p in made.named_parameters()}).derivatives(16)

    x = draw(4, 2, 5)
    refused(lambda W: F.batch_norm(F.conv1d(x, W), None, None, training=True), (2, 2, 1))
    refused(lambda W: F.conv1d(x.flatten(0, 1)[:, None], W), (2, 1, 1))
    refused(lambda W: F.conv_transpose1d(x, W), (2, 2, 1))
    refused(lambda W: F.embedding(torch.tensor([0, 1, 1, 2]), W, scale_grad_by_freq=True), (3, 2))
    refused(lambda W: torch.tanh(x.flatten(1) @ W)[torch.tensor([1, 0, 2, 3])], (10, 2))
    refused(lambda W: torch.tanh(x.flatten(1) @ W).softmax(0), (10, 2))
    refused(lambda W: (lambda z: z + z.T)(torch.tanh(x.flatten(1) @ W)), (10, 4))
    refused(lambda W: torch.cat([torch.tanh(x.flatten(1) @ W)[2:], torch.tanh(x.flatten(1) @ W)[:2]]), (10, 2))
    refused(lambda W: torch.tanh(x.flatten(1) @ W).view(2, 2, -1).transpose(0, 1).reshape(4, -1), (10, 2))


@pytest.mark.parametrize("at", [None, Place(0), Place(1), Place(1, 2, 1), Place(1, 1, 2), Place(0, 2, 3)])
@pytest.mark.parametrize("shape", [(5,), (1, 5), (4, 1), (1, 1, 1), (), (7, 1, 1), (1, 4, 1)])
def test_sums_over_what_was_broadcast(at, shape):
    """Over all that it was broadcast to; examples stay apart."""
    n, k = 3, 2
    sizes = [7, 4, 5]
    if at is not None:
        sizes[at.axis] = at.before * n * at.after
        if len(shape) == 3 - at.axis + (0 if len(shape) < 3 else at.axis) and shape[at.axis - 3 + len(shape)] != 1:
            pytest.skip("not broadcast there")
    if any(a not in (1, b) for a, b in zip(reversed(shape), reversed(sizes), strict=False)):
        pytest.skip("not broadcast so")
    d = draw(*((k if at is not None else n * k), *sizes))
    found, where = onto(d, at, shape, n)
    u = draw(*shape).requires_grad_()
    if at is None:
        rows = [torch.autograd.grad(u.expand(sizes), u, one)[0] for one in d]
        close(found, torch.stack(rows), 1e-12)
        assert where is None
        return
    split = apart(d, at, n)
    rows = []
    for i, j in product(range(n), range(k)):
        whole = u.expand(sizes).unflatten(at.axis, (at.before, n, at.after)).movedim(at.axis + 1, 0)[i]
        rows.append(torch.autograd.grad(whole.flatten(at.axis, at.axis + 1), u, split[i, j])[0])
    assert where is None
    close(found, torch.stack(rows), 1e-12)
