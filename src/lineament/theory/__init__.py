"""What is predicted: closed forms in NumPy and SciPy, in float64, without any flag."""

from . import modes, units

__all__ = ["modes", "units"]
