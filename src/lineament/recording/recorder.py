"""Record a network of any framework while any loop trains it: JAX with equinox or flax, Keras, or arrays of outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lineament.core import arguments

from .compact import Keep
from .keeper import Keeper, sum_of

LONGEST = 16_384
"""Matrices with a longer side, such as tables of embeddings, are decomposed only if they are named."""

SMALL = 16  # columns or rows up to which a matrix is decomposed itself


class Recorder(Keeper):
    """Records what a network says of some probe examples while it trains, and what its layers are like.

    Call it once before training and then once a step or epoch::

        recorder = Recorder(x, labels, path="run")
        recorder(model, 0)  # an equinox module, say
        for epoch in range(epochs):
            …
            recorder(model, epoch + 1, loss=loss, gradients=gradients)

    `lineament.torch.Recorder` is the same for PyTorch, `keras_callback` makes a callback for Keras.
    """

    def __init__(
        self,
        probe_inputs: ArrayLike | None = None,
        probe_labels: ArrayLike | None = None,
        *,
        path: str | Path | None = None,
        interval: int = 1,
        resume: bool = False,
        layers: Iterable[str] | None = None,
        batch: int = 512,
        keep: Keep = "outputs",
        keep_inputs: bool = True,
    ) -> None:
        """Say what to record.

        Args:
            probe_inputs: Examples along the first axis; they need not be training data. None if the recorder is only
                given outputs.
            probe_labels: Classes from 0, or real targets (example[, output]).
            path: A folder to write to while training, so that a crash loses at most the last interval.
            interval: After how many calls to write.
            resume: Go on with the recording that the folder holds, from the step of the first call.
            layers: Names of the parameters whose singular values are taken, as in the record; all matrices and kernels by
                default, none with `()`.
            batch: How many probe examples the network sees at a time.
            keep: How much of the outputs is kept: all "outputs", "predictions" alone, or a number of the largest ones.
            keep_inputs: Whether to keep the probe inputs, once, to show them.
        """
        batch, keep_inputs = arguments.count("batch", batch), arguments.truth("keep_inputs", keep_inputs)
        self._inputs = None if probe_inputs is None else arguments.array("probe_inputs", probe_inputs).copy()
        labels = None if probe_labels is None else arguments.numeric("probe_labels", probe_labels)
        self._batch, self._layers = batch, _names(layers)
        real = self._inputs is not None and np.issubdtype(self._inputs.dtype, np.floating)
        shown = self._inputs if keep_inputs and real else None
        probe = "" if self._inputs is None or shown is not None else sum_of({"": self._inputs})
        super().__init__(labels, shown, path=path, interval=interval, resume=resume, keep=keep, probe=probe)

    def __call__(
        self,
        model: Any,
        step: float,
        loss: ArrayLike | None = None,
        *,
        parameters: Any = None,
        gradients: Any = None,
    ) -> None:
        """Record the network as it is now.

        Args:
            model: What it says of the probe examples (example, output); a function of a batch of them; or, as in
                `lineament.measure.kernels.empirical`, a function of parameters and a batch, a module of equinox, which is
                asked in inference mode, or of flax, linen or nnx.
            step: The number of the step or epoch, larger at each call.
            loss: The training loss, if it is to be recorded.
            parameters: A tree of arrays, where the model does not hold its own. For a module of linen its variables.
            gradients: A tree of arrays, or norms by name.
        """
        begun = self._begin(step)
        outputs, held = self._ask(model, parameters)
        first = _is_equinox(model)
        self._add(
            begun,
            step,
            outputs,
            loss=[loss],
            spectra={name: s[None] for name, s in singular_values(held, self._layers, outputs_first=first).items()},
            gradients={name: [float(np.linalg.norm(g.astype(np.float64)))] for name, g in named(gradients).items()},
            about={"model": type(model).__name__},
        )

    def _ask(self, model: Any, parameters: Any) -> tuple[NDArray, Any]:
        """The outputs (example, output) and the parameters that were used."""
        if (hasattr(model, "dtype") and hasattr(model, "shape")) or isinstance(model, list | tuple):
            return _rows(model), parameters
        if self._inputs is None:
            raise ValueError("probe_inputs must be given for a model to be asked; without them, give its outputs")
        ask = model
        if parameters is not None or not callable(model) or _holds_its_own(model):
            from lineament.core.model import AbstractModel
            from lineament.measure.kernels import as_function

            if isinstance(model, AbstractModel):
                raise ValueError(
                    "model must be a network of another framework; lineament's own record what they say themselves: "
                    'train with record=("loss", "outputs"), and take run.to_recording()'
                )
            function, parameters = as_function(_inference(model), parameters)
            moving = parameters
            ask = lambda x: function(moving, x)  # noqa: E731
        pieces = (self._inputs[i : i + self._batch] for i in range(0, len(self._inputs), self._batch))
        return np.concatenate([_rows(_answer(ask, piece)) for piece in pieces]), parameters


def _names(layers: Iterable[str] | None) -> tuple[str, ...] | None:
    return (
        None if layers is None else arguments.words("layers", list(layers) if isinstance(layers, Iterator) else layers)
    )


def singular_values(
    parameters: Any, layers: Iterable[str] | None = None, *, outputs_first: bool = False
) -> dict[str, NDArray[np.float64]]:
    """The singular values of every matrix and kernel in a tree of parameters, in falling order.

    A kernel is unfolded to a matrix with one row, or column, for each output: the first axis in equinox and PyTorch, the
    last in flax and Keras.
    """
    arrays = {name: array for name, array in named(parameters).items() if array.ndim >= 2}
    unknown = [name for name in layers or () if name not in arrays]
    if unknown:
        known = ", ".join(map(repr, arrays)) or "there are none"
        raise ValueError(f"layers must name parameters that are matrices ({known}); got {unknown[0]!r}")
    asked = set(arrays) if layers is None else set(layers)
    matrices = {
        name: array.reshape(len(array), -1) if outputs_first else array.reshape(-1, array.shape[-1])
        for name, array in arrays.items()
        if name in asked
    }
    return {
        name: _spectrum(matrix)
        for name, matrix in matrices.items()
        if 0 not in matrix.shape and (layers is not None or max(matrix.shape) <= LONGEST)
    }


def named(tree: Any) -> dict[str, NDArray]:
    """The arrays of a tree by the names of their places, such as "layers.0.weight"."""
    if tree is None:
        return {}
    if isinstance(tree, Mapping) and all(isinstance(value, int | float | np.ndarray) for value in tree.values()):
        return {str(name): _real(value) for name, value in tree.items()}
    from jax import tree_util

    places = tree_util.tree_flatten_with_path(tree)[0]
    numbers = ((place, leaf) for place, leaf in places if isinstance(leaf, int | float) or hasattr(leaf, "dtype"))
    return {tree_util.keystr(place, simple=True, separator="."): _real(leaf) for place, leaf in numbers}


def _spectrum(matrix: NDArray) -> NDArray[np.float64]:
    """Singular values; of single precision by `WWᵀ` in double, which is faster and loses no more than the weight has."""
    if not np.isfinite(matrix).all():
        return np.full(min(matrix.shape), np.nan)
    W = matrix.astype(np.float64)
    if matrix.dtype == np.float64 or min(W.shape) <= SMALL:
        return np.linalg.svd(W, compute_uv=False).astype(np.float64)
    W = W if len(W) <= W.shape[1] else W.T
    return np.sqrt(np.maximum(np.linalg.eigvalsh(W @ W.T)[::-1], 0.0)).astype(np.float64)


def _real(value: Any) -> NDArray:
    """An array in float32 if it has at most that precision, else in float64."""
    array = np.asarray(value)
    return array.astype(np.float64 if array.dtype.itemsize > 4 or array.dtype.kind in "iub" else np.float32)


def _answer(ask: Callable[[Any], Any], piece: Any) -> Any:
    try:
        return ask(piece)
    except Exception as error:  # whatever a model of one's own raises, with its own traceback
        raise ValueError(f"model must take the probe inputs; it raised {type(error).__name__}: {error}") from error


def _rows(found: Any) -> NDArray:
    """Outputs of any framework as (example, output), in single precision at least."""
    outputs = arguments.numeric("outputs of the model", found)
    if outputs.dtype not in (np.float32, np.float64):
        outputs = outputs.astype(np.float32)
    if outputs.ndim not in (1, 2) or not outputs.size:
        raise ValueError(f"the model must return outputs (example, output); it gave shape {outputs.shape}")
    return outputs.reshape(len(outputs), -1)


def _homes(model: Any) -> set[str]:
    return {base.__module__.split(".")[0] for base in type(model).__mro__}


def _is_equinox(model: Any) -> bool:
    return "equinox" in _homes(model)


def _holds_its_own(model: Any) -> bool:
    return bool(_homes(model) & {"equinox", "flax"})


def _inference(model: Any) -> Any:
    """An equinox module in inference mode, without dropout; any other model as it is."""
    if not _is_equinox(model):
        return model
    import equinox

    return equinox.nn.inference_mode(model)
