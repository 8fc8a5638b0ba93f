"""Every public function of `theory` and `measure`, every argument, every kind of bad value: an error that names it.

One valid call for each function is in the table below; a function that is missing there fails the first test. What is
put in the place of an argument follows from its valid value: numbers, whole numbers, words, functions, truth values,
layers, objects of the library's own types. Some values are never right and must be refused by a `ValueError` whose
message names the argument. Others may be right (infinity, zero, a stack of matrices): they are refused in the same way,
or give a result. Nothing else may come out: no traceback of a dependency, no warning.
"""

import inspect
import re
import warnings
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

from lineament import measure, theory
from lineament.measure import neurons
from lineament.theory import early_stopping, riccati, twin

EYE, ONE = np.eye(2), np.ones((2, 2))
TARGET = np.array([[2.0, 0.3], [0.1, 1.0]])
START = np.array([[0.2, 0.05], [0.0, 0.1]])
X = np.random.default_rng(0).normal(size=(6, 2))
Y = X @ TARGET.T
TASK = early_stopping.task([2.0, 1.0], [[1.0, 1.0]], [[0.0, 0.0]], [1.0, 1.0], 0.1)
STAIRS = riccati.prepare(np.array([1.0, -1.0]), np.array([[0.0, 2.0], [-2.0, 0.0]]), EYE, 1e-15)
PHASE = {"ratio": 2.0, "s": 0.1, "f": 0.9}
DESCENT = PHASE | {"c": 0.5, "share": 1.0, "target": 1.0, "depth": 2.0}
MODE = {"target": 1.0, "start": 0.1}
LAYERS = {"W1": EYE, "W2": EYE}
SCORES = [1.0, 2.0, 3.0, 5.0]


def gradient(W):
    return W - TARGET


def gradient_at(W, step):
    return W - TARGET


def hvp(W, D):
    return D


def loss(W):
    return 0.5 * float(np.sum((W - TARGET) ** 2))


