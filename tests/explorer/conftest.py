"""One page for a module, which must stay silent and ask the network for nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineament.report import explorer

QUIET = "file:", "blob:", "data:"


@pytest.fixture(scope="session")
def explorer_path(tmp_path_factory) -> Path:
    """The page on disk."""
    return explorer.write(tmp_path_factory.mktemp("explorer") / explorer.NAME)


class Explorer:
    """The page in a browser, with what it has said and asked for."""

    def __init__(self, browser, path: Path, **options) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)  # a ceiling: two busy cores are slow
        self.address = path.as_uri()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.address)

    def show(self, state: str) -> None:
        """Go to a state by its address, and wait until it is drawn."""
        self.page.evaluate("state => { location.hash = state; }", state)
        self.settle()

    def settle(self) -> None:
        """Wait until the panel is drawn, and computed where that takes longer."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shown = "[role=tabpanel]:not([hidden])"
        self.page.wait_for_function(f"() => !document.querySelector('{shown}[aria-busy], {shown} [data-late]')")

    def values(self) -> dict:
        return self.page.evaluate("() => lineament.explorer.values")

    def figure(self, name: str):
        return self.page.locator(f"[role=tabpanel]:not([hidden]) [data-figure={name}]")

    def handle(self, figure: str, key: str):
        return self.figure(figure).locator(f"[data-handle='{key}']")

    def ink(self, figure: str) -> int:
        """How many pixels of a figure are drawn on."""
        return self.page.evaluate(
            """name => {
              const canvas = document.querySelector(`[role=tabpanel]:not([hidden]) [data-figure=${name}] canvas`);
              const { width, height } = canvas, copy = document.createElement("canvas");
              Object.assign(copy, { width, height });
              const context = copy.getContext("2d", { willReadFrequently: true });
              context.drawImage(canvas, 0, 0);
              const { data } = context.getImageData(0, 0, copy.width, copy.height);
              let count = 0;
              for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
              return count;
            }""",
            figure,
        )

    def drag(self, locator, dx: float, dy: float) -> None:
        """Drag something by its middle."""
        locator.scroll_into_view_if_needed()
        box = locator.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + dx / 2, y + dy / 2)
        mouse.move(x + dx, y + dy)
        mouse.up()
        self.settle()

    def control(self, key: str):
        return self.page.locator(f"[role=tabpanel]:not([hidden]) [data-key={key}]")

    def press(self, name: str, *, settle: bool = True) -> None:
        """Press a button of the panel; what moves by itself never settles."""
        self.page.locator("[role=tabpanel]:not([hidden])").get_by_role("button", name=name, exact=True).click()
        if settle:
            self.settle()

    def text(self) -> str:
        return self.page.locator("[role=tabpanel]:not([hidden])").inner_text()


@pytest.fixture(scope="module")
def loaded(browser, explorer_path) -> Iterator[Explorer]:
    """One page for a module."""
    opened = Explorer(browser, explorer_path)
    yield opened
    opened.context.close()


@pytest.fixture
def site(loaded) -> Iterator[Explorer]:
    """The page, which must not complain or load anything while a test runs."""
    loaded.page.set_viewport_size({"width": 1280, "height": 900})
    yield loaded
    assert loaded.said == []
    assert all(url.startswith(QUIET) for url in loaded.asked), loaded.asked


@pytest.fixture
def opened(browser, explorer_path):
    """Opens further pages, with options of their own."""
    made: list[Explorer] = []

    def open_page(path: Path = explorer_path, **options) -> Explorer:
        made.append(Explorer(browser, path, **options))
        return made[-1]

    yield open_page
    for each in made:
        assert each.said == []
        assert all(url.startswith(QUIET) for url in each.asked), each.asked
        each.context.close()
