"""A valid call of every function of `theory`."""

import operator
import re

import numpy as np

from lineament import theory
from lineament.theory import early_stopping, riccati, twin

from . import Call, call

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
    """Of the square loss."""
    return W - TARGET


def gradient_at(W, step):
    """The same at every step."""
    return W - TARGET


def hvp(W, D):
    """Its Hessian, the identity."""
    return D


def loss(W):
    """The square loss."""
    return 0.5 * float(np.sum((W - TARGET) ** 2))


VALID = {
    "activations.find_kinks": {"function": np.tanh},
    "activations.piecewise_linear": {"left": 0.1, "right": 1.0},
    "activations.resolve": {"activation": "relu"},
    "analytic_svd.singular_value_velocity": {"U": EYE, "s": [2.0, 1.0], "V": EYE, "grad": ONE, "depth": 2},
    "analytic_svd.track": {"Ws": [TARGET, TARGET], "times": [0.0, 1.0], "coincidence": 1e-9, "overlap": 0.5},
    "assumptions.check": {"x": X, "pairs": 10, "seed": 0},
    "certificates.admissible_unbalancedness": {"target": TARGET, "depth": 2, "margin": 0.5},
    "certificates.certify": {
        "layers": [EYE, EYE], "target": TARGET, "tolerance": 1e-8, "strong_convexity": 1.0, "excess": 0.1,
    },
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
}  # fmt: skip


# Solved step by step, for as long as it takes.
SOLVED = re.compile(r"trajectory|_flow|\.flow|nuclear|best_stopping|quadrature|dual|constancy|infinite|fluctuation")


def calls() -> dict[str, Call]:
    """By name."""
    features = twin.FeatureMap(1.0)
    made = twin.Twin(X, X[:, 0], features, step_size=0.1)
    certificate = theory.certificates.certify([EYE, EYE], 1.1 * EYE)
    methods = {
        "certificates.certify.descent": call(
            theory.certificates.certify, layers=[EYE, EYE], target=TARGET, step_size=0.1
        ),
        "twin.FeatureMap.__call__": call(features, x=X),
        "twin.FeatureMap.kernel": call(features.kernel, x=X, y=X),
        "twin.Twin": call(twin.Twin, x=X, y=X[:, 0], features=features, step_size=0.1),
        "twin.Twin.coefficients": call(made.coefficients, t=3.0),
        "twin.Twin.predict": call(made.predict, t=3.0, x=X),
        "twin.Twin.loss": call(made.loss, t=3.0, x=X, y=X[:, 0]),
        "twin.Twin.horizon": call(made.horizon, c=1.0),
        "certificates.Certificate.guarantee": call(certificate.guarantee, epsilon=0.1),
        "certificates.Certificate.envelope": call(certificate.envelope, t=1.0),
    }
    functions = {
        name: call(operator.attrgetter(name)(theory), bool(SOLVED.search(name)), **arguments)
        for name, arguments in VALID.items()
    }
    return {f"theory.{name}": made for name, made in {**functions, **methods}.items()}
