"""Whatever route is taken to a derivative or a kernel, the numbers are the same; and which is taken where."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from lineament.torch import backwards, batched, contract, derivatives, jacobian, kernel, ntk, taps  # noqa: E402
from lineament.torch.contract import Tile, by_pairs  # noqa: E402
from lineament.torch.derivatives import Lookup, Outer  # noqa: E402


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def close(found, wanted, rtol=1e-12):
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=1e-12)


def kernel_of(p, q, outputs):
    """The inner products of derivatives that are written out."""
    whole = torch.einsum("xip,yjp->xyij", p.dense(), q.dense())
    diagonal = torch.einsum("xyii->xyi", whole)
    return {"all": whole, "diagonal": diagonal, "mean": diagonal.sum(2)}[outputs]


def outer(examples, outputs, groups, positions, out, fan_in):
    x, d = draw(examples, groups, positions, fan_in), draw(examples, outputs, groups, positions, out)
    return Outer(x, d, lambda x: x, fan_in)


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
def test_pairs_of_positions_are_met_where_there_are_few_and_the_layer_is_wide(outputs):
    for others in (1, 1000):
        assert by_pairs(outer(2, 3, 1, 1, 300, 2000), outputs, others)
        assert not by_pairs(outer(2, 3, 1, 300, 4, 4), outputs, others)
        assert not by_pairs(outer(2, 3, 2, 1, 300, 2000), outputs, others), "each group would be a product of its own"


def test_a_product_has_as_many_columns_as_fit_a_cache():
    least, most = contract._COLUMNS
    for rows, c in ((1, 1), (8, 4), (9, 7), (60, 1), (100, 10), (2**17, 1)):
        columns, piece = Tile(rows, 0, c, "mean", draw(1), False).columns, contract._PIECE
        assert least <= columns <= most
        assert columns == least or columns * rows * c <= piece
        assert columns == most or (columns + 1) * rows * c > piece


@pytest.mark.parametrize("added", [1, 7, 40, 10**6])
@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
def test_sums_are_rounded_up_some_examples_at_a_time(monkeypatch, outputs, added):
    monkeypatch.setattr(contract, "_ADDED", added)
    p, q = outer(7, 2, 1, 2, 3, 4), outer(5, 2, 1, 2, 3, 4)
    tile = Tile(7, 5, 2, outputs, p.x, False)
    for _ in range(2):
        tile.gram(p.dense(), q.dense())
    close(tile.result(), 2 * kernel_of(p, q, outputs))


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("rows", [3, 1000])
def test_tables_meet_by_pairs_of_positions_or_by_the_rows_that_occur(monkeypatch, outputs, same, rows):
    """By the first where many rows occur, once the cost of an entry is nothing; by the second where it is much."""
    width = 2
    for (t, s), entry, memory in product(((1, 1), (2, 2), (3, 1)), (0, 10**9), (1.0, 1e9)):
        monkeypatch.setattr(contract, "_ENTRY", entry)
        p = Lookup(torch.randint(rows, (6, t)), draw(6, 3, t, width), rows)
        q = p if same else Lookup(torch.randint(rows, (4, s)), draw(4, 3, s, width), rows)
        tile, met = Tile(6, len(q.index), 3, outputs, p.d, same), []
        meet = tile._meet
        monkeypatch.setattr(tile, "_meet", lambda *given, meet=meet, met=met: (met.append(1), meet(*given)))
        tile._lookups(p, q, memory)
        occurring = len(torch.unique(torch.cat([p.index.flatten(), q.index.flatten()])))
        assert bool(met) is (t * q.index.shape[1] * (width + entry) <= occurring * width)
        close(tile.result(), kernel_of(p, q, outputs))


@pytest.mark.parametrize("columns", [1, 5, 100])
def test_rows_that_occur_are_written_out_some_numbers_at_a_time(monkeypatch, columns):
    """As many as a product has columns, and none is left out."""
    index, width = torch.tensor([[0, 7, 7], [3, 0, 3]]), 6
    p = Lookup(index, draw(2, 2, 3, width), 9)
    tile, seen = Tile(2, 2, 2, "all", p.d, True), []
    tile.columns = columns
    gram = tile.gram
    monkeypatch.setattr(tile, "gram", lambda J, K: (seen.append(J.shape[2] // 3), gram(J, K)))
    tile._lookups(p, p, 1e9)
    assert sum(seen) == width
    assert seen[0] == min(width, -(-columns // 3))
    close(tile.result(), kernel_of(p, p, "all"))


@pytest.mark.parametrize("limit", [0, 10**6])
@pytest.mark.parametrize(
    ("x", "weight", "how"),
    [
        ((2, 4, 9), (6, 4, 3), {}),
        ((2, 4, 9), (6, 2, 1), {"groups": 2}),
        ((2, 4, 9), (6, 2, 3), {"groups": 2, "stride": 2, "padding": 1, "dilation": 2}),
        ((2, 4, 9), (4, 1, 3), {"groups": 4, "stride": 2, "padding": 2}),
        ((2, 3, 6, 7), (5, 3, 1, 1), {}),
        ((2, 3, 6, 7), (5, 3, 1, 1), {"stride": (2, 1)}),
        ((2, 3, 6, 7), (5, 3, 1, 1), {"padding": (0, 1)}),
        ((2, 3, 6, 7), (5, 3, 2, 3), {"stride": (1, 2), "padding": (2, 1)}),
        ((2, 3, 6, 7), (5, 3, 2, 3), {"padding": "same", "dilation": (2, 1)}),
        ((2, 3, 6, 7), (5, 3, 2, 3), {"padding": "valid", "dilation": (1, 2)}),
        ((2, 4, 6, 9), (4, 1, 3, 2), {"groups": 4, "stride": (2, 3), "padding": (0, 1), "dilation": (1, 2)}),
        ((2, 4, 6, 9), (8, 1, 3, 5), {"groups": 4, "padding": "same"}),
        ((2, 2, 4, 5, 4), (4, 1, 2, 3, 1), {"groups": 2, "stride": (1, 2, 2), "padding": (1, 0, 1)}),
        ((2, 2, 4, 5, 4), (2, 1, 2, 2, 2), {"groups": 2, "dilation": (1, 2, 3)}),
    ],
    ids=str,
)
def test_convolutions_take_their_patches_by_every_route(monkeypatch, x, weight, how, limit):
    """As views or as copies, channels alone at few positions or at many: derivatives are those of autograd."""
    for name in ("_SINGLE", "_LONG"):
        monkeypatch.setattr(derivatives, name, limit)
    x, W, b = draw(*x), draw(*weight).requires_grad_(), draw(weight[0]).requires_grad_()
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[W.ndim - 3]
    z = convolve(x, W, b, **how)
    d = draw(2, 3, *z.shape[1:])
    given = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | how
    found = derivatives.by_convolution(x, W.shape[2:], *given.values(), "weight", "bias")(d)
    v = draw(2, 3)
    for part, parameter in ((found["weight"], W), (found["bias"], b)):
        rows = [
            torch.autograd.grad(z[i], parameter, d[i, k], retain_graph=True)[0].flatten()
            for i, k in product(range(2), range(3))
        ]
        wanted = torch.stack(rows).unflatten(0, (2, 3))
        close(part.dense(), wanted)
        if isinstance(part, Outer):
            close(part.weighted(v), torch.einsum("bc,bcp->p", v, wanted))
        bound = derivatives._size(part)
        assert bound >= wanted.norm() * (1 - 1e-12)
        assert bound <= 30 * wanted.norm(), "no tighter than it must be, but of that order"


@pytest.mark.parametrize(("positions", "fan_in"), [(1, 5), (5, 5), (6, 5), (2, 5), (9, 1)])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_sum_over_positions_is_written_out_by_either_product(positions, fan_in, groups):
    part = outer(3, 2, groups, positions, 4, fan_in)
    wanted = torch.einsum("bcgto,bgti->bcgoi", part.d, part.a)
    close(part.some(0, 4), wanted)
    close(part.some(1, 3), wanted[:, :, :, 1:3])
    close(part.dense(), wanted.flatten(2))


def test_what_is_remembered_of_a_model_is_no_more_than_some_kinds_of_inputs():
    model = nn.Sequential(nn.Conv1d(1, 2, 2), nn.Tanh(), nn.AdaptiveAvgPool1d(1), nn.Flatten()).double()
    lengths = range(3, 5 + jacobian._KINDS)
    for length in lengths:
        ntk(model, draw(2, 1, length))
    known = jacobian._SEEN[model]
    assert len(known) == jacobian._KINDS
    assert [shapes[0][0][1] for shapes, _ in known] == [*lengths][-jacobian._KINDS :]


@pytest.mark.parametrize("sizes", [(3, 1), (2, 3, 4), (5,)])
@pytest.mark.parametrize("form", ["outer", "lookup", "dense", "summed"])
def test_blocks_of_examples_and_of_outputs_become_one(form, sizes):
    """Whatever their form, and with the bound of all."""

    def part(examples, outputs, shared):
        d = draw(examples, outputs, 1, 3, 4)
        if form == "outer":
            return Outer(shared[:examples], d, lambda x: x, 2)
        if form == "lookup":
            return Lookup(shared[:examples, 0, :, 0].abs().long(), d[:, :, 0], 9)
        return derivatives._summed(d[:, :, 0], 2) if form == "summed" else derivatives.Dense(d.flatten(2))

    shared = 3 * draw(6, 1, 3, 2)
    by_outputs = [part(4, size, shared) for size in sizes]
    by_examples = [part(size, 2, 3 * draw(6, 1, 3, 2)) for size in sizes]
    for axis, parts in ((1, by_outputs), (0, by_examples)):
        for bounded in (False, True):
            whole = derivatives.joined(parts, axis, bounded)
            close(whole.dense(), torch.cat([each.dense() for each in parts], axis))
            if bounded or form in ("outer", "lookup"):
                few = whole.first(2).dense().norm()
                assert derivatives._size(whole) >= few * (1 - 1e-12)
    if form in ("dense", "summed"):
        whole = derivatives.joined(by_outputs, 1, True)
        squares = sum(float(derivatives._size(each)) ** 2 for each in by_outputs)
        assert float(derivatives._size(whole)) == pytest.approx(np.sqrt(squares), rel=1e-12)


@pytest.mark.parametrize("where", [0, 1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_bounds_of_a_convolution_with_its_normalisation_are_reached(where, bias):
    """By one term in the channel whose scales are the largest, with a weight along it; others may be far smaller."""
    size = 10.0 ** torch.tensor([-3.0, -2.0, -1.0]).double()
    size[where] = 5.0
    scale, over, shift = (sign * size for sign in (-1.0, 1.0, 1.0))
    a, d, W = draw(2, 1, 4), torch.zeros(2, 1, 3, 1, 1).double(), torch.zeros(3, 4, 1, 1).double()
    a[1] = 0
    d[0, 0, where] = 2.0
    W[where, :, 0, 0] = 3 * a[0, 0]

    def convolution(d):
        return {"weight": Outer(a[:, None], d[..., 0].transpose(2, 3)[:, :, None], lambda x: x, 4)}

    found = derivatives.by_written(
        convolution, W, scale, over, shift, "weight", "bias" if bias else "", "gain", "offset"
    )(d)
    assert set(found) == {"weight", "gain", "offset", *(["bias"] if bias else [])}
    for part in found.values():
        close(part.bound(), part.J[:2].norm())


class Kept(nn.Module):
    """Places of every kind: a convolution with its normalisation, and a view of a parameter that is added."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.shift = nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.Parameter(draw(2, 1))

    def forward(self, x):
        return (self.norm(self.conv(x)) + self.shift[:, :, None]).tanh().flatten(1)


