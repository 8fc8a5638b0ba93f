// Panel 6. Your table: drop a CSV, and see what a deep linear network learns from it, and when.
import { at_place, cursor } from "../app/clock.js";
import { make } from "../app/dom.js";
import { apart, axes } from "../draw/axes.js";
import { code, pretty } from "../draw/numbers.js";
import { mode_colour } from "../draw/theme.js";
import { read } from "../table/csv.js";
import { forecasting } from "../table/forecast.js";
import { printable } from "../table/labels.js";
import * as words from "../table/words.js";

const SLICE = 12; // milliseconds of work before the page may breathe
const MOST_COLUMNS = 200, SHOWN = 6;

/** The text of the table, which never leaves the page. */
const held = { name: "", text: "", refusal: "", table: null, made: null, key: "" };

/** @type {any} */
export const panel = {
  id: "table",
  title: "Your table",
  heading: "What would a network learn from your table, and when?",
  lead: "Drop a CSV file. Its spectrum says what a deep linear network learns first, and what late: the numbers of the command lineament forecast. When to stop is told by theory; the command also holds rows out.",
  defaults: { sample: "diabetes", target: "", depth: 2, start: 1e-3, whiten: false, classes: false, seed: 0, now: 0.5 },
  controls: [
    { key: "sample", kind: "choice", label: "Table", options: [["diabetes", "diabetes (442 patients)"], ["wine", "wine (178 wines, 3 kinds)"], ["iris", "iris (150 flowers, 3 kinds)"], ["own", "my own file"]] },
    { key: "target", kind: "choice", label: "Column to predict", options: [["", "the last"]] },
    { key: "depth", kind: "whole", label: "Depth", symbol: "N", min: 1, max: 8 },
    { key: "start", kind: "log", label: "Start", symbol: "σ₀", min: 1e-9, max: 1 },
    { key: "whiten", kind: "switch", label: "Whiten the inputs" },
    { key: "classes", kind: "switch", label: "Take the numbers of the target as classes" },
    { key: "seed", kind: "whole", label: "Seed of the start", min: 0, max: 99 },
  ],
  valid: (key, value) => (key === "now" ? value >= 0 && value <= 1 : key === "target" ? true : undefined),
  timed: true,
  many_marks: true,
  held,

  /** The place where a file is dropped or chosen. */
  intake(act) {
    const input = make("input", { type: "file", accept: ".csv,.tsv,.txt,.dat,.data,.gz,text/csv", "aria-label": "Choose a CSV file", onchange: () => input.files[0] && take(input.files[0], act) });
    const zone = make("div", { class: "drop" }, make("p", {}, make("strong", {}, "Drop a CSV file here"), " or choose one: "), input, make("p", { class: "hint" }, "Nothing leaves the browser: the file is read and computed on this page, without any network."));
    for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
    for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.remove("over"); });
    zone.addEventListener("drop", (event) => event.dataTransfer.files[0] && take(event.dataTransfer.files[0], act));
    return zone;
  },

  /** Works in slices, so that the page stays awake; a newer request stops an older one. */
  async prepare(values, samples, stale) {
    const own = values.sample === "own", name = own ? held.name : `${values.sample}.csv`, text = own ? held.text : samples[values.sample];
    if (own && held.refusal) throw new RangeError(held.refusal);
    if (!text) throw new RangeError("there is no table yet: drop a CSV file, or choose one of the samples");
    const key = JSON.stringify([name, text.length, own ? held.text : "", values.target, values.depth, values.start, values.whiten, values.classes, values.seed]);
    if (held.key === key) return held.made;
    const table = read(text, name, { target: values.target || null, classes: values.classes || null });
    if (table.features.length > MOST_COLUMNS) throw new RangeError(`'${name}' has ${table.features.length} features; here at most ${MOST_COLUMNS} are handled; use the command: lineament forecast ${name}`);
    const work = forecasting(table, { depth: values.depth, start_scale: values.start, whiten: values.whiten, classes: values.classes || null, seed: values.seed });
    let until = performance.now() + SLICE;
    for (;;) {
      const { done, value } = work.next();
      if (done) { Object.assign(held, { table, made: value, key }); return value; }
      if (performance.now() > until) {
        await new Promise((resolve) => { setTimeout(resolve); });
        if (stale()) return null;
        until = performance.now() + SLICE;
      }
    }
  },

  compute(values, made) {
    const most = [...made.components].sort((a, b) => b.explained - a.explained).slice(0, SHOWN), begins = Math.min(...most.map((each) => each.begins_step));
    const last = Math.max(made.curve.step.at(-1), 2), first = Math.min(Math.max(1, begins / 5), last / 10); // a plateau is long on a logarithmic axis
    return { made, span: [first, last], kind: "log", shown: most.sort((a, b) => a.number - b.number) };
  },
  choices: () => ({ target: held.table ? [["", `the last (${held.table.names.at(-1)})`], ...held.table.names.map((name) => [name, name])] : [["", "the last"]] }),
  time: (model, now) => at_place(now, model.span, "log"),
  say_time: (model, now) => `step ${words.count(panel.time(model, now))}`,

  figures: (act) => [
    {
      name: "course", clock: true, title: "What is learnt over the steps", wide: true, height: (w) => Math.max(260, Math.min(400, 0.5 * w)), sketch: true,
      caption: ({ model, hidden }) => (hidden || !model ? "" : `The ${words.kind(model.made)}s that explain most; 1 is learnt.`), draw: (d) => draw_course(d, act),
    },
    { name: "spectrum", title: "The spectrum of the table", height: () => 250, caption: ({ values }) => (values.whiten ? "Strength of every mode of the target on whitened inputs." : "Variance of every principal component (dots), and the share of the target's variance it explains (bars)."), draw: draw_spectrum },
    { name: "loss", title: "Training loss, and expected test loss", height: () => 250, caption: ({ model }) => (model ? words.stop(model.made) : ""), draw: draw_loss },
  ],

  reading(values, { made }) {
    const several = made.outputs.length > 1, rows = words.listed(made).map((each) => [
      `${each.number}`, words.made_of(each.features), ...(several ? [words.made_of(each.outputs)] : []), pretty(made.whiten ? each.strength : each.variance), words.percent(each.explained, 1),
      words.count(each.begins_step), words.count(each.half_step), words.count(each.ends_step)]);
    return {
      sentences: [...made.sentences, ...made.notices],
      head: [words.kind(made), "mostly", ...(several ? ["moves"] : []), made.whiten ? "strength" : "variance", "explains", "10 %", "half", "90 %"], rows, words: several ? [1, 2] : [1],
    };
  },
  marks: (values, { made }) => made.premises.map((each) => ({ ok: each.met, text: `${each.name} (${each.source}): ${pretty(each.value)}. ${each.meaning}.` })),
  csv(values, { made }) {
    const columns = { step: made.curve.step, loss: made.curve.loss };
    if (made.stopping) columns.expected_test_loss = made.stopping.loss;
    made.components.forEach((each, j) => { columns[`learnt_${each.number}`] = made.path.share.map((share) => share[j]); });
    return columns;
  },
  python(values, { made }) {
    const source = values.sample === "own" ? held.name : values.sample, options = [`depth=${values.depth}`, `start_scale=${code(values.start)}`];
    if (values.whiten) options.push("whiten=True");
    if (values.classes) options.push("classes=True");
    if (values.seed) options.push(`seed=${values.seed}`);
    const target = values.target ? `, ${JSON.stringify(values.target)}` : "";
    return `import matplotlib.pyplot as plt
from lineament.data import tables
from lineament.forecasting import forecast_table

table = tables.read(${JSON.stringify(source)}${target})
made = forecast_table(table, ${options.join(", ")})
steps = made.time / made.step_size

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for each in sorted(made.components, key=lambda each: -each.explained)[:${SHOWN}]:
    left.semilogx(steps[1:], made.path.share[1:, each.number - 1], label=f"${words.kind(made)} {each.number}")
left.set(xlabel="step", ylabel="share learnt")
left.legend()
right.semilogx(steps[1:], made.loss[1:], label="training")
if made.stopping is not None:
    right.semilogx(steps[1:], made.stopping.loss[1:], label="expected test")
right.set(xlabel="step", ylabel="loss")
right.legend()
plt.show()
`;
  },
};

