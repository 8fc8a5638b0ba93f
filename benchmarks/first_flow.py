"""The first flow of a model, which must be compiled: `flow`, and the same by diffrax as one would write it."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import lineament as la

from .harness import Row, compare

WIDTHS, MEMBERS, RTOL = (4, 3, 3, 4), 20, 1e-8
TIMES = np.linspace(0.0, 3.0, 50)


def rows() -> list[Row]:
    """Whole calls per CPU second, nothing kept from the call before."""
    net = la.models.DeepLinear(WIDTHS)
    target = np.random.default_rng(0).normal(size=(WIDTHS[-1], WIDTHS[0]))
    problem = la.problems.whitened(target)
    start = la.ensemble(
        lambda key: la.starts.gaussian(net, key, start_scale=0.1), jax.random.split(jax.random.key(0), MEMBERS)
    )

    def ours() -> np.ndarray:
        jax.clear_caches()
        return la.flow(net, problem, start, times=TIMES, rtol=RTOL, tolerance=0.0).loss.values

    def by_diffrax() -> np.ndarray:
        jax.clear_caches()

        def loss(layers: tuple) -> jax.Array:
            product = layers[0]
            for layer in layers[1:]:
                product = layer @ product
            return 0.5 * jnp.sum((product - target) ** 2)

        def one(layers: tuple) -> jax.Array:
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, args: jax.tree.map(jnp.negative, jax.grad(loss)(y))), diffrax.Dopri8(),
                TIMES[0], TIMES[-1], None, layers,
                saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES), fn=lambda t, y, args: loss(y)),
                stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=1e-13), adjoint=diffrax.ForwardMode(),
            )  # fmt: skip
            assert solution.ys is not None
            return solution.ys

        return np.asarray(jax.jit(jax.vmap(one))(start.stacked))

    gap = float(np.max(np.abs(ours() - by_diffrax())))
    return [
        compare(
            f"first flow of {MEMBERS} networks {WIDTHS}, compiled anew", ("flow", ours, 1.0),
            ("diffrax.diffeqsolve", by_diffrax, 1.0), unit="calls", repeats=3, note=f"losses agree to {gap:.0e}",
        )
    ]  # fmt: skip
