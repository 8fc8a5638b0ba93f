"""The pages are sound: they parse, their links lead somewhere, they load nothing, and they say what was found."""

import dataclasses
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from lineament.claims import registry
from lineament.evidence import Check, Verdict
from lineament.evidence.figure import Figure
from lineament.execution import store
from lineament.execution.campaign import Failure
from lineament.execution.pooled import pooled
from lineament.execution.reproduce import reproduce
from lineament.report import atlas, drawings, entries, seeds, site, style

pytest_plugins = ["report.faked"]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed in order, every id is given once."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.path, self.open, self.ids, self.links, self.tags, self.words = path, [], [], [], [], []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == [], f"{path.name}: left open {self.open}"

    def handle_starttag(self, tag, attrs):
        self._meet(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._meet(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open, f"{self.path.name}: </{tag}> closes nothing"
        assert self.open.pop() == tag, f"{self.path.name}, {self.getpos()}: </{tag}> out of place"

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def _meet(self, tag, attrs):
        self.tags.append(tag)
        self.elements.append((tag, dict(attrs)))
        for name, value in attrs:
            self.attributes.append((tag, name, value))
            if name == "id":
                self.ids.append(value)
            if tag == "a" and name == "href":
                self.links.append(value)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def records(faked_for_module):
    ids = ("gissin-a", "gissin-b", "gissin-c")
    made = [store.record(reproduce(id)) for id in ids]
    full = store.record(reproduce("gissin-a", "full", 5))
    return [*made, dataclasses.replace(full, environment={**full.environment, "device": "gpu: H200"})]


@pytest.fixture(scope="module")
def folder(records, tmp_path_factory):
    out = tmp_path_factory.mktemp("atlas")
    index = atlas.write(
        out, records, registry.all_claims(), [Failure("cohen-d", "quick", 0, "RuntimeError: <no>", 0.1)]
    )
    assert index == out / "index.html"
    return out


@pytest.fixture(scope="module")
def pages(folder):
    return {path.name: Page(path) for path in folder.glob("*.html")}


def test_a_page_for_each_claim_and_an_index(pages):
    assert set(pages) == {
        "index.html",
        "gissin-a.html",
        "gissin-b.html",
        "gissin-c.html",
        "cohen-d.html",
        "errata.html",
        "explorer.html",
    }


def test_index_and_claims_lead_to_the_explorer_and_back(pages, records, tmp_path):
    assert "explorer.html" in pages["index.html"].links
    assert not any(link.startswith("explorer.html") for link in pages["gissin-a.html"].links), "it has no preset"
    atlas.write(tmp_path, [dataclasses.replace(records[0], id="gissin-f2")], {})
    assert "explorer.html#gissin-f2" in Page(tmp_path / "gissin-f2.html").links
    page = Page(tmp_path / "explorer.html")
    assert {"index.html", "gissin-f2.html"} <= set(page.links)
    assert "gissin-f2" in page.ids
    assert "gissin-t2.html" not in page.links, "it has no page here"


def test_ids_are_unique_and_links_resolve(pages, folder):
    for page in pages.values():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            target, fragment = urldefrag(link)
            if target.startswith("https://"):
                assert page.path.name != "index.html", "only a claim's page leads elsewhere, to its paper"
                continue
            assert not target or (folder / target).is_file(), (page.path.name, link)
            if fragment:
                assert fragment in (pages[target] if target else page).ids
        labels = [value for _, name, value in page.attributes if name in ("for", "aria-labelledby") and value]
        assert {part for label in labels for part in label.split()} <= set(page.ids)


def test_nothing_is_loaded(pages):
    for page in pages.values():
        assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
        for tag, name, value in page.attributes:
            if name == "src":
                pytest.fail(f"{tag} loads {value}")
            if name in ("xlink:href", "href") and tag != "a":
                assert value.startswith(("#", "data:image/png;base64,"))
        text = page.path.read_text(encoding="utf-8")
        assert "@import" not in text
        assert all(found.startswith("#") for found in re.findall(r"url\(['\"]?([^)]+)\)", text))
        assert not re.findall(r"(?:src|fetch|import)\W{1,3}https?:", text)


def test_language_landmarks_and_headings(pages):
    for page in pages.values():
        assert ("html", "lang", "en-GB") in page.attributes
        assert page.tags.count("main") == page.tags.count("h1") == 1
        assert page.links[0] == "#main"
        levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
        assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
        assert page.tags.count("figure") == page.tags.count("figcaption")
    assert ("th", "scope", "col") in pages["index.html"].attributes


def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(pages):
    for page in pages.values():
        boxes = [given for tag, given in page.elements if "scroll" in (given.get("class") or "").split()]
        assert all(box.get("tabindex") == "0" and box.get("role") == "region" for box in boxes)
        assert all(box.get("aria-label") for box in boxes)
    assert sum("scroll" in (given.get("class") or "") for _, given in pages["gissin-a.html"].elements) == 10


def test_statements_are_mathml_and_text_is_escaped(pages):
    page = pages["gissin-a.html"]
    source = page.path.read_text(encoding="utf-8")
    assert "http://www.w3.org/1998/Math/MathML" in source
    assert {"math", "mover", "msup"} <= set(page.tags)
    assert "A < B & so on" in page.text
    assert "A &lt; B &amp; so on" in source
    assert "<Tsit5>" in page.text
    assert "RuntimeError: <no>" in pages["cohen-d.html"].text
    assert "RuntimeError: <no>" in pages["index.html"].text


def test_a_claims_page_says_all_of_it(pages, records):
    text = pages["gissin-a.html"].text
    for part in (
        "Gissin et al. 2020 · Theorem 1",
        "Closed form against odeint .",
        "The second paragraph has",
        "gap = 3.2 × 10 −10 ≤ 10 −8 ; slope = 1.98 in [1.9, 2.1]",
        "Powers of <t>,",
        "gap Bar: the solver's accuracy 3.2 × 10 −10 ≤ 10 −8 ✓ yes ✓ ✓",
        "bad not a number",
        "far ∞",
        "depths 1, 2, ∞",
        "repeats 3",
        "repeats 9",
        "Bar: the solver's accuracy",
        "It holds.",
        "lineament reproduce gissin-a --size quick --seed 0",
        "lineament reproduce gissin-a --size full --seed 5",
        "gpu: H200",
        "jax " + records[0].environment["jax"],
        records[0].finished[:16].replace("T", ", ") + " UTC",
        "@inproceedings{gissin2020implicit",
    ):
        assert part in text, part
    assert {"quick", "full"} <= set(pages["gissin-a.html"].ids)
    corrected = pages["gissin-b.html"].text
    assert "Corrected statement" in corrected
    assert "excess 0.2 ≤ 0 ✗ no" in corrected


def test_a_correction_is_called_one_only_where_the_statement_as_printed_is_refuted(records, tmp_path):
    untold = dataclasses.replace(next(r for r in records if r.id == "gissin-b"), verdict=Verdict.UNDECIDED)
    atlas.write(tmp_path, [untold], registry.all_claims())
    page = Page(tmp_path / "gissin-b.html").text
    assert "Corrected statement" not in page
    assert "What is checked beside the statement as printed" in page


def test_figures_and_their_data_can_be_saved(pages, folder):
    page = pages["gissin-a.html"]
    for name in ("gissin-a.quick.svg", "gissin-a.quick.csv", "gissin-a.full.svg", "gissin-a.full.csv"):
        assert f"figures/{name}" in page.links
        assert (folder / "figures" / name).stat().st_size > 100
    saved = [attributes["data-save"] for tag, attributes in page.elements if "data-save" in attributes]
    assert saved == ["png", "pdf"] * 2
    assert ("svg", "class", "thumb") in pages["index.html"].attributes


def test_figures_are_drawn_by_several_processes(records, tmp_path, monkeypatch):
    monkeypatch.setattr(drawings, "ENOUGH", 1)
    drawings.draw_all(records, tmp_path, 2)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
    assert len(drawn) == len({drawings._name(record.figure, record.size) for record in records if record.figure})
    monkeypatch.setattr(drawings.engines, "Processes", None)
    drawings.draw_all(records, tmp_path, 2)  # there is nothing left to draw
    for record in records:
        if record.figure:
            assert drawings.picture(record, tmp_path) == drawn[drawings._name(record.figure, record.size)]


def test_files_of_claims_that_are_gone_are_removed(records, tmp_path):
    atlas.write(tmp_path, records, {})
    atlas.write(tmp_path, records[:1], {})
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"gissin-a.quick.svg", "gissin-a.quick.csv"}


def test_a_page_has_the_source_of_its_check_and_leads_to_the_paper(pages):
    page = pages["gissin-a.html"]
    assert "Closed form against `odeint`." in page.text
    assert "def a(settings, key):" in page.text
    assert "https://arxiv.org/abs/1909.12051" in page.links


def test_the_index_says_what_verdicts_mean(pages):
    assert "the run cannot answer, for the reason that its page gives" in pages["index.html"].text


def test_verdicts_are_told_in_words(pages):
    for name, verdict in {"a": "✓ holds", "b": "✎ holds, corrected", "c": "≠ differs"}.items():
        assert f"Quick: {verdict}" in pages[f"gissin-{name}.html"].text
        assert verdict in pages["index.html"].text
    assert "! error" in pages["index.html"].text
    assert "Full: ✓ holds" in pages["gissin-a.html"].text


def test_the_index_counts_each_size(pages, records):
    text = pages["index.html"].text
    assert "Quick size 1 ✓ holds 1 ✎ holds, corrected 1 ≠ differs 1 ! error" in text
    assert "Full size 1 ✓ holds 3 – not run" in text
    listed = entries.gather(records, registry.all_claims())
    assert entries.tally(listed, "quick")["not run"] == 1


def test_the_filter_has_what_it_needs(pages):
    attributes = pages["index.html"].attributes
    assert [value for tag, name, value in attributes if (tag, name) == ("tr", "data-verdicts")] == [
        "error",
        "holds",
        "holds, corrected",
        "differs",
    ]
    assert [value for tag, name, value in attributes if (tag, name) == ("tr", "data-paper")] == [
        "cohen",
        *["gissin"] * 3,
    ]
    assert ("form", "hidden", None) in attributes, "without a script there is no filter that does nothing"
    assert pages["index.html"].tags.count("script") == 1


def test_figures_follow_the_theme(pages):
    source = pages["gissin-a.html"].path.read_text(encoding="utf-8")
    assert source.count('role="img"') == 2, (
        "a drawing for each size; windows on its panels are no pictures of their own"
    )
    assert "var(--ink)" in source
    dark = source[source.index("@media screen and (prefers-color-scheme: dark)") :]
    assert f"--ink: {style.DARK.ink}" in dark[:400]
    assert f"--mark-0: {style.DARK.palette[0]}" in dark[:400]


def test_previous_and_next(pages):
    relations = {
        name: [value for tag, key, value in page.attributes if (tag, key) == ("a", "rel")]
        for name, page in pages.items()
    }
    assert relations["cohen-d.html"] == ["next"] * 2
    assert relations["gissin-a.html"] == ["prev", "next"] * 2
    assert relations["gissin-c.html"] == ["prev"] * 2
    assert pages["gissin-a.html"].links[1:4] == ["cohen-d.html", "index.html", "gissin-b.html"]


def test_pages_without_any_evidence(records, tmp_path):
    atlas.write(tmp_path, [], registry.all_claims())
    index, page = Page(tmp_path / "index.html"), Page(tmp_path / "gissin-a.html")
    assert index.text.count("– not run") == 4 + 1, "and once where verdicts are explained"
    assert "takes 1 s" in index.text
    assert "It takes 1 s at quick size and 2 s at full size. lineament reproduce gissin-a" in page.text


def test_evidence_of_a_claim_that_is_gone_and_of_other_source_is_shown(records, tmp_path):
    alien = dataclasses.replace(records[0], id="wu-t9", paper="wu", fingerprint="0" * 64)
    atlas.write(tmp_path, [alien], {})
    assert "wu-t9" in Page(tmp_path / "index.html").text
    text = Page(tmp_path / "wu-t9.html").text
    assert "000000000000 (not the source that made this page" in text
    assert "Closed form against odeint ." in text


def test_seeds_are_one_piece_of_evidence_and_the_newest_run_of_a_seed_stands(records, tmp_path):
    old = dataclasses.replace(records[0], finished="2020-01-01T00:00:00+00:00", verdict=Verdict.FAILS)
    second = dataclasses.replace(
        records[0], seed=3, figure=None, checks=(Check("gap", 5e-9, high=1e-8), records[0].checks[1])
    )
    (entry,) = entries.gather([old, records[0], second], {"gissin-a": registry.find("gissin-a")})
    pool = entry.runs["quick"]
    assert pool.runs == (records[0], second)
    assert pool.label == "holds 2/2"
    assert pool.shown is records[0], "the run with a figure"
    gap = pool.spread("checks")[0]
    assert (gap.low, gap.high, gap.passed, gap.of) == (3.2e-10, 5e-9, 2, 2)
    assert entry.others == (old,)
    assert entry.verdicts == ("holds",)
    atlas.write(tmp_path, [old, records[0], second], registry.all_claims())
    text = Page(tmp_path / "gissin-a.html").text
    assert "Quick: ✓ holds 2 of 2 seeds" in text
    assert "3.2 × 10 −10 3.2 × 10 −10 to 5 × 10 −9 ≤ 10 −8 ✓ yes 2 of 2" in text
    assert "3 ✓ holds gap = 3.2e-10" not in text
    assert "✗ fails" in text, "the superseded run is listed"


def test_one_seed_is_said_to_be_one(pages):
    assert "Quick: ✓ holds one seed only" in pages["gissin-a.html"].text
    assert "✓ holds one seed" in pages["index.html"].text


def test_few_seeds_have_a_reason(records):
    def of(count, seconds, device="gpu: NVIDIA H200"):
        runs = [
            dataclasses.replace(records[0], seed=seed, seconds=seconds, environment={"device": device})
            for seed in range(count)
        ]
        return seeds.few(pooled(runs))

    assert of(1, 540.0) == "One seed only, since one takes 9 min on one NVIDIA H200."
    assert of(2, 181.0, "cpu: cpu") == "Two seeds only, since one takes 3 min on a CPU."
    assert of(2, 179.0) == "Two seeds so far; one takes 3 min on one NVIDIA H200."
    assert of(1, 20.0, "") == "One seed so far; one takes 20 s."
    assert of(3, 540.0) == ""


def test_a_page_says_why_there_is_one_seed(records, tmp_path):
    long = dataclasses.replace(records[0], seconds=1200.0, environment={"device": "cpu: cpu"})
    atlas.write(tmp_path, [long], registry.all_claims())
    assert "One seed only, since one takes 20 min on a CPU." in Page(tmp_path / f"{long.id}.html").text


def test_the_verdict_at_half_and_twice_the_bar(pages, records):
    # The slope of 1.98 in 2 ± 0.1 passes with half the width too; the gap has two decades to spare.
    text = pages["gissin-a.html"].text
    assert "With every bar half as loose the verdict would be ✓ holds" in text
    strict = dataclasses.replace(records[0], checks=(Check("gap", 0.7, high=1.0),))
    (entry,) = entries.gather([strict], {})
    assert entry.runs["quick"].at_factors == ((0.5, Verdict.FAILS), (2.0, Verdict.HOLDS))


def test_what_the_paper_did_stands_beside_what_was_done(pages):
    page = pages["gissin-a.html"]
    # A theorem allows for any number of networks: no sign.
    assert "Setting The paper Here data Gaussian the same networks 100 3" in page.text
    assert "networks 100 9" in page.text


@pytest.mark.parametrize(
    ("paper", "here", "same", "differs"),
    [
        ("10 networks", "10 networks", True, False),
        ("0.05 (D.2)", "0.05", True, False),
        ("10 networks", "3 networks", False, True),
        ("0.05 (D.2)", "0.02", False, True),
        ("SGD", "SGD, batches of 50", False, False),
        ("coarsely grid-searched; not stated", "swept: 0.1", False, False),
        ("any linear map", "random maps", False, False),
        ("x ~ N(0, I) (f(x) is (nearly) even), d = 50", "x ~ N(0, I), d = 50", True, False),
        ("20,000 to train", "20000 to train, 2000 to test", False, False),
        ("20,000 to train", "2000 to train", False, True),
        ("σ = 1e-4", "σ = 0.0001", True, False),
        ("small mammals: 2500 + 500 images", "small mammals", False, False),
        ("VGG and st-VGG", "VGG", False, True),
        ("0.05", entries.NOT_KEPT, False, False),
    ],
)
def test_only_what_is_other_than_in_the_paper_is_marked_as_such(paper, here, same, differs):
    row = entries.Row("setting", paper, here)
    assert (row.same, row.differs) == (same, differs)
    assert not entries.Row("setting", paper, here, allowed=True).differs


def test_a_setting_that_differs_has_a_sign(records):
    own = dataclasses.replace(records[0], kind="experiment", protocol={"networks": "3", "data": "Gaussian"})
    entry = dataclasses.replace(entries.gather([own], {})[0], paper_setting={"networks": "100", "data": "Gaussian"})
    assert [(row.name, row.same, row.differs) for row in entry.protocol(own)] == [
        ("networks", False, True),
        ("data", True, False),
    ]


def test_a_run_that_kept_nothing_of_what_was_done_is_not_said_to_have_done_the_same(records):
    own = dataclasses.replace(records[0], kind="experiment", protocol={})
    entry = dataclasses.replace(entries.gather([own], {})[0], paper_setting={"networks": "100"})
    (row,) = entry.protocol(own)
    assert (row.here, row.same, row.differs) == ("not recorded", False, False)


def test_seeds_that_draw_nothing_are_said_to_count_as_one(records, tmp_path):
    again = [dataclasses.replace(records[0], seed=seed) for seed in (0, 1)]
    other = dataclasses.replace(again[1], numbers={**again[1].numbers, "one more": 1.0})
    assert pooled(again).alike
    assert not pooled([again[0], other]).alike
    assert not pooled(again[:1]).alike
    for name, runs in (("same", again), ("other", [again[0], other])):
        atlas.write(tmp_path / name, runs, registry.all_claims())
        text = Page(tmp_path / name / f"{again[0].id}.html").text
        assert ("nothing is drawn at random" in text) == (name == "same")


def test_a_number_in_the_place_of_a_picture_is_no_other_experiment(records):
    own = dataclasses.replace(records[0], kind="experiment", protocol={"measure": "epochs to 90 %"})
    entry = dataclasses.replace(entries.gather([own], {})[0], paper_setting={"measure": "learning curves"})
    assert not entry.protocol(own)[0].differs


def test_a_reason_is_read_once_in_a_table_of_checks(records):
    parts = site.templates().get_template("parts.html.j2").module
    void = [Check(name, 1.0, high=0.0, void="too narrow") for name in "abc"]
    (entry,) = entries.gather([dataclasses.replace(records[0], checks=tuple(void))], {})
    table = str(parts.spread_table("Checks", entry.runs["quick"].spread("checks"), False))
    assert table.count("too narrow") == 1
    assert table.count("for the same reason") == 2


def test_a_bar_is_told_in_a_sentence():
    assert site.must(Check("gap", 1.0, high=2.0)) == "must be ≤ 2"
    assert site.must(Check("slope", 1.0, low=0.5, high=2.0)) == "must lie in [0.5, 2]"


def test_errata_have_both_forms(pages):
    page = pages["errata.html"]
    assert "Gissin et al. 2020, Theorem 2" in page.text
    assert "excess = 0.2, must be ≤ 0" in page.text
    assert "excess = −0.1, must be ≤ 0" in page.text
    assert "gissin-a.html" not in page.links
    assert "https://arxiv.org/abs/1909.12051" in page.links
    assert "holds, corrected 1/1 seeds at quick size: lineament reproduce gissin-b --size quick" in page.text


def test_a_void_check_and_an_earlier_form_say_so(records, tmp_path):
    first = records[0]
    void = dataclasses.replace(first.checks[0], void="the peak is the last record")
    run = dataclasses.replace(first, checks=(void, *first.checks[1:]), verdict=Verdict.UNDECIDED, table={})
    atlas.write(tmp_path, [run], registry.all_claims())
    page = Page(tmp_path / f"{first.id}.html").text
    assert "Void: the peak is the last record" in page
    assert "? void" in page
    assert "one seed only, by an earlier form of the check" in page


def test_an_erratum_is_of_todays_form_of_the_check(records):
    quick = dataclasses.replace(next(record for record in records if record.id == "gissin-b"), table={"n": 1})
    full = dataclasses.replace(quick, size="full", remarks=("larger",))
    earlier = dataclasses.replace(full, table={})

    def chosen(*runs):
        return next(e for e in entries.gather(runs, registry.all_claims()) if e.id == "gissin-b").corrected

    assert chosen(quick, full).size == "full"
    assert chosen(quick, earlier).size == "quick"
    assert chosen(earlier).size == "full"
    as_printed = {"verdict": Verdict.HOLDS, "printed": (), "correction": ""}
    assert chosen(quick, dataclasses.replace(full, **as_printed)) is None, "it holds at the paper's size"
    assert chosen(quick, dataclasses.replace(earlier, **as_printed)).size == "quick"
    assert chosen(quick, dataclasses.replace(full, verdict=Verdict.UNDECIDED)).size == "quick"


def test_an_erratum_of_an_experiment_needs_a_run_on_other_data_than_those_that_stand_in(records):
    theorem = next(record for record in records if record.id == "gissin-b")
    quick = dataclasses.replace(theorem, id="gissin-z", kind="experiment", table={"cases": [{"data": "digits"}]})
    full = dataclasses.replace(quick, size="full", table={"cases": [{"data": "cats-dogs"}]})

    def chosen(*runs):
        return entries.gather(runs, {})[0].corrected

    assert chosen(quick) is None
    assert chosen(quick, full).size == "full"
    assert chosen(dataclasses.replace(quick, table=full.table)).size == "quick", "its quick data are the paper's"
    assert chosen(dataclasses.replace(quick, table={}, settings=quick.table)) is None, "stored without its table"
    assert chosen(dataclasses.replace(quick, kind="theorem")).size == "quick", "a counter-example is one on any data"


def test_errata_of_experiments_come_last_and_say_what_they_are(records, tmp_path):
    theorem = next(record for record in records if record.id == "gissin-b")
    measured = dataclasses.replace(theorem, id="gissin-z", kind="experiment")
    listed = entries.gather([measured, theorem], {})
    assert [entry.id for entry in entries.errata(listed)] == ["gissin-b", "gissin-z"]
    atlas.write(tmp_path, [measured, theorem], {})
    page = Page(tmp_path / "errata.html").text
    assert page.count("An experiment: what is printed was not found") == 1


def test_an_error_outweighs_older_evidence(records):
    listed = entries.gather(records, registry.all_claims(), [Failure("gissin-a", "quick", 0, "boom", 1.0)])
    entry = next(entry for entry in listed if entry.id == "gissin-a")
    assert entry.verdict("quick") == "error"
    assert entry.verdict("full") == "holds"
    assert entry.verdicts == ("error", "holds")


def test_drawings_are_reused_and_pruned(records, tmp_path, monkeypatch):
    claims = registry.all_claims()
    drawings.draw_ahead(records[0], tmp_path / "evidence")
    (tmp_path / "evidence" / "drawn" / "old.quick.svg").write_text("")
    drawn = []
    embed = drawings.embedding.embed
    monkeypatch.setattr(drawings.embedding, "embed", lambda figure, name: drawn.append(name) or embed(figure, name))
    atlas.write(tmp_path, records[:1], claims)
    assert drawn == []
    assert len(list((tmp_path / "evidence" / "drawn").iterdir())) == 1
    atlas.write(tmp_path, records, claims)
    # The figure of gissin-b has the same data as that of gissin-a, so only the one at full size is drawn.
    assert drawn == ["full"]


def test_a_figure_that_cannot_be_drawn_costs_only_itself(records, tmp_path):
    broken = dataclasses.replace(records[0], figure=Figure((), "Nothing."))
    atlas.write(tmp_path, [broken], registry.all_claims())
    text = Page(tmp_path / "gissin-a.html").text
    assert "The figure could not be drawn: figure.panels is empty" in text
    assert "accuracy 3.2 × 10 −10" in text


@pytest.mark.parametrize(
    ("check", "bar"),
    [
        (Check("a", 0, high=1e-6), "≤ 10<sup>−6</sup>"),
        (Check("a", 0, low=0.9), "≥ 0.9"),
        (Check("a", 0, -1, 2.5), "[−1, 2.5]"),
        (Check("a", 0), "any number"),
    ],
)
def test_bars(check, bar):
    assert site.bar_text(check) == bar


def test_runs_on_data_that_stand_in_are_marked(records, tmp_path):
    quick = dataclasses.replace(records[0], table={"data": "digits"})
    old = dataclasses.replace(records[0], size="full", table={})
    (entry,) = entries.gather([quick, old], {})
    named = dataclasses.replace(entry, paper_setting={"data": "MNIST"})
    assert [named.label(size) for size in ("quick", "full")] == ["holds 1/1 ‡", "holds 1/1 †"]
    assert dataclasses.replace(named, runs={}).label("quick") == "–"
    assert entries.legend([named.label("quick")]) == [f"‡: {entries.MARKS['‡']}."]
    for unnamed in ({}, {"data": "not stated"}):
        assert dataclasses.replace(entry, paper_setting=unnamed).label("quick") == "holds 1/1"
    claim = dataclasses.replace(registry.find("gissin-a"), paper_setting={"data": "MNIST"})
    atlas.write(tmp_path, [quick], {"gissin-a": claim})
    assert "one seed ‡" in Page(tmp_path / "index.html").text
    assert "on data that stand in for the paper's" in Page(tmp_path / "gissin-a.html").text