const TEXT = /\.(csv|tsv|txt|dat|data)(\.gz)?$/i;

/** Reads a file, unpacked if need be; what is no text is left to the command. */
async function take(file, act) {
  held.name = file.name;
  held.text = "";
  held.refusal = TEXT.test(file.name) ? "" : `'${printable(file.name)}' must end in .csv, .tsv, .txt, .dat or .data, or in one of these and .gz, to be read on this page; for other kinds of tables use the command: lineament forecast ${printable(file.name)}`;
  try {
    const bytes = /\.gz$/i.test(file.name) ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    if (!held.refusal) held.text = await new Response(bytes).text();
  } catch (error) {
    held.refusal = `'${printable(file.name)}' could not be read: ${error.message}`;
  }
  held.table = null;
  act.set({ sample: "own", target: "", now: 0.5 });
}

function draw_course(d, act) {
  const { pen, theme, values, model, width, height, hidden } = d, { made, shown } = model, wide = width > 520;
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - (wide ? 158 : 34), height }, { x: { label: "step", domain: model.span, kind: "log" }, y: { label: "share learnt", domain: [-0.05, 1.1] } });
  const { box } = plot, steps = made.curve.step, px = steps.map((k) => plot.x(Math.max(k, model.span[0] / 10)));
  const easiest = shown.reduce((a, b) => (b.half < a.half ? b : a)), asked = shown.reduce((a, b) => (b.half > a.half && b.half < Infinity ? b : a));
  pen.clip(box.left, box.top, box.width, box.height, () => {
    shown.forEach((each, i) => {
      if (hidden && each !== easiest) return;
      const share = made.path.share.map((g) => plot.y(g[each.number - 1]));
      pen.line(px, share, { colour: mode_colour(theme, i, shown.length), width: 2.4 });
    });
  });
  if (!hidden) {
    shown.forEach((each, i) => {
      if (each.half_step <= model.span[1] && each.half_step >= model.span[0]) pen.circle(plot.x(each.half_step), plot.y(0.5), 4, { colour: mode_colour(theme, i, shown.length), width: 2, fill: theme.paper });
    });
    const labels = shown.map((each, i) => ({ text: wide ? `${each.number}: ${short(words.made_of(each.features.slice(0, 2)), 17)}` : `${each.number}`, y: plot.y(made.path.share.at(-1)[each.number - 1]), colour: mode_colour(theme, i, shown.length) }));
    for (const each of apart(labels, box.top + 6, box.top + box.height - 6, 15)) pen.text(each.text, box.left + box.width + 6, each.y, { colour: each.colour, size: 12, bold: true, base: "middle" });
  }
  const k = panel.time(model, values.now);
  cursor(d, plot, k, `step ${words.count(k)}`, (now) => act.now(now));
  const truth = (step) => {
    const i = Math.max(1, d3.bisectLeft(steps, step)), j = Math.min(i, steps.length - 1), x = (step - steps[j - 1]) / (steps[j] - steps[j - 1] || 1);
    return made.path.share[j - 1][asked.number - 1] + x * (made.path.share[j][asked.number - 1] - made.path.share[j - 1][asked.number - 1]);
  };
  return { ...plot, asked: `how ${words.kind(made)} ${asked.number} is learnt`, truth, box_low: 0 };
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function draw_spectrum(d) {
  const { pen, theme, values, model, width, height } = d, { components } = model.made, n = components.length, share = components.map((each) => each.explained);
  const sizes = components.map((each) => (values.whiten ? each.strength : each.variance)), top = Math.max(...sizes), low = Math.min(...sizes);
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - 40, height }, {
    x: { label: words.kind(model.made), domain: [0.4, n + 0.6], ticks: Math.min(n, 8), format: (x) => (Number.isInteger(x) ? String(x) : "") },
    y: { label: values.whiten ? "strength" : "variance", domain: [low / 2, top * 2], kind: "log", ticks: 4 },
  });
  const { box } = plot, most = Math.max(...share), bar = Math.min((0.6 * box.width) / n, 26), base = box.top + box.height, up = (x) => base - (x / most) * box.height * 0.92, colour = theme.palette[1];
  share.forEach((x, j) => pen.rect(plot.x(j + 1) - bar / 2, up(x), bar, base - up(x), { fill: colour, alpha: 0.55 }));
  sizes.forEach((x, j) => pen.circle(plot.x(j + 1), plot.y(x), 4, { fill: theme.palette[0], colour: theme.paper, width: 1 }));
  for (const x of d3.ticks(0, most, 3)) pen.text(words.percent(x, most < 0.1 ? 1 : 0), box.left + box.width + 5, up(x), { size: 11, base: "middle", colour });
  return plot;
}