VALID: dict[str, dict] = {
    "activations.find_kinks": {"function": np.tanh},
    "activations.piecewise_linear": {"left": 0.1, "right": 1.0},
    "activations.resolve": {"activation": "relu"},
    "analytic_svd.singular_value_velocity": {"U": EYE, "s": [2.0, 1.0], "V": EYE, "grad": ONE, "depth": 2},
    "analytic_svd.track": {"Ws": [TARGET, TARGET], "times": [0.0, 1.0], "coincidence": 1e-9, "overlap": 0.5},
    "assumptions.check": {"x": X, "pairs": 10, "seed": 0},
    "certificates.admissible_unbalancedness": {"target": TARGET, "depth": 2, "margin": 0.5},
    "certificates.certify": {"layers": [EYE, EYE], "target": TARGET, "tolerance": 1e-8},
    "certificates.deficiency_margin": {"W": EYE, "target": TARGET},
    "certificates.distance_to_deficient": {"W": EYE, "delta": 0.1},
    "certificates.guaranteed_iterations": {"epsilon": 0.1, "excess": 1.0, "step_size": 0.1, "depth": 2, "margin": 0.5},
    "certificates.guaranteed_rate": {"depth": 2, "margin": 0.5, "strong_convexity": 1.0, "square": False},
    "certificates.guaranteed_step": {"target": TARGET, "depth": 2, "margin": 0.5},
    "certificates.guaranteed_time": {"epsilon": 0.1, "excess": 1.0, "depth": 2, "margin": 0.5, "strong_convexity": 1.0},
    "certificates.margin_from_excess": {"excess": 0.1, "minimiser": TARGET, "strong_convexity": 1.0},
    "certificates.nearest_deficient": {"W": EYE, "delta": 0.1},
    "circulation.circulation": {"field": gradient, "corner": EYE, "A": ONE, "B": EYE, "nodes": 3},
    "circulation.curl": {"W": TARGET, "A": ONE, "B": EYE, "gradient": gradient, "hvp": hvp, "depth": 2},
    "circulation.derivative": {"W": TARGET, "A": ONE, "gradient": gradient, "hvp": hvp, "depth": 2},
    "constant_alignment.escape_time": {"alignment": 1.0, "start": 0.1, "depth": 3},
    "constant_alignment.log_ratio": {"times": 0.1, "first": 1.0, "second": 0.5, "start": 0.1, "depth": 3},
    "constant_alignment.trajectory": {"times": 0.1, "alignment": 1.0, "start": 0.1, "depth": 3},
    "critical_points.classify_critical_point": {
        "layers": [0 * EYE, 0 * EYE], "loss": loss, "gradient": gradient, "hvp": hvp, "convex": True, "radius": 0.3,
        "tolerance": 1e-8, "seed": 0,
    },
    "dual_activations.dual": {"activation": "erf", "p": 1.0, "q": 1.0, "c": 0.5},
    "dual_activations.erf_dual": {"p": 1.0, "q": 1.0, "c": 0.5},
    "dual_activations.piecewise_linear_dual": {"left": 0.1, "right": 1.0, "p": 1.0, "q": 1.0, "c": 0.5},
    "dual_activations.quadrature": {"activation": "tanh", "s": 1.0, "t": 1.0, "theta": 1.0},
    "dual_activations.quadrature_dual": {"activation": "tanh", "p": 1.0, "q": 1.0, "c": 0.5},
    "dual_grid.grid_dual": {"activation": "tanh", "s": [1.0, 0.5], "t": [1.0, 2.0], "theta": ONE},
    "early_stopping.best_stopping": {"task": TASK, "rates": [2.0, 1.0], "end": 10.0},
    "early_stopping.descent_rates": {"d": [2.0, 1.0], "step_size": 0.1, "scale": 1.0},
    "early_stopping.expected_error": {"times": [0.0, 1.0], "task": TASK, "rates": [2.0, 1.0]},
    "early_stopping.flow_rates": {"d": [2.0, 1.0], "scale": 1.0},
    "early_stopping.task": {
        "d": [2.0, 1.0], "truth": [[1.0, 1.0]], "start": [[0.0, 0.0]], "gamma": [1.0, 1.0], "noise": 0.1,
    },
    "end_to_end.eigensystem": {"W": TARGET, "depth": 2},
    "end_to_end.field": {"W": TARGET, "grad": ONE, "depth": 2, "rank": 2},
    "end_to_end.field_one_output": {"w": [1.0, 2.0], "grad": [1.0, 1.0], "depth": 2},
    "end_to_end.field_symmetric": {"Ws": EYE, "grad": ONE},
    "end_to_end.trajectory": {
        "times": [0.0, 0.1], "W0": START, "gradient": gradient, "depth": 2, "rank": 2, "method": "DOP853", "rtol": 1e-6,
        "atol": 1e-9,
    },
    "end_to_end.trajectory_from_layers": {
        "times": [0.0, 0.1], "layers": [EYE, EYE], "gradient": gradient, "tolerance": 1e-8, "allow_unbalanced": False,
        "rtol": 1e-6, "atol": 1e-9,
    },
    "end_to_end.trajectory_symmetric": {
        "times": [0.0, 0.1], "Ws0": EYE, "gradient": gradient, "rtol": 1e-6, "atol": 1e-9,
    },
    "jump_times.saddles": {"X": X, "y": Y[:, 0]},
    "kernels.circular_cnn": {"x": X, "y": X, "filter_size": 1, "activation": "relu"},
    "kernels.expansion": {"activation": "erf", "hidden_layers": 1},
    "kernels.infinite": {"x": X, "y": X, "activation": "erf", "hidden_layers": 1},
    "label_noise.line": {"beta": [1.0, 0.5], "S": EYE},
    "label_noise.slow_flow": {"t": [0.0, 0.1], "W1": EYE, "W2": [[1.0, 0.5]], "S": EYE, "rtol": 1e-6},
    "lambda_modes.final_layer_singular_values": {"target_singular_values": [1.0, 0.5], "gamma": 0.1, "input_size": 3},
    "lambda_modes.laziness": MODE | {"balance": 0.1, "change": 0.1},
    "lambda_modes.residual": {"t": 1.0} | MODE | {"balance": 0.1},
    "lambda_modes.time_to": {"value": 0.5} | MODE | {"balance": 0.1},
    "lambda_modes.trajectory": {"t": 1.0} | MODE | {"balance": 0.1},
    "landscape.flatten": {"layers": [EYE, ONE]},
    "landscape.hessian": {"layers": [EYE, ONE], "gradient": gradient, "hvp": hvp},
    "landscape.nonconvexity_segment": {"loss": loss, "W": TARGET, "depth": 2, "widths": (2, 2, 2)},
    "landscape.objective_gradient": {"layers": [EYE, ONE], "gradient": gradient},
    "landscape.objective_hvp": {"layers": [EYE, ONE], "directions": [EYE, EYE], "gradient": gradient, "hvp": hvp},
    "landscape.products": {"layers": [EYE, ONE]},
    "landscape.unflatten": {"vector": [1.0, 2.0, 3.0, 4.0], "like": [EYE]},
    "large_steps.advance": {"x": 0.5, "ratio": 1.1, "depth": 2.0},
    "large_steps.largest_cycle": {"depth": 2.0},
    "large_steps.multiplier": {"ratio": 1.1, "depth": 2.0},
    "large_steps.two_cycle": {"ratio": 1.1, "depth": 2.0},
    "layer_descent.descend": {
        "steps": [0.0, 3.0], "layers": [EYE, ONE], "gradient": gradient_at, "step_size": 0.1, "momentum": 0.5,
        "weight_decay": 0.1, "runs": 2,
    },
    "layers.balanced": {"W": TARGET, "widths": (2, 2, 2)},
    "layers.product": {"layers": [EYE, ONE]},
    "layers.unbalancedness": {"layers": [EYE, ONE]},
    "learning_curves.effective_ridge": {"n": 5.0, "eigenvalues": [1.0, 0.5], "ridge": 0.1},
    "learning_curves.expected_errors": {
        "n": 5.0, "eigenvalues": [1.0, 0.5], "coefficients": [1.0, 1.0], "noise": 0.1, "ridge": 0.1,
    },
    "linearised.descend": {
        "steps": [0.0, 3.0], "kernel": EYE, "y": ONE, "step_size": 0.1, "momentum": 0.5, "cross": ONE, "ridge": 0.1,
    },
    "linearised.largest_step": {"kernel": EYE, "momentum": 0.5, "ridge": 0.1},
    "linearised.predict": {"t": [0.0, 1.0], "kernel": EYE, "y": ONE, "cross": ONE, "ridge": 0.1},
    "linearised_classes.descend": {
        "steps": [0.0, 3.0], "kernel": EYE, "y": EYE, "step_size": 0.1, "momentum": 0.5, "start": ONE, "cross": ONE,
        "start_cross": ONE, "ridge": 0.1,
    },
    "linearised_classes.flow": {
        "t": [0.0, 1.0], "kernel": EYE, "y": EYE, "start": ONE, "cross": ONE, "start_cross": ONE, "ridge": 0.1,
    },
    "linearised_ensemble.predict": {
        "t": [0.0, 1.0], "ntk": EYE, "nngp": EYE, "y": ONE, "ntk_cross": ONE, "nngp_cross": ONE, "nngp_other": EYE,
        "ridge": 0.1,
    },
    "log_det.best_gram": {"W": TARGET, "gamma": 0.1},
    "log_det.convex_objective": {"M": EYE, "W": TARGET, "gamma": 0.1},
    "log_det.kkt": LAYERS | {"X": X, "Y": Y, "gamma": 0.1},
    "log_det.least_objective": {"singular_values": [1.0, 0.5], "gamma": 0.1, "input_size": 3},
    "log_det.minimum": {"X": X, "Y": Y, "gamma": 0.1},
    "log_det.objective": LAYERS | {"gamma": 0.1},
    "modes.residual": {"t": 1.0} | MODE | {"depth": 3.0},
    "modes.time_to": {"value": 0.5} | MODE | {"depth": 3.0},
    "modes.trajectory": {"t": 1.0} | MODE | {"depth": 3.0},
    "narrowing.narrowed": {"layers": [EYE, ONE], "order": 1},
    "nuclear.least_nuclear_completion": {
        "rows": [0, 1], "columns": [0, 1], "values": [1.0, 0.5], "shape": (2, 2), "accuracy": 1e-3,
    },
    "nuclear.least_nuclear_sensing": {"A": [EYE, ONE], "y": [1.0, 0.5], "accuracy": 1e-3},
    "pc_bias.convergence": {
        "steps": [0, 3], "d": [2.0, 1.0], "start": START, "moment": TARGET, "step_size": 0.1, "scale": 1.0,
    },
    "pc_bias.error_matrix": {"W": START, "sxx": EYE, "syx": TARGET},
    "pc_bias.glorot_variances": {"widths": (3, 4, 2)},
    "pc_bias.isometric_variances": {"widths": (3, 4, 2)},
    "pc_bias.one_step": {"layers": [EYE, EYE], "sxx": EYE, "syx": TARGET, "step_size": 0.1},
    "pc_bias.optimum": {"sxx": EYE, "syx": TARGET},
    "pc_bias.paired_relu_update": {
        "W": [[1.0, 2.0], [-1.0, -2.0]], "a": [1.0, -1.0], "X": X, "y": [1, -1, 1, -1, 1, 1], "step_size": 0.1,
    },
    "pc_bias.scale_matrices": {"layers": [EYE, EYE]},
    "pc_bias.scale_means": {"widths": (3, 4, 2), "variances": [0.5, 0.5]},
    "pc_bias.scale_variances": {"widths": (3, 4, 2), "variances": [0.5, 0.5], "kurtosis": 3.0},
    "phase_bounds.descent_exponents": {"ratio": 2.0, "c": 0.5, "share": 1.0},
    "phase_bounds.largest_step": {"ratio": 2.0},
    "phase_bounds.log_bounds": {"depth": 2.0} | PHASE | {"target": 1.0},
    "phase_bounds.log_bounds_corrected": {"depth": 2.0} | PHASE | {"target": 1.0},
    "phase_bounds.log_bounds_descent": PHASE | {"c": 0.5, "share": 1.0, "target": 1.0},
    "phase_descent.advance": {"sigma": 0.1, "target": 1.0, "step_size": 0.1, "depth": 2.0},
    "phase_descent.log_threshold_descent": DESCENT,
    "phase_descent.threshold_descent": DESCENT,
    "phase_descent.timetable_descent": {
        "targets": [1.0, 2.0], "start": 0.1, "depth": 2.0, "step_size": 0.1, "s": 0.1, "f": 0.9,
    },
    "phase_descent.windows": {"steps": 3} | DESCENT,
    "phases.is_incremental": {"start": 0.01, "target_i": 2.0, "target_j": 1.0, "s": 0.1, "f": 0.9, "depth": 2.0},
    "phases.log_threshold": {"depth": 2.0} | PHASE | {"target": 1.0},
    "phases.threshold": {"depth": 2.0} | PHASE | {"target": 1.0},
    "phases.timetable": {"targets": [1.0, 2.0], "start": 0.1, "depth": 2.0, "s": 0.1, "f": 0.9},
    "quadratic.trajectory": {
        "times": [0.0, 0.1], "target": [1.0, 0.5], "start": 0.1, "bias": 0.1, "bias_target": 0.0, "bias_rate": 0.1,
    },
    "riccati.prepare": {"rates": [1.0, -1.0], "gaps": [[0.0, 2.0], [-2.0, 0.0]], "overlaps": EYE, "rounding": 1e-15},
    "riccati.square_root": {"t": 1.0, "start": STAIRS},
    "riccati.staircase": {"overlaps": EYE, "rounding": 1e-15, "growing": 1},
    "silent_alignment.early": {"times": [0.0, 1.0], "W": EYE, "a": [0.1, 0.2], "target": [1.0, 0.5]},
    "singular_flow.singular_flow": {
        "times": [0.0, 0.1], "W0": START, "gradient": gradient, "depth": 2, "method": "LSODA", "rtol": 1e-6, "atol": 1e-9,
    },
    "training_time.singular_values": {
        "time": [0.0, 1.0], "target": [1.0, 0.5], "start": 0.1, "depth": 2.0, "curvature": 1.0,
    },
    "training_time.time_to": {"value": 0.5, "target": 1.0, "start": 0.1, "depth": 2.0, "curvature": 1.0},
    "twin.covariance_spread": {"x": X},
    "twin.feature_map": {"activation": "erf", "spread": 1.0, "first": 1.0, "second": 1.0},
    "twin.two_layer": {
        "x": X, "y": X[:, 0], "activation": "erf", "first_step_size": 0.1, "second_step_size": 0.1, "spread": 1.0,
    },
    "twin_constants.constants": {"activation": "erf"},
    "twin_constants.quadrature": {"activation": "tanh"},
    "two_by_two.completion": {"dimension": 2, "determinant": 1},
    "two_by_two.constants": {"dimension": 2, "norm": "frobenius"},
    "two_by_two.least_corner": {"loss": 0.01, "dimension": 2},
    "two_by_two.loss": {"W": EYE, "determinant": 1},
    "two_by_two.norm_bound": {"start": EYE, "loss": 0.01, "norm": "frobenius", "determinant": 1},
    "two_by_two.size": {"W": EYE, "norm": "nuclear"},
    "two_layer.balance": LAYERS,
    "two_layer.grams": {"t": 1.0} | LAYERS | {"target": TARGET, "tolerance": 1e-10},
    "two_layer.layers": {"t": 1.0} | LAYERS | {"target": TARGET, "tolerance": 1e-10},
    "two_layer.trajectory": {"t": 1.0} | LAYERS | {"target": TARGET, "tolerance": 1e-10},
    "units.clock_rate": {"depth": 2.0, "parameterisation": "factors", "loss": "half", "curvature": 1.0},
    "units.paper_time": {
        "steps": 10.0, "step_size": 0.1, "depth": 2.0, "parameterisation": "factors", "loss": "half", "curvature": 1.0,
    },
    "units.steps": {
        "time": 10.0, "step_size": 0.1, "depth": 2.0, "parameterisation": "factors", "loss": "half", "curvature": 1.0,
    },
    "wide_limit.descent": {"d": [2.0, 1.0], "target": TARGET, "step_size": 0.1, "steps": 3},
    "wide_limit.scales": {"W": TARGET},
    "twin.FeatureMap(1.0).__call__": {"x": X},
    "twin.FeatureMap(1.0).kernel": {"x": X, "y": X},
    "twin.Twin": {"x": X, "y": X[:, 0], "features": twin.FeatureMap(1.0), "step_size": 0.1},
    "TWIN.coefficients": {"t": 3.0},
    "TWIN.predict": {"t": 3.0, "x": X},
    "TWIN.loss": {"t": 3.0, "x": X, "y": X[:, 0]},
    "TWIN.horizon": {"c": 1.0},
    "CERTIFICATE.guarantee": {"epsilon": 0.1},
    "CERTIFICATE.envelope": {"t": 1.0},
    "agreement.linear_phase": {"steps": [0.0, 1.0], "network": ONE, "twin": ONE, "threshold": 0.02, "scale": 1.0},
    "agreement.relative_mse": {"network": ONE, "twin": ONE, "scale": 1.0},
    "agreement.split": {"values": X.T, "features": X[:, :1]},
    "agreement.split_mse": {"values": X.T, "features": X[:, :1]},
    "critical.critical_frequency": {"predictions": [[0, 1], [1, 1]], "labels": [1, 1], "frequencies": [0.0, 1.0]},
    "critical.critical_pc": {"predictions": [[0, 1], [1, 1]], "labels": [1, 1], "sizes": [1.0, 2.0]},
    "critical.linear_predictions": {"weights": TARGET, "coordinates": X, "sizes": (1, 2), "offset": [0.0, 0.0]},
    "jumps.jump_times": {"times": [0.0, 1.0], "path": ONE, "points": EYE},
    "jumps.share_along": {"W": EYE, "direction": [1.0, 0.5]},
    "neighbours.neighbours": {"features": X, "k": 2},
    "order.accessibility": {"correct": np.ones((1, 1, 3), bool)},
    "order.constancy": {
        "a": SCORES, "b": SCORES[::-1], "confidence": 0.9, "method": "bootstrap", "resamples": 3, "seed": 0,
    },
    "order.discriminability": {"features": X, "labels": [0, 1, 0, 1, 0, 1], "k": 2},
    "order.fastest": {"score": SCORES, "share": 0.5},
    "order.group_means": {"score": SCORES, "by": [1.0, 1.0, 2.0, 2.0]},
    "order.moving_average": {"values": SCORES, "width": 2},
    "neurons.concentration": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "neurons.cosines": {"W": jnp.asarray(TARGET), "others": jnp.asarray(ONE)},
    "neurons.directions": {"W": jnp.asarray(TARGET)},
    "neurons.effective_directions": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "neurons.spread": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "measure.singular_values": {"W": jnp.asarray(TARGET)},
    "measure.frobenius_norm": {"W": jnp.asarray(TARGET)},
    "measure.nuclear_norm": {"W": jnp.asarray(TARGET)},
    "measure.spectral_norm": {"W": jnp.asarray(TARGET)},
    "measure.effective_rank": {"W": jnp.asarray(TARGET)},
    "measure.stable_rank": {"W": jnp.asarray(TARGET)},
    "measure.numerical_rank": {"W": jnp.asarray(TARGET), "threshold": 0.1},
    "measure.alignment": {"W": jnp.asarray(TARGET), "target": jnp.asarray(ONE)},
    "measure.mode_strengths": {"W": jnp.asarray(TARGET), "target": jnp.asarray(ONE)},
    "measure.conserved": {"layers": [jnp.asarray(EYE), jnp.asarray(ONE)]},
    "measure.unbalancedness": {"layers": [jnp.asarray(EYE), jnp.asarray(ONE)]},
}  # fmt: skip

