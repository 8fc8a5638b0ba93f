"""Float32 products are computed in full unless less is asked for; on a CPU all are, so what is traced is looked at."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament import measure, models, problems, starts, train
from lineament.core.precision import full_precision, products
from lineament.train.objective import value_and_gradient

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


@pytest.mark.parametrize(
    ("precision", "as_jax_names_it"), [("float32", "highest"), ("tf32", "default"), ("bf16", "BF16_BF16_F32")]
)
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


def _products_on_a_gpu(precision) -> list[str]:
    """The products of a step's loss and gradient, of a network with convolutions and dense layers, as a GPU gets them."""
    net = models.ConvNet((32, 32, 2), (8, 8), (4, 3), pooled=(0, 1), parameterisation="standard", bias=True)
    problem = problems.CrossEntropy(jnp.ones((2, 2048), jnp.float32), jnp.array([0, 1]), 3)
    start = starts.glorot(net, 0, dtype=jnp.float32)
    with products(precision):
        step = jax.jit(lambda parameters: value_and_gradient(net, problem, parameters, None)).trace(start)
        text = step.lower(lowering_platforms=("cuda",)).as_text()
    return [line for line in text.splitlines() if re.search(r"dot_general|stablehlo\.convolution", line)]


def test_every_product_of_a_step_has_factors_of_bfloat16_where_asked():
    found = _products_on_a_gpu("bf16")
    of_bfloat16 = r"\(tensor<[\dx]+bf16>, tensor<[\dx]+bf16>\)"
    to_bfloat16 = r"lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32"
    # Forwards, and backwards to the weights and to what came in, but for the images.
    assert len(found) == 3 * 4 - 1
    assert all(re.search(of_bfloat16, line) or re.search(to_bfloat16, line) for line in found)
    assert sum(bool(re.search(of_bfloat16, line)) for line in found) == 2 * 3 - 1  # of images and kernels
    # What a convolution gives is rounded once; what is added up over images, for kernels and layers, is not.
    assert sum(line.endswith("xbf16>") for line in found) == 2 + 1
    assert sum(line.endswith("xf32>") for line in found) == len(found) - 3


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_no_product_of_a_step_has_factors_of_bfloat16_unasked(precision):
    found = _products_on_a_gpu(precision)
    assert len(found) == 3 * 4 - 1
    assert not any("bf16" in line for line in found)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a GPU rounds factors where asked")
def test_a_cpu_computes_float32_products_in_full_whatever_is_asked():
    problem, start = _task()
    full, rounded = (
        la.descend(NET, problem, start, step_size=0.1, steps=3, precision=precision).loss.values
        for precision in ("float32", "bf16")
    )
    np.testing.assert_array_equal(full, rounded)


def test_factors_of_float64_are_not_rounded_to_bfloat16():
    problem, start = _task(jnp.float64)
    with pytest.raises(ValueError, match=r"precision must be .* in float64; got 'bf16'"):
        la.descend(NET, problem, start, step_size=0.1, steps=3, precision="bf16")
