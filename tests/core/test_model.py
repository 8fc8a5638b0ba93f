"""A model the package has never seen trains like its own; a wrong one is refused by what it lacks."""

from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.measure import kernels

X = np.random.default_rng(0).normal(size=(12, 2))
PROBLEM = la.problems.regression(X, np.sin(X[:, 0]))


class Waves(la.AbstractModel):
    """`f(x) = Σ_r a_r sin(w_r·x + b_r)`."""

    inputs: int = eqx.field(static=True)
    waves: int = eqx.field(static=True)

    @property
    def shape(self):
        return 1, self.inputs

    def layout(self):
        d, m = self.inputs, self.waves
        return {
            "w": la.Parameter((m, d), fan_in=d, fan_out=m),
            "b": la.Parameter((m,), fan_in=d, fan_out=m, kind="bias"),
            "a": la.Parameter((m,), fan_in=m, fan_out=1),
        }

    def end_to_end(self, parameters):
        return lambda x: (jnp.sin(x @ parameters["w"].T + parameters["b"]) @ parameters["a"])[:, None]


NET = Waves(2, 5)
STARTS = [la.starts.he, la.starts.glorot, la.starts.torch_default]


@pytest.fixture(autouse=True)
def as_a_user():
    with jax.numpy_rank_promotion("allow"):
        yield


@jax.jit
def gradient(parameters):
    return jax.grad(lambda p: PROBLEM.loss(NET.end_to_end(p)))(parameters)


@pytest.mark.parametrize("start", STARTS)
def test_it_descends_as_written_out(start):
    parameters = first = start(NET, 0)
    run = la.descend(NET, PROBLEM, first, step_size=0.1, steps=20, record=("loss", "outputs"))
    for _ in range(20):
        parameters = jax.tree.map(lambda p, g: np.asarray(p - 0.1 * g), parameters, gradient(parameters))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), run.final, parameters)
    np.testing.assert_allclose(run.outputs[-1], NET.end_to_end(parameters)(jnp.asarray(X)), rtol=1e-10)


def test_an_ensemble_of_it_trains_in_batches_and_flows():
    start = la.ensemble(lambda key: la.starts.he(NET, key), jax.random.split(jax.random.key(0), 3))
    norm = la.Record("norm", lambda model, problem, p: jnp.linalg.norm(p["w"], axis=1), ("wave",))
    run = la.descend(NET, PROBLEM, start, step_size=0.1, steps=200, batch_size=4, key=0, record=("loss", norm))
    assert run.norm.dims == ("member", "step", "wave")
    assert (run.loss[:, -1] < 0.5 * run.loss[:, 0]).all()
    flow = la.flow(NET, PROBLEM, start, times=[0.0, 1e-4], record=("loss", lambda p: p["a"]))
    for member in range(3):
        slope = sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient(start[member])))
        fall = float(flow.loss[member, 0] - flow.loss[member, 1])
        assert fall == pytest.approx(1e-4 * float(slope), rel=1e-2)


def test_its_tangent_kernel_is_that_of_its_jacobian():
    parameters = la.starts.torch_default(NET, 0)
    jacobian = jax.jit(jax.jacrev(lambda p: NET.end_to_end(p)(jnp.asarray(X))[:, 0]))(parameters)
    J = np.concatenate([np.asarray(leaf).reshape(len(X), -1) for leaf in jax.tree.leaves(jacobian)], axis=1)
    np.testing.assert_allclose(kernels.empirical(NET, parameters, X), J @ J.T, atol=1e-12)


def test_matrices_have_a_tangent_kernel_too():
    net = la.models.DeepLinear((2, 3, 2))
    layers = la.starts.gaussian(net, 0, start_scale=1.0)
    jacobian = jax.jit(jax.jacrev(lambda p: jnp.asarray(X) @ net.end_to_end(p).T))(layers)
    J = np.concatenate([np.asarray(leaf).reshape(len(X), 2, -1) for leaf in jacobian], axis=2)
    np.testing.assert_allclose(kernels.empirical(net, layers, X), np.einsum("nkp,mlp->nmkl", J, J), atol=1e-12)