function draw_loss(d) {
  const { pen, theme, values, model, width, height, hidden } = d, { made } = model, expected = made.stopping?.loss;
  const all = [...made.curve.loss, ...(expected ?? [])], low = Math.min(...all), high = Math.max(...all), pad = 0.06 * (high - low || 1);
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, { x: { label: "step", domain: model.span, kind: "log", ticks: 5 }, y: { label: "loss", domain: [low - pad, high + pad], ticks: 5 } });
  const { box } = plot, px = made.curve.step.map((k) => plot.x(Math.max(k, model.span[0] / 10))), { palette } = theme;
  if (!hidden) {
    pen.clip(box.left, box.top, box.width, box.height, () => {
      if (expected) pen.line(px, expected.map((x) => plot.y(x)), { colour: palette[1], width: 2.2 });
      pen.line(px, made.curve.loss.map((x) => plot.y(x)), { colour: palette[0], width: 2.2 });
    });
    pen.text("training", box.left + 10, box.top + box.height - 12, { colour: palette[0], size: 12, bold: true, halo: theme.paper });
    if (expected) pen.text("expected test", box.left + 10, box.top + box.height - 28, { colour: palette[1], size: 12, bold: true, halo: theme.paper });
    const best = made.stopping && !made.stopping.train_to_the_end ? made.stopping.best / made.step_size : Infinity;
    if (best >= model.span[0] && best <= model.span[1]) {
      const x = plot.x(best);
      pen.line([x, x], [box.top, box.top + box.height], { colour: palette[1], width: 1.3, dash: [5, 4] });
      pen.text("stop", x - 5, box.top + 14, { anchor: "end", size: 12, colour: palette[1], bold: true, halo: theme.paper });
    }
  }
  const x = plot.x(panel.time(model, values.now));
  pen.line([x, x], [box.top, box.top + box.height], { colour: theme.ink, width: 1.2 });
  return plot;
}
