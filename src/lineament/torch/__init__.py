"""For your own PyTorch model: expand, collapse or truncate its layers; spectra, kernel, forecast and record of training.

Importing `lineament` never imports PyTorch; importing this package does.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("lineament.torch needs PyTorch: install it with pip install 'lineament[torch]'") from error

from .collapse import collapse
from .expand import Expanded, ExpandedLayer, expand
from .factored import Factored
from .kernel import ntk
from .linearise import linearise
from .recorder import Recorder
from .report import Table
from .spectra import LayerSpectrum, spectra
from .truncate import Cost, Measured, Truncated, TruncatedLayer, Truncation, truncate

__all__ = [
    "Cost",
    "Expanded",
    "ExpandedLayer",
    "Factored",
    "LayerSpectrum",
    "Measured",
    "Recorder",
    "Table",
    "Truncated",
    "TruncatedLayer",
    "Truncation",
    "collapse",
    "expand",
    "linearise",
    "ntk",
    "spectra",
    "truncate",
]