OBJECTS = {"TWIN": twin.Twin(X, X[:, 0], twin.FeatureMap(1.0), step_size=0.1)}
OBJECTS["CERTIFICATE"] = theory.certificates.certify([EYE, EYE], 1.1 * EYE)
MATRICES = {"W", "others", "target", "layers"}  # of a run that diverged: measures of them are not a number either
CLASSES = {"correct", "predictions", "labels"}  # truth values and names, as well as numbers


def find(name: str) -> Callable:
    """The function that a key of the table names."""
    module, _, rest = name.partition(".")
    for package in (theory, measure):
        if hasattr(package, module) and inspect.ismodule(getattr(package, module)):
            return eval(rest, vars(getattr(package, module)))
    return eval(name, {"measure": measure, "neurons": neurons} | OBJECTS)


def functions_of(module) -> set[str]:
    short = module.__name__.rpartition(".")[2]
    return {
        f"{short}.{name}"
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }


def test_every_public_function_is_in_the_table():
    modules = [getattr(theory, name) for name in theory.__all__]
    modules += [measure.agreement, measure.critical, measure.jumps, measure.neighbours, measure.order, neurons]
    public = set().union(*(functions_of(module) for module in modules))
    listed = {name for name in VALID if "(" not in name and name.split(".")[0] not in (*OBJECTS, "measure")}
    assert public - listed == set()
    assert listed - public == {"twin.Twin"}
    own = {name for name in measure.__all__ if inspect.isfunction(getattr(measure, name))}
    assert own - {name.split(".")[-1] for name in VALID} == set()


