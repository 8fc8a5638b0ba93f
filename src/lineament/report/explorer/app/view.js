// One panel on the page: its figures, controls, clock, tools and words, built once and kept up to date.
import { CanvasPen } from "../draw/pen.js";
import { theme } from "../draw/theme.js";
import { allowed, control } from "./controls.js";
import { make, tell } from "./dom.js";
import { Figure } from "./figure.js";
import { Sketch } from "./predict.js";
import { copy, download, joined, to_csv, to_png } from "./save.js";

const REST = 60, PATIENCE = 400; // milliseconds until the numbers follow: after a movement, and at the latest
const LAP = 9000; // milliseconds for the whole of the time shown
const CALM = 10; // jumps in place of movement, where the reader asks for less of it

/** Whether a panel may take a value. */
export function valid(panel, key, value) {
  const own = panel.valid?.(key, value);
  if (own !== undefined) return own;
  const spec = panel.controls.find((each) => each.key === key);
  return spec ? allowed(spec, value) : false;
}

/** A panel on the page. */
export class View {
  /**
   * @param {any} panel
   * @param {{changed: () => void, settle: () => void, take: (panel: string, values: any) => void, samples: Record<string, string>, presets: any[], show_preset: (id: string) => void}} host
   */
  constructor(panel, host) {
    this.panel = panel;
    this.host = host;
    this.values = structuredClone(panel.defaults);
    /** @type {string | null} */ this.preset = null;
    this.model = null;
    this.refusal = "";
    this.stale = true;
    this.request = 0;
    this.playing = 0;
    /** @type {{ok: boolean, text: string}[]} */ this.told = [];
    /** @type {import("../draw/theme.js").Theme | undefined} */ this.theme = undefined;
    this.act = {
      set: (key, value) => this.set(typeof key === "string" ? { [key]: value } : key),
      now: (now) => this.move(now),
      take: (id, values) => host.take(id, values),
      values: () => this.values,
    };
    this.element = this.build();
  }

  build() {
    const { panel } = this, look = () => ({ values: this.values, model: this.model, theme: this.theme ??= theme(), hidden: this.hidden });
    this.figures = panel.figures(this.act).map((spec) => new Figure(spec, look));
    this.sketches = this.figures.filter((figure) => figure.spec.sketch).map((figure) => new Sketch(figure, () => this.draw()));
    this.controls = panel.controls.map((spec) => ({ spec, ...control(spec, (value) => this.set({ [spec.key]: value }), (why) => this.refuse(why), panel.id) }));
    this.notice = make("p", { class: "refusal", role: "alert", hidden: true });
    this.marks = make("ul", { class: "marks", "aria-label": "Assumptions" });
    this.reading = make("div", { class: "reading" });
    const buttons = panel.extras?.(this.act, () => this.values) ?? [];
    this.extras = buttons.map(({ label, press }, i) => make("button", { type: "button", onclick: press, "data-extra": i }, label));
    const side = make("div", { class: "side" }, this.presets(), panel.intake?.(this.act) ?? null, ...this.controls.map((each) => each.element), this.extras.length ? make("div", { class: "extras" }, ...this.extras) : null, panel.many_marks ? null : this.marks);
    const clock = this.clock();
    const stage = make("div", { class: "figures" }, this.notice, ...this.figures.flatMap((figure) => {
      const sketch = this.sketches.find((each) => each.figure === figure);
      return [figure.element, ...(sketch ? [sketch.bar] : []), ...(figure.spec.clock ? [clock] : [])];
    }));
    const below = panel.many_marks ? this.marks : null; // a long list goes under the figures
    return make(
      "section", { id: `panel-${panel.id}`, class: "panel", role: "tabpanel", "aria-labelledby": `tab-${panel.id}`, hidden: true },
      make("h2", {}, panel.heading), make("p", { class: "lead" }, panel.lead),
      make("div", { class: "desk" }, make("div", { class: "left" }, stage, below), side), this.tools(), this.reading,
    );
  }

  presets() {
    const own = this.host.presets.filter((each) => each.panel === this.panel.id);
    if (!own.length) return null;
    const id = `${this.panel.id}-preset`;
    this.chooser = make("select", { id, onchange: () => this.chooser.value && this.host.show_preset(this.chooser.value) }, make("option", { value: "" }, "choose …"), ...own.map((each) => make("option", { value: each.id }, `${each.id}: ${each.title}`)));
    this.claim = make("p", { class: "hint claim-link" });
    return make("div", { class: "control" }, make("label", { for: id }, "From the papers"), this.chooser, this.claim);
  }

  clock() {
    this.play = make("button", { type: "button", class: "play", "aria-pressed": "false", onclick: () => this.toggle() }, "Play");
    this.slider = make("input", { type: "range", min: 0, max: 1000, "aria-label": "Time", oninput: () => this.move(Number(this.slider.value) / 1000) });
    this.when = make("output", { class: "when" });
    return make("div", { class: "clock" }, this.play, this.slider, this.when);
  }

