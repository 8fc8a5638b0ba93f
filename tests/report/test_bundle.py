"""Modules become one script; what the bundler does not know it refuses."""

import re
from importlib import resources

import pytest

from lineament.report import explorer
from lineament.report.bundle import bundle


def modules(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def test_each_module_comes_once_and_after_what_it_imports(tmp_path):
    folder = modules(
        tmp_path,
        main='import { f, g as h } from "./a.js";\nimport * as b from "./b.js";\nh(f, b.two);\n',
        a='import { two } from "./b.js";\nexport function f() { return two; }\nexport const g = (x, y = 1) => x + y;\n',
        b="export const two = 2;\nexport class C {}\nexport function* all() {}\n",
    )
    script = bundle(folder, "main.js")
    assert re.findall(r"^// (\w)", script, re.MULTILINE) == ["b", "a", "m"]
    assert "const { f: f" not in script
    assert "const { f, g: h } = $a;" in script
    assert "const b = $b;" in script
    assert "return { two, C, all };" in script
    assert "return { f, g };" in script
    assert not re.search(r"^(import|export)", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"main": 'import x from "./a.js";\n', "a": ""}, "forms that the bundler knows"),
        ({"main": "export default 3;\n"}, "forms that the bundler knows"),
        ({"main": 'import { x } from "./a.js";\n', "a": "export const y = 1;\n"}, "does not export"),
        ({"main": 'import { x } from "./a.js";\n', "a": 'import { y } from "./main.js";\n'}, "circle"),
    ],
)
def test_what_it_does_not_know_it_refuses(tmp_path, texts, says):
    with pytest.raises(ValueError, match=says):
        bundle(modules(tmp_path, **texts), "main.js")


def test_python_inside_a_template_is_left_alone(tmp_path):
    script = bundle(modules(tmp_path, main="const code = `import numpy as np\nfrom a import b`;\n"), "main.js")
    assert "import numpy as np" in script


def test_every_module_of_the_explorer_is_in_its_script():
    folder = resources.files("lineament.report") / "explorer"
    script = explorer.script()
    for part in ("app", "draw", "panels", "table", "theory"):
        for file in (folder / part).iterdir():
            assert f"// {part}/{file.name}\n" in script


def test_the_licence_of_what_is_vendored_is_kept():
    vendor = resources.files("lineament.report") / "explorer" / "vendor"
    licences = (vendor / "LICENSES").read_text(encoding="utf-8")
    assert all(f"d3-{name}" in licences for name in explorer.VENDORED)
    assert "Permission to use, copy, modify, and/or distribute" in licences
