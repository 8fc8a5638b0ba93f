"""The expanded networks of `cohen-f1r` and `cohen-s44`, which train in JAX, are those that `expand` makes in PyTorch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

import lineament as la
from lineament.torch import collapse, expand

IMAGE, FILTERS, DENSE, KERNEL, STEP = (8, 8, 2), (3, 5), (7, 4), 3, 0.1


class Rows(nn.Module):
    """Flatten as (row, column, channel), the order of the JAX network."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


def in_torch(weights):
    parts = []
    for kernel, bias in zip(weights.kernels, weights.kernel_biases, strict=True):
        filters = kernel.shape[1]
        conv = nn.Conv2d(kernel.shape[0] // KERNEL**2, filters, KERNEL, padding=KERNEL // 2).double()
        square = np.asarray(kernel).T.reshape(filters, KERNEL, KERNEL, -1).transpose(0, 3, 1, 2)
        conv.weight.data, conv.bias.data = (torch.from_numpy(np.array(x)) for x in (square, bias))
        parts += [conv, nn.ReLU(), nn.MaxPool2d(2)]
    parts.append(Rows())
    for (matrix,), bias in zip(weights.dense, weights.dense_biases, strict=True):
        dense = nn.Linear(*matrix.shape[::-1]).double()
        dense.weight.data, dense.bias.data = (torch.from_numpy(np.array(x)) for x in (matrix, bias))
        parts += [dense, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


@pytest.mark.parametrize("depth", [2, 3])
def test_a_step_of_the_expanded_network_is_the_same_in_both(depth):
    rng = np.random.default_rng(depth)
    X, labels = rng.normal(size=(20, np.prod(IMAGE))), rng.integers(0, DENSE[-1], 20)
    plain = la.starts.he(la.models.Conv(IMAGE, FILTERS, DENSE, KERNEL), 0, dtype=jnp.float64)
    plain = plain._replace(dense_biases=tuple(jnp.asarray(rng.normal(size=width)) for width in DENSE))

    net = la.models.Conv(IMAGE, FILTERS, DENSE, KERNEL, depth)
    weights = net.expand(plain, jax.random.key(1))
    problem = la.problems.cross_entropy(X, labels, DENSE[-1])
    slope = jax.jit(jax.grad(lambda w: problem.loss(net.end_to_end(w))))(weights)
    ours = net.end_to_end(jax.tree.map(lambda w, g: jnp.asarray(np.asarray(w) - STEP * np.asarray(g)), weights, slope))
    outputs = eqx.filter_jit(lambda map: map(jnp.asarray(X)))

    model = in_torch(plain)
    names = [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    expanded, _ = expand(model, depth, layers=names)
    inputs = torch.from_numpy(X.reshape(-1, *IMAGE).transpose(0, 3, 1, 2).copy())
    np.testing.assert_allclose(expanded(inputs).detach(), outputs(net.end_to_end(weights)), atol=1e-12)
    optimiser = torch.optim.SGD(expanded.parameters(), lr=STEP)
    nn.functional.cross_entropy(expanded(inputs), torch.from_numpy(labels)).backward()
    optimiser.step()

    stepped = collapse(expanded)
    for name, matrix, bias in zip(names, ours.dense, ours.dense_biases, strict=True):
        layer = stepped.get_submodule(name)
        np.testing.assert_allclose(layer.weight.detach(), matrix, atol=1e-12)
        np.testing.assert_allclose(layer.bias.detach(), bias, atol=1e-12)
    np.testing.assert_allclose(stepped(inputs).detach(), outputs(ours), atol=1e-11)