  tools() {
    const button = (words, press, attributes = {}) => make("button", { type: "button", onclick: press, ...attributes }, words);
    this.predictor = this.sketches.length ? button("Predict, then reveal", () => this.predict(), { "aria-pressed": "false" }) : null;
    return make(
      "div", { class: "tools", role: "group", "aria-label": "Share and save" }, this.predictor,
      button("Copy link", () => { this.host.settle(); copy(location.href, "Link"); }),
      button("Copy as Python", () => this.model && copy(this.python(), "Python code")),
      button("SVG", () => this.save("svg"), { "aria-label": "Download SVG" }), button("PNG", () => this.save("png"), { "aria-label": "Download PNG" }), button("CSV", () => this.save("csv"), { "aria-label": "Download CSV" }),
      button("Reset", () => { this.preset = null; this.set(structuredClone(this.panel.defaults)); }),
    );
  }

  get hidden() {
    return this.sketches?.some((sketch) => sketch.hidden) ?? false;
  }

  python() {
    return this.panel.python(this.values, this.model);
  }

  columns() {
    return this.panel.csv(this.values, this.model);
  }

  predict() {
    const on = !this.sketches.some((sketch) => sketch.on);
    if (on && this.values.multiples) this.set({ multiples: false }); // one curve is asked for, on one pair of axes
    this.predictor.setAttribute("aria-pressed", String(on));
    this.halt();
    this.sketches.forEach((sketch) => sketch.start(on));
    this.show();
  }

  set(values) {
    const tidy = this.panel.tidy ?? ((x) => x);
    Object.assign(this.values, tidy({ ...this.values, ...values }));
    if (Object.keys(values).some((key) => key !== "now")) this.sketches.forEach((sketch) => sketch.on && sketch.clear());
    this.stale = true;
    this.host.changed();
    this.schedule();
  }

  move(now) {
    this.values.now = Math.min(Math.max(Number(now.toFixed(4)), 0), 1);
    this.host.changed();
    this.schedule();
  }

  refuse(why) {
    this.refusal = why;
    this.show();
    tell(`Refused: ${why}`);
    setTimeout(() => { if (this.refusal === why && this.model) { this.refusal = ""; this.show(); } }, 8000);
  }

  resize() {
    for (const figure of this.figures) figure.measured = 0;
    this.schedule();
  }

  schedule() {
    this.pending ??= requestAnimationFrame(() => { this.pending = undefined; this.render(); });
  }

  /** Computes what has changed, and draws. */
  render() {
    if (this.stale) {
      this.stale = false;
      if (this.panel.prepare) this.prepare();
      else this.compute();
    }
    this.draw();
    this.show();
  }

  compute(...prepared) {
    try {
      this.model = this.panel.compute(this.values, ...prepared);
      this.refusal = "";
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.model = null;
      this.refusal = error.message;
    }
  }

  async prepare() {
    const request = ++this.request, old = () => request !== this.request;
    this.element.setAttribute("aria-busy", "true");
    try {
      const made = await this.panel.prepare(this.values, this.host.samples, old);
      if (old()) return;
      this.compute(made);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      if (old()) return;
      this.model = null;
      this.refusal = error.message;
    }
    this.element.removeAttribute("aria-busy");
    this.renew();
    this.draw();
    this.show();
  }

  /** Lists whose entries depend on what was read. */
  renew() {
    for (const [key, options] of Object.entries(this.panel.choices?.() ?? {})) {
      const list = this.element.querySelector(`#${this.panel.id}-${key}`);
      list.replaceChildren(...options.map(([value, words]) => make("option", { value }, words)));
    }
  }

  draw() {
    if (this.element.hidden) return;
    for (const figure of this.figures) figure.draw();
    for (const sketch of this.sketches) if (sketch.on) sketch.draw(new CanvasPen(sketch.figure.canvas.getContext("2d")), this.theme);
  }

  /** Everything beside the drawings. */
  show() {
    const { panel, values, model } = this;
    for (const { spec, show } of this.controls) show(values[spec.key]);
    (panel.extras?.(this.act, () => values) ?? []).forEach(({ disabled }, i) => { this.extras[i].disabled = Boolean(disabled); });
    this.notice.hidden = !this.refusal;
    write(this.notice, this.refusal ? `Refused: ${this.refusal}` : "");
    const place = String(Math.round(values.now * 1000)), when = model ? panel.say_time(model, values.now) : "";
    if (this.slider.value !== place) this.slider.value = place;
    if (write(this.when, when)) this.slider.setAttribute("aria-valuetext", when);
    this.mark(model ? panel.marks(values, model) : []);
    if (this.chooser) {
      const chosen = this.host.presets.find((each) => each.id === this.preset), own = chosen?.panel === panel.id ? this.preset : "";
      if (this.chooser.value !== own) this.chooser.value = own;
      if (this.linked !== chosen) this.claim.replaceChildren(...(chosen ? this.link(chosen) : []));
      this.linked = chosen;
    }
    if (this.hidden || !model) { clearTimeout(this.late); this.late = 0; this.reading.replaceChildren(); } else this.read_soon();
    this.reading.toggleAttribute("data-late", Boolean(this.late));
  }