@pytest.mark.parametrize("name", VALID)
def test_every_argument_is_in_the_table_and_the_call_is_valid(name):
    function = find(name)
    optional = {"times", "step_size", "excess", "strong_convexity", "offset"}
    missing = set(inspect.signature(function).parameters) - set(VALID[name])
    assert missing <= optional
    function(**VALID[name])


MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
OBJECTS_OF_NO_USE = [object(), {}, {1.0}, b"text", lambda: None]
WRONG_NUMBERS = [
    1j, np.array([[1 + 1j, 2], [3, 4]]), np.datetime64("2020-01-01"), np.array(["2020-01-01"], "M8[D]"),
    np.timedelta64(3, "D"), MASKED, True, np.array([True, False]), "text", ["a", "b"], [None], [[1.0], [1.0, 2.0]],
    np.array([1.0, None], object), *OBJECTS_OF_NO_USE[:4],
]  # fmt: skip
NOT_A_NUMBER = [np.nan, np.array([[np.nan, 1.0], [1.0, 1.0]])]
ODD_NUMBERS = [
    np.inf, -np.inf, -1.0, 0.0, 0.5, 1e-320, -1, 0, 10**30, [], np.zeros((0, 2)), np.ones(3), np.ones((2, 2, 2)),
    np.ones((1, 1)), np.zeros((2, 2)), np.float32(0.25), np.array(0.3),
]  # fmt: skip
HUGE = [1e300, -1e300, np.full((2, 2), 1e300)]
WRONG = {
    "number": WRONG_NUMBERS + NOT_A_NUMBER,
    "count": [*WRONG_NUMBERS, *NOT_A_NUMBER, 1.5, 2.0, np.inf, -7, np.ones(3)],
    "counts": [None, "text", 3.0, (1.5, 2), (True, 2), (None,), (-1, 2), ("a",), np.ones((2, 2)), {}, object()],
    "word": ["nonsense", 3.0, 1j, None, [], *OBJECTS_OF_NO_USE[:4]],
    "function": [3.0, "text", None, [], *OBJECTS_OF_NO_USE[:4]],
    "truth": ["yes", 2.0, None, [], *OBJECTS_OF_NO_USE],
    "layers": [None, "text", 3.0, [], [None], [np.nan * EYE], [1j * EYE], [MASKED], [EYE, np.eye(3)], [ONE[0]], {}],
    "object": [3.0, "text", None, [], *OBJECTS_OF_NO_USE],
}
PERHAPS = {"number": ODD_NUMBERS, "count": [0, 1, 2, 3, np.int64(2), np.array(2)]}


