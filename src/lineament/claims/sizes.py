"""The two sizes at which a claim is run, and the table of settings for each."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

from ..evidence import Evidence

if TYPE_CHECKING:
    import jax

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = get_args(Size)
Settings = TypeVar("Settings", bound=tuple[Any, ...])  # a NamedTuple of one's own


class Sized(Generic[Settings]):
    """The function that checks a claim, with its settings for each size."""

    def __init__(
        self, function: "Callable[[Settings, jax.Array], Evidence]", settings: Mapping[Size, Settings]
    ) -> None:
        self.function, self.settings = function, settings
        self.__doc__, self.__module__, self.__name__ = function.__doc__, function.__module__, function.__name__
        self.__wrapped__ = function

    def __call__(self, size: Size, key: "jax.Array") -> Evidence:
        """Check the claim at one size, and return the evidence."""
        return self.function(self.settings[size], key)


def sizes(
    *, quick: Settings, full: Settings
) -> "Callable[[Callable[[Settings, jax.Array], Evidence]], Sized[Settings]]":
    """Give a check its settings: `quick` for seconds on two cores, `full` for the paper's own.

    ```python
    class Settings(NamedTuple):
        depths: tuple[int, ...]
        repeats: int

    @sizes(quick=Settings(depths=(2, 3), repeats=4), full=Settings(depths=(1, 2, 3, 4, 5), repeats=20))
    def check(settings: Settings, key: jax.Array) -> Evidence:
        ...
    ```

    The settings are stored with the evidence, so that evidence from settings that the code no longer has is known.
    """
    return lambda function: Sized(function, {"quick": quick, "full": full})
