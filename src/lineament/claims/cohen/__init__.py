"""Cohen & Razin (2024): lecture notes on linear neural networks."""

from . import balance

__all__ = ["balance"]