def kind(value) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "word"
    if isinstance(value, int):
        return "count"
    if isinstance(value, tuple):
        return "object" if hasattr(value, "_fields") else "counts"
    if callable(value):
        return "function"
    if isinstance(value, list) and np.ndim(value[0]) == 2:
        return "layers"
    return "number"


def outcome(function: Callable, given: dict, warned: str = "error") -> str:
    """What comes of a call: "result", or the message of an error of ours; anything else fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter(warned)
        try:
            function(**given)
        except np.linalg.LinAlgError as error:  # a ValueError, but one of NumPy's
            raise AssertionError(str(error)) from error
        except ValueError as error:
            return str(error)
        except RuntimeError as error:  # a solver that did not arrive says so
            if not re.search("could not be|was found only|found no", str(error)):
                raise
            return str(error)
    return "result"


def is_documented(name: str, argument: str, bad, default) -> bool:
    """Whether the docstring says what comes of a value that is refused elsewhere."""
    nan = any(bad is value for value in NOT_A_NUMBER) or bad is WRONG["layers"][5]
    return (
        (bad is None and default is None)
        or argument in CLASSES
        or (nan and argument in MATRICES and name.split(".")[0] in ("measure", "neurons"))
        or (bad is NOT_A_NUMBER[0] and (name, argument) == ("order.group_means", "by"))
    )


@pytest.mark.parametrize("name", VALID)
def test_what_is_never_right_is_refused_by_name(name):
    function, valid = find(name), VALID[name]
    parameters = inspect.signature(function).parameters
    for argument, value in valid.items():
        for bad in WRONG[kind(value)]:
            if not is_documented(name, argument, bad, parameters[argument].default):
                message = outcome(function, valid | {argument: bad})
                assert re.search(rf"\b{argument}\b.*must be", message), (argument, bad, message)


@pytest.mark.parametrize("name", VALID)
def test_what_may_be_right_gives_a_result_or_is_refused(name):
    function, valid = find(name), VALID[name]
    for argument, value in valid.items():
        for odd in PERHAPS.get(kind(value), []):
            message = outcome(function, valid | {argument: odd})
            assert message == "result" or re.search("must (be|lie)|could not be|found", message), (
                argument,
                odd,
                message,
            )


# Solved step by step, for as long as it takes.
SOLVED = re.compile(r"trajectory|_flow|nuclear|best_stopping|quadrature|dual|constancy")


@pytest.mark.parametrize("name", [name for name in VALID if not SOLVED.search(name)])
def test_numbers_whose_squares_overflow_end_in_no_traceback(name):
    """They give infinity, with NumPy's own warning, or are refused."""
    function, valid = find(name), VALID[name]
    for argument, value in valid.items():
        for huge in HUGE if kind(value) == "number" else []:
            outcome(function, valid | {argument: huge}, "ignore")