  /** The assumptions; only those lines that say something else than before are written. */
  mark(marks) {
    while (this.told.length > marks.length) { this.marks.lastChild.remove(); this.told.pop(); }
    marks.forEach(({ ok, text }, i) => {
      const old = this.told[i];
      if (old?.ok === ok && old.text === text) return;
      const line = make("li", { class: ok ? "met" : "unmet" }, make("span", { "aria-hidden": "true" }, ok ? "✓" : "!"), make("span", { class: "sr" }, ok ? "Met: " : "Note: "), raise(text));
      if (old) this.marks.children[i].replaceWith(line);
      else this.marks.append(line);
      this.told[i] = { ok, text };
    });
  }

  /** The numbers follow when the hand rests, or every now and then while it moves: a frame need not wait for their layout. */
  read_soon() {
    const now = performance.now();
    this.read_at ??= -Infinity;
    clearTimeout(this.late);
    this.late = window.setTimeout(() => {
      this.late = 0;
      this.read_at = performance.now();
      if (this.model && !this.hidden) this.read(this.panel.reading(this.values, this.model));
      this.reading.removeAttribute("data-late");
    }, now - this.read_at > PATIENCE ? 0 : REST);
  }

  link(chosen) {
    return chosen.page ? [make("a", { href: `${chosen.id}.html` }, `The claim ${chosen.id}, checked`)] : [`Check it: lineament reproduce ${chosen.id}`];
  }

  read({ sentences, head, rows, words = [] }) {
    const side = (j) => (j && !words.includes(j) ? "num" : null);
    // The same table with other numbers is written into the cells there are: a slider must not wait for a layout.
    const shape = JSON.stringify([head.length, rows.length, rows[0]?.length, sentences.length, this.panel.id]);
    const said = sentences.filter(Boolean);
    if (this.shape === shape && this.cells?.[0]?.isConnected && this.lines.length === said.length) {
      [...head, ...rows.flat()].forEach((text, i) => write(this.cells[i], text));
      said.forEach((text, i) => write(this.lines[i], text));
      return;
    }
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((name, j) => make("th", { scope: "col", class: side(j) }, name)))), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, j) => make(j ? "td" : "th", j ? { class: side(j) } : { scope: "row" }, cell))))));
    this.reading.replaceChildren(make("div", { class: "says", "aria-live": "polite" }, ...said.map((words) => make("p", {}, words))), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers" }, table));
    this.shape = shape;
    this.cells = [...table.querySelectorAll("th, td")];
    this.lines = [...this.reading.querySelectorAll(".says p")];
  }

  toggle() {
    if (this.playing) return this.halt();
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-pressed", "true");
    if (this.values.now >= 1) this.move(0);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.playing = window.setInterval(() => this.advance(1 / CALM, () => clearInterval(this.playing)), 1000);
      this.calm = true;
      return undefined;
    }
    let last = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      this.advance((now - last) / LAP, () => {});
      last = now;
      if (this.playing) this.playing = requestAnimationFrame(frame);
    };
    this.calm = false;
    this.playing = requestAnimationFrame(frame);
    return undefined;
  }

  advance(by, stop) {
    this.move(Math.min(1, this.values.now + by));
    if (this.values.now >= 1) { stop(); this.halt(); }
  }

  halt() {
    if (this.calm) clearInterval(this.playing);
    else cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-pressed", "false");
  }

  async save(kind) {
    if (!this.model) return;
    const name = `lineament-${this.panel.id}.${kind}`;
    if (kind === "csv") return download(name, new Blob([to_csv(this.columns())], { type: "text/csv" }));
    const whole = joined(this.figures.map((figure) => figure.svg(this.theme)), this.theme.paper);
    return download(name, kind === "svg" ? new Blob([whole.text], { type: "image/svg+xml" }) : await to_png(whole));
  }
}

/** Text that is the same is left alone; whether it was not. */
function write(element, text) {
  if (element.textContent === String(text)) return false;
  element.textContent = String(text);
  return true;
}

/** Exponents in braces, as in σ^{2−2/N}, raised. */
function raise(text) {
  const box = make("span");
  text.split(/\^\{([^}]*)\}/).forEach((part, i) => box.append(i % 2 ? make("sup", {}, part) : part));
  return box;
}
