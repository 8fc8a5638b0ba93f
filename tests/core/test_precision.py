"""Float32 products are computed in full unless TF32 is asked for; on a CPU all are, so what is traced is looked at."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament import measure, models, problems, starts, train
from lineament.core.precision import full_precision, products

NET = models.DeepLinear((3, 2, 2))


def _task(dtype=jnp.float32):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    return problems.regression(jnp.asarray(X, dtype), jnp.asarray(Y, dtype)), starts.gaussian(
        NET, 0, start_scale=0.1, dtype=dtype
    )


def _seen(run) -> set:
    """What JAX is set to while a record is traced."""
    seen = set()

    def spy(parameters):
        seen.add(jax.config.jax_default_matmul_precision)
        return parameters[0][0, 0]

    run(train.Record("spy", lambda model, problem, parameters: spy(parameters)))
    return seen - {None}  # before anything runs, a record is asked for its shape alone


@pytest.mark.parametrize(("precision", "as_jax_names_it"), [("float32", "highest"), ("tf32", "default")])
def test_descent_computes_as_asked_and_says_so(precision, as_jax_names_it):
    problem, start = _task()
    kept = []
    seen = _seen(
        lambda record: kept.append(
            la.descend(NET, problem, start, step_size=0.1, steps=3, record=(record,), precision=precision)
        )
    )
    assert seen == {as_jax_names_it}
    assert kept[0].settings["precision"] == precision


def test_descent_and_flow_use_all_digits_unless_asked():
    problem, start = _task()
    assert _seen(lambda record: la.descend(NET, problem, start, step_size=0.1, steps=3, record=(record,))) == {
        "highest"
    }
    problem, start = _task(jnp.float64)
    assert _seen(lambda record: la.flow(NET, problem, start, until=1.0, record=(record,))) == {"highest"}


def test_tangent_kernels_use_all_digits():
    seen = set()

    def function(parameters, x):
        seen.add(jax.config.jax_default_matmul_precision)
        return x @ parameters

    measure.kernels.empirical(function, jnp.ones(3), np.ones((4, 3)))
    assert seen == {"highest"}


def test_the_setting_ends_with_the_block():
    before = jax.config.jax_default_matmul_precision
    with products("float32"):
        text = jax.jit(lambda A: A @ A).lower(jnp.ones((2, 2), jnp.float32)).as_text()
    assert "precision = [HIGHEST, HIGHEST]" in text
    assert full_precision(lambda: jax.config.jax_default_matmul_precision)() == "highest"
    assert jax.config.jax_default_matmul_precision == before


def test_another_precision_is_refused():
    problem, start = _task()
    with pytest.raises(ValueError, match="precision must be one of"):
        la.descend(NET, problem, start, step_size=0.1, steps=3, precision="fp8")
