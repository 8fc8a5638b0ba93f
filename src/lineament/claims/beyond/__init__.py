"""Beyond the five documents: exact solutions that contain their statements."""

from . import lazy_rich, two_layer

__all__ = ["lazy_rich", "two_layer"]