def test_nothing_is_held_of_a_pass_but_its_places():
    model = Kept().double().eval()
    x, names = draw(3, 1, 3, 3), {id(parameter): name for name, parameter in model.named_parameters()}
    with taps.Taps(names, 3, False) as noted:
        model(x)
    assert noted.versions
    assert noted.views
    assert noted.convolved
    run, _ = jacobian.Jacobian(model)._forward((x,))
    assert not any((run.versions, run.views, run.convolved))
    assert len(run.found) == len(noted.found) == 3


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
def test_contributions_are_added_up_in_double_precision(outputs):
    """A hundred of one each, to one of 2²⁴, which single precision would not notice."""
    large, small = torch.full((2, 1, 1), 2.0**12), torch.ones(2, 1, 1)
    tile = Tile(2, 2, 1, outputs, large, False)
    tile.columns = 1  # each is a product of its own
    for J in (large, *(small for _ in range(100))):
        tile.gram(J, J)
    found = tile.result()
    assert found.dtype == torch.float32
    assert bool((found == 2.0**24 + 100).all())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, contract._HALVED - 1, contract._HALVED, contract._HALVED + 1])
def test_a_matrix_times_itself_is_what_it_is_times_another(dtype, rows):
    """Also in half precision, which NumPy's routines do not take."""
    A = draw(rows, 5).to(dtype)
    wanted = A.double() @ A.double().T
    for same in (True, False):
        found = contract._product(A, A, same)
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=4 * torch.finfo(dtype).eps * 25)


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize(
    ("channels", "out", "groups"), [(4, 4, 4), (4, 8, 4), (4, 4, 2), (4, 2, 2), (3, 2, 1), (1, 1, 1)]
)
@pytest.mark.parametrize("kernel", [(3, 2), (1, 2), (2, 1)])
def test_the_transpose_of_a_convolution_is_its_derivative_by_the_picture(stride, channels, out, groups, kernel):
    """Of channels each by itself too, which is a convolution where the edges are not cut off."""
    W, size = draw(out, channels // groups, *kernel), torch.Size((8, 9))
    for padding, dilation in product(((0, 0), (1, 0), (2, 1), (1, 3), (4, 1)), ((1, 1), (2, 1), (1, 2))):
        x = draw(2, channels, *size).requires_grad_()
        z = functional.conv2d(x, W, None, stride, padding, dilation, groups)
        d = torch.randn_like(z)
        (wanted,) = torch.autograd.grad(z, x, d)
        close(batched._transposed(d, W, size, stride, padding, dilation, groups), wanted)


@pytest.mark.parametrize("few", [1, 20, 2**23])
@pytest.mark.parametrize("several", [1, 3, 16])
def test_outputs_go_together_as_far_as_the_largest_place_allows(monkeypatch, several, few):
    """One at a time where it is larger than that."""
    monkeypatch.setattr(backwards, "_OUTPUTS", several)
    monkeypatch.setattr(backwards, "_FEW", few)
    passes, some = [], backwards.Backwards._some
    monkeypatch.setattr(
        backwards.Backwards, "_some", lambda self, begin, end: (passes.append(end - begin), some(self, begin, end))[1]
    )
    model, x = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 5)).double(), draw(2, 2)
    found = jacobian.Jacobian(model)((x,))
    given = {name: value.detach() for name, value in model.named_parameters()}
    wanted = torch.func.jacrev(lambda p: torch.func.functional_call(model, p, (x,)))(given)
    for name, part in found.items():
        close(part.dense(), wanted[name].flatten(2))
    assert sum(passes) == 5
    assert passes[0] == min(5, several, max(1, few // 10))  # the largest place: five numbers of two examples


@pytest.mark.parametrize("stripe", [2, 4, 7])
@pytest.mark.parametrize("same", [False, True])
def test_derivatives_are_held_of_one_stripe_and_of_one_block_beside_it(monkeypatch, stripe, same):
    shapes, plan, tile = [], kernel._plan, kernel.Tile
    monkeypatch.setattr(kernel, "_EXAMPLES", 2)
    monkeypatch.setattr(kernel, "_plan", lambda *given: plan(*given)._replace(stripe=stripe))
    monkeypatch.setattr(kernel, "Tile", lambda *given: (shapes.append((*given[:2], given[-1])), tile(*given))[1])
    model, x, y = nn.Sequential(nn.Linear(3, 2), nn.Tanh()).double(), draw(7, 3), draw(5, 3)
    J = jacobian.Jacobian(model)
    left, right = (J((part,)) for part in (x, x if same else y))
    wanted = sum(kernel_of(part, right[name], "all") for name, part in left.items())
    close(ntk(model, x, None if same else y), wanted)
    assert all(rows <= stripe and columns <= (stripe if itself else 2) for rows, columns, itself in shapes)
    assert sum(itself for *_, itself in shapes) == (-(-7 // stripe) if same else 0)