def test_a_model_that_lacks_a_method_is_refused_by_its_name():
    class Mapless(la.AbstractModel):
        shape: tuple[int, ...] = eqx.field(static=True)

        def layout(self):
            return ()

    class Shapeless(la.AbstractModel):
        def layout(self):
            return ()

        def end_to_end(self, parameters):
            return parameters

    with pytest.raises(TypeError, match="end_to_end"):
        Mapless((1, 2))
    with pytest.raises(TypeError, match="shape"):
        Shapeless()


def test_what_is_no_model_or_no_problem_is_refused_by_what_it_lacks():
    class Foreign:
        shape = (1, 2)

        def end_to_end(self, parameters):
            return parameters

    start = jnp.ones((1, 2))
    with pytest.raises(
        TypeError, match=r"model must be a lineament\.core.AbstractModel; got Foreign, which lacks layout"
    ):
        la.descend(Foreign(), PROBLEM, start, step_size=0.1, steps=1)
    with pytest.raises(TypeError, match=r"problem must be .*AbstractProblem; got Foreign, which lacks loss"):
        la.flow(NET, Foreign(), la.starts.he(NET, 0), until=1.0)


class Distance(la.AbstractProblem):
    """`½‖W − W*‖²` without an optimum of its own."""

    target: jax.Array

    @property
    def shape(self):
        return self.target.shape[-2:]

    def loss(self, map):
        return 0.5 * jnp.sum((map - self.target) ** 2)


def test_a_problem_of_ones_own_trains_and_its_unknown_optimum_is_refused_before_anything_runs(monkeypatch):
    target = jnp.array([[1.0, 2.0]])
    net, problem = la.models.DeepLinear((2, 1)), Distance(target)
    start = la.starts.gaussian(net, 0, start_scale=1.0)
    run = la.flow(net, problem, start, until=3.0)
    np.testing.assert_allclose(run.loss, run.loss[0] * np.exp(-2 * run.time), rtol=1e-5)
    monkeypatch.setattr(import_module("lineament.train.flow"), "solve", None)
    X, y = np.eye(2), np.array([0, 1])
    functions = la.models.MLP((2, 3, 1), "tanh", "standard")
    linear = la.models.DeepLinear((2, 2))
    for model, what, begin, message in (
        (net, problem, start, "optimum of Distance is not known"),
        (
            linear,
            la.problems.cross_entropy(X, y),
            la.starts.gaussian(linear, 0, start_scale=1.0),
            "has no minimum here",
        ),
        (functions, la.problems.regression(X, y), la.starts.he(functions, 0), "optimum over functions"),
    ):
        with pytest.raises(ValueError, match=f"times must be given, for .*{message}.*`times` or `until`"):
            la.flow(model, what, begin)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("singular_values", "reads a matrix, but the map of Waves.* is a function of examples.*'outputs'"),
        ("unbalancedness", "reads a tuple of layers"),
        (la.Record("pair", lambda model, problem, p: (p["a"], p["b"])), "must return one array; got tuple"),
        (la.Record("wide", lambda model, problem, p: p["w"], ("one",)), r"dimensions \('one',\); got shape \(5, 2\)"),
    ],
)
@pytest.mark.parametrize("train", ["flow", "descend"])
def test_a_record_that_does_not_fit_is_refused_before_anything_runs(record, message, train, monkeypatch):
    monkeypatch.setattr(import_module("lineament.train.flow"), "solve", None)
    monkeypatch.setattr(import_module("lineament.train.descend"), "descend_all", None)
    how = {"until": 1.0} if train == "flow" else {"step_size": 0.1, "steps": 10}
    with pytest.raises(ValueError, match=message):
        getattr(la, train)(NET, PROBLEM, la.starts.he(NET, 0), record=(record,), **how)


def test_records_of_a_tensor_and_of_moments_are_refused():
    tensor = la.models.CP((2, 2, 2))
    problem = la.problems.tensor_completion([[0, 0, 0]], [1.0], (2, 2, 2))
    with pytest.raises(ValueError, match=r"reads a matrix, but the map of CP.* has shape \(2, 2, 2\)"):
        la.flow(tensor, problem, la.starts.gaussian(tensor, 0, deviation=1.0), record=("nuclear_norm",), until=1.0)
    net = la.models.DeepLinear((2, 2))
    with pytest.raises(ValueError, match="reads examples, but Regression has none"):
        la.flow(net, la.problems.whitened(np.eye(2)), la.starts.identity(net, 0.1), record=("outputs",))
