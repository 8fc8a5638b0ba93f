"""The terminal: what is written to it may come from files, so that nothing in a text may steer it."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from lineament.core.words import harmless


class Terminal(Console):
    """A console for which texts are texts: no part of one is taken for a style, or for a sign to the terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is to be written, piece by piece, characters that would steer the terminal replaced."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))
