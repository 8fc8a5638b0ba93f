// Panel 1. Modes: σ(t) at any depth, from any start, for a spectrum that is dragged by its bars.
import { at_place, cursor } from "../app/clock.js";
import { round } from "../app/controls.js";
import { apart, axes } from "../draw/axes.js";
import { code, pretty } from "../draw/numbers.js";
import { mode_colour } from "../draw/theme.js";
import { fill } from "../theory/mode_curves.js";
import * as modes from "../theory/modes.js";
import * as phases from "../theory/phases.js";

const POINTS = 2000, SMALL_POINTS = 300, MOST = 20, REACH = 1.25, DECADES = 6;
const STRIDE = 4; // of the times at which the rank is drawn: five hundred are enough for the eye
const MULTIPLES = [1, 2, 3, Infinity];
const below = (i) => "₀₁₂₃₄₅₆₇₈₉"[i] ?? [...String(i)].map((c) => "₀₁₂₃₄₅₆₇₈₉"[Number(c)]).join("");

/** @type {any} */
export const panel = {
  id: "modes",
  title: "Modes",
  heading: "What is learnt, and when",
  lead: "A deep linear network learns each singular value of its target by itself. Depth and the size of the start decide whether they come together or one after the other.",
  defaults: { depth: 3, start: 1e-3, spectrum: [12, 6, 4, 3], y: "linear", x: "linear", multiples: false, now: 0.4 },
  controls: [
    { key: "depth", kind: "depth", label: "Depth", symbol: "N", min: 1, max: Infinity, hint: "Any real number from 1 to ∞." },
    { key: "start", kind: "log", label: "Start", symbol: "σ₀", min: 1e-12, max: 10 },
    { key: "y", kind: "choice", label: "Vertical axis", options: [["linear", "linear"], ["log", "logarithmic"]] },
    { key: "x", kind: "choice", label: "Time axis", options: [["linear", "linear"], ["log", "logarithmic"]] },
    { key: "multiples", kind: "switch", label: "Depths 1, 2, 3 and ∞ side by side" },
  ],
  valid(key, value) {
    if (key === "now") return value >= 0 && value <= 1;
    if (key !== "spectrum") return undefined;
    return value.length >= 1 && value.length <= MOST && value.every((x) => x > 0 && x <= 1e6);
  },
  timed: true,

  compute({ depth, start, spectrum, x, multiples }) {
    const course = follow(spectrum, start, depth, x, POINTS, "main");
    return { ...course, others: multiples ? MULTIPLES.map((n) => follow(spectrum, start, n, x, SMALL_POINTS, `depth ${n}`)) : [] };
  },

  time: (model, now) => at_place(now, model.span, model.kind),
  say_time: (model, now) => `t = ${pretty(panel.time(model, now), 3)}`,

  figures: (act) => [
    {
      name: "course", clock: true, title: "Singular values over time", wide: true, height: (w) => Math.max(260, Math.min(430, 0.55 * w)),
      caption: ({ values, hidden }) => (hidden ? "" : values.multiples
        ? "Every panel has its own time. Depth 1 learns all modes together; from depth 2 on, a small start makes them wait for each other."
        : "Thick: each mode; circles mark half learnt. Drag the line to move through time."),
      draw: (d) => (d.values.multiples ? draw_multiples(d) : draw_course(d, act)), sketch: true,
    },
    {
      name: "spectrum", title: "The spectrum of the target", height: () => 210,
      caption: () => "Drag a bar, or focus it and use the arrow keys. The filled part is what is learnt at the time shown.",
      draw: (d) => draw_spectrum(d, act),
    },
    {
      name: "loss", title: "Loss and effective rank", height: () => 210,
      caption: () => "Loss ½‖σ* − σ‖² (left axis, in ink) falls in steps; the effective rank (coloured) says how many modes the map has.",
      draw: draw_loss,
    },
  ],

  extras: (act, values) => [
    { label: "Add a mode", disabled: values().spectrum.length >= MOST, press: () => act.set("spectrum", [...values().spectrum, round(values().spectrum.at(-1) * 0.75)]) },
    { label: "Remove the last", disabled: values().spectrum.length <= 1, press: () => act.set("spectrum", values().spectrum.slice(0, -1)) },
  ],

  reading(values, model) {
    const t = panel.time(model, values.now), { times: table } = model;
    const rows = values.spectrum.map((target, i) => [
      `${i + 1}`, pretty(target, 4), pretty(modes.trajectory(t, target, values.start, values.depth), 4),
      pretty(table[i].begins), pretty(table[i].half), pretty(table[i].ends),
    ]);
    const order = values.spectrum.map((_, i) => i).filter((i) => table[i].ends > 0).sort((i, j) => table[i].half - table[j].half);
    const apart = order.slice(1).filter((j, k) => table[order[k]].ends <= table[j].begins).length;
    const sentence = order.length < 2 ? "" : `Of ${order.length - 1} successive pairs, ${apart === 0 ? "none is" : apart === 1 ? "one is" : `${apart} are`} learnt one after the other: 90 % of the first before 10 % of the second.`;
    return { sentences: [sentence], head: ["Mode", "σ*", `σ(t), t = ${pretty(t)}`, "10 % at", "half at", "90 % at"], rows };
  },

  marks({ depth, start, spectrum }) {
    const marks = [{ ok: true, text: "Closed solution of σ̇ = σ^{2−2/N}(σ* − σ): balanced, aligned start, white inputs, gradient flow (Gissin et al., Theorem 1)." }];
    if (!Number.isInteger(depth) && depth < Infinity) marks.push({ ok: false, text: `No network has ${pretty(depth)} layers: at this depth the solution is that of the equation, between those of ${Math.floor(depth)} and ${Math.floor(depth) + 1} layers.` });
    if (depth === Infinity) marks.push({ ok: false, text: "Infinite depth is a limit: time is that of the loss divided by N²." });
    const high = spectrum.filter((x) => x <= start).length;
    if (high) marks.push({ ok: false, text: `${high} mode(s) start at or above their target: they fall, and Definition 1 on incremental learning does not speak of them.` });
    return marks;
  },

  csv(values, model) {
    const columns = { t: model.t };
    model.sigma.forEach((s, i) => { columns[`sigma_${i + 1}`] = s; });
    return { ...columns, loss: model.loss, effective_rank: ranks(model.sigma, 1) };
  },

  python({ spectrum, start, depth, x }, model) {
    const grid = x === "log" ? `np.geomspace(${code(model.span[0])}, ${code(model.span[1])}, ${POINTS})` : `np.linspace(0, ${code(model.span[1])}, ${POINTS})`;
    return `import matplotlib.pyplot as plt
import numpy as np
from lineament.theory import modes

target = np.array([${spectrum.map(code).join(", ")}], dtype=float)
start, depth = ${code(start)}, ${code(depth)}
t = ${grid}
sigma = modes.trajectory(t[:, None], target, start, depth)
loss = 0.5 * np.sum(modes.residual(t[:, None], target, start, depth) ** 2, axis=1)
p = sigma / sigma.sum(axis=1, keepdims=True)
rank = np.exp(-np.sum(p * np.log(np.where(p > 0, p, 1)), axis=1))
half = modes.time_to(np.maximum(target / 2, start), target, start, depth)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(t, sigma)
left.plot(half, target / 2, "o", mfc="none", color="k")
left.set(xlabel="time t", ylabel="singular value σ"${x === "log" ? ', xscale="log"' : ""})
right.semilogy(t, loss, label="loss")
right.plot(t, rank, label="effective rank")
right.set(xlabel="time t")
right.legend()
plt.show()
`;
  },
};

/** Arrays that the next course of as many points is written into: a slider should not leave a megabyte a second to collect. */
const held = new Map();
function array(name, points) {
  const key = `${name}:${points}`;
  if (!held.has(key)) held.set(key, new Float64Array(points));
  return held.get(key);
}

/** All modes on one grid of times; `name` tells apart the courses that are shown at the same time. */
function follow(spectrum, start, depth, kind, points, name) {
  const times = spectrum.map((target) => timetable(target, start, depth));
  const end = REACH * Math.max(...times.map((row) => row.last));
  if (!(end > 0 && end < 1e300)) throw new RangeError(`start ${start} at depth ${depth} takes longer than a float can hold; take a larger start or a smaller depth`);
  const span = /** @type {[number, number]} */ (kind === "log" ? [end / 10 ** DECADES, end] : [0, end]);
  const t = array(`${name} t`, points), loss = array(`${name} loss`, points).fill(0), left = array("left", points), sigma = [];
  for (let i = 0; i < points; i++) t[i] = at_place(i / (points - 1), span, kind);
  for (const [k, target] of spectrum.entries()) {
    const s = array(`${name} ${k}`, points);
    fill(t, target, start, depth, s, left);
    for (let i = 0; i < points; i++) loss[i] += 0.5 * left[i] * left[i];
    sigma.push(s);
  }
  return { t, span, kind, sigma, loss, times, depth };
}

/** The effective rank e^{entropy of σ/Σσ} (Roy & Vetterli 2007) at every so many of the times. */
function ranks(sigma, stride) {
  const found = array("rank", Math.ceil(sigma[0].length / stride));
  for (let k = 0; k < found.length; k++) {
    let sum = 0, logs = 0;
    for (let j = 0; j < sigma.length; j++) {
      const x = sigma[j][k * stride];
      sum += x;
      if (x > 0) logs += x * Math.log(x);
    }
    found[k] = sum > 0 ? sum * Math.exp(-logs / sum) : 0;
  }
  return found;
}

/** When a mode passes 10 %, half and 90 %; a mode that falls has only a time at which a tenth of its way is left. */
function timetable(target, start, depth) {
  if (start < target) {
    const row = phases.timetable(target, start, depth);
    return { ...row, last: row.ends };
  }
  const last = start === target ? 0.1 : modes.time_to(target + 0.1 * (start - target), target, start, depth);
  return { begins: NaN, half: NaN, ends: NaN, last };
}

/** @returns {[number, number]} */
function vertical(values) {
  const top = Math.max(...values.spectrum, values.start);
  return values.y === "log" ? [Math.min(values.start, ...values.spectrum) / 2, top * 1.6] : [0, top * 1.08];
}

/** Pixels of the times, which are even on either axis; every so many of them. */
function across({ left, width }, points, stride) {
  const px = array("px", Math.ceil(points / stride));
  for (let i = 0; i < px.length; i++) px[i] = left + (width * i * stride) / (points - 1);
  return px;
}

function curves(d, plot, course, width) {
  const { pen, theme, values } = d, n = values.spectrum.length, { box } = plot, px = across(box, course.t.length, 1), py = array("py", px.length);
  const [low, high] = vertical(values), slope = box.height / (high - low), steep = box.height / Math.log(high / (low || 1));
  const floor = box.top + box.height, show = d.hidden ? 1 : n;
  pen.clip(box.left, box.top - 2, box.width + 1, box.height + 4, () => {
    for (let k = n - 1; k >= 0; k--) {
      if (k >= show) continue;
      const s = course.sigma[k];
      if (values.y === "log") for (let i = 0; i < py.length; i++) py[i] = floor - steep * Math.log(s[i] / low);
      else for (let i = 0; i < py.length; i++) py[i] = floor - slope * s[i];
      pen.curve(px, py, { colour: mode_colour(theme, k, n), width });
    }
  });
}

function draw_course(d, act) {
  const { pen, theme, values, model, width, height, hidden } = d, n = values.spectrum.length;
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - 34, height }, {
    x: { label: "time t", domain: model.span, kind: values.x },
    y: { label: "singular value σ(t)", domain: vertical(values), kind: values.y },
  });
  curves(d, plot, model, n > 8 ? 1.6 : 2.4);
  if (!hidden) {
    const labels = values.spectrum.map((target, k) => ({ text: `σ${below(k + 1)}`, y: plot.y(target), colour: mode_colour(theme, k, n) }));
    const shown = n <= 10 ? labels : [labels[0], labels[n - 1]];
    for (const each of apart(shown, plot.box.top + 4, plot.box.top + plot.box.height - 4)) {
      pen.text(each.text, plot.box.left + plot.box.width + 6, each.y, { colour: each.colour, size: 13, base: "middle", bold: true });
    }
    values.spectrum.forEach((target, k) => {
      const { half } = model.times[k];
      if (half > model.span[0] && half <= model.span[1]) pen.circle(plot.x(half), plot.y(target / 2), 4, { colour: mode_colour(theme, k, n), width: 2, fill: theme.paper });
    });
  }
  const time = at_place(values.now, model.span, model.kind);
  cursor(d, plot, time, `t = ${pretty(time)}`, (now) => act.now(now));
  if (values.y === "log") {
    d.handle({
      key: "start", name: "Start σ₀", text: pretty(values.start), now: Math.log10(values.start), range: [-12, 1], x: plot.box.left, y: plot.y(values.start), along: "y",
      drag: (x, y) => act.set("start", round(Math.min(Math.max(plot.invert_y(y), 1e-12), 10))),
      nudge: (dx, dy, fine) => act.set("start", round(Math.min(Math.max(values.start * 10 ** ((dx + dy) * (fine ? 0.02 : 0.1)), 1e-12), 10))),
    });
  }
  const last = n - 1;
  return { ...plot, asked: `how mode ${n} (the one with σ* = ${pretty(values.spectrum[last])}) is learnt`, truth: (t) => modes.trajectory(t, values.spectrum[last], values.start, values.depth), box_low: vertical(values)[0] };
}

function draw_multiples(d) {
  const { pen, theme, values, model, width, height } = d, across = width < 560 ? 2 : 4, rows = 4 / across;
  model.others.forEach((course, k) => {
    const w = width / across, h = height / rows, left = (k % across) * w, top = Math.floor(k / across) * h;
    const plot = axes(pen, theme, { left, top, width: w, height: h }, {
      x: { label: "time t", domain: course.span, kind: values.x, ticks: 3 },
      y: { label: k % across ? "" : "σ(t)", domain: vertical(values), kind: values.y, ticks: 4 },
      title: `N = ${pretty(course.depth)}`, bare: k % across > 0,
    });
    curves(d, plot, course, 2);
  });
  return null;
}

/** A round number a little above. */
function ceiling(x) {
  const power = 10 ** Math.floor(Math.log10(x * 1.02));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15].find((m) => m * power >= x * 1.02);
}

function draw_spectrum(d, act) {
  const { pen, theme, values, model, width, height } = d, n = values.spectrum.length, top = ceiling(Math.max(...values.spectrum));
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, {
    x: { label: "mode", domain: [0.5, n + 0.5], ticks: n, format: (x) => (Number.isInteger(x) ? String(x) : "") },
    y: { label: "σ*", domain: [0, top] },
  });
  const t = at_place(values.now, model.span, model.kind), { box } = plot, slot = box.width / n, bar = Math.min(0.7 * slot, 64);
  values.spectrum.forEach((target, k) => {
    const colour = mode_colour(theme, k, n), x = plot.x(k + 1), y = plot.y(target), base = box.top + box.height;
    pen.rect(x - bar / 2, y, bar, base - y, { colour, width: 1.5, fill: theme.paper });
    if (!d.hidden) {
      const learnt = plot.y(Math.min(modes.trajectory(t, target, values.start, values.depth), top));
      pen.rect(x - bar / 2, learnt, bar, base - learnt, { fill: colour, alpha: 0.75 });
    }
    const set = (value) => act.set("spectrum", values.spectrum.map((old, j) => (j === k ? round(Math.min(Math.max(value, 1e-3), 1e6)) : old)));
    d.handle({
      key: `bar-${k}`, name: `Target σ* of mode ${k + 1}`, text: pretty(target), now: target, range: [1e-3, 1e6], x, y, width: Math.max(bar, 12), height: 26, colour, along: "y",
      drag: (px, py) => set(plot.invert_y(py)),
      nudge: (dx, dy, fine) => set(target + (dx + dy) * top * (fine ? 0.002 : 0.01)),
    });
  });
  return plot;
}

function draw_loss(d) {
  const { pen, theme, values, model, width, height, hidden } = d, n = values.spectrum.length, most = model.loss[0], floor = most * 1e-8;
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - 34, height }, {
    x: { label: "time t", domain: model.span, kind: values.x, ticks: 5 }, y: { label: "loss", domain: [floor, most * 2], kind: "log", ticks: 5 },
  });
  const { box } = plot, up = (r) => box.top + box.height * (1 - r / (n + 0.3)), points = model.t.length;
  const side = box.left + box.width, colour = theme.palette[1];
  for (const r of d3.ticks(0, n, Math.min(n, 5)).filter(Number.isInteger)) pen.text(String(r), side + 5, up(r), { size: 11, base: "middle", colour });
  pen.text("rank", side + 30, box.top + box.height / 2, { turn: 90, anchor: "middle", size: 12, colour });
  if (!hidden) {
    pen.clip(box.left, box.top, box.width, box.height, () => {
      const rank = ranks(model.sigma, STRIDE), py = array("py", points), steep = box.height / Math.log((most * 2) / floor), base = box.top + box.height;
      for (let i = 0; i < rank.length; i++) rank[i] = up(rank[i]);
      pen.curve(across(box, points, STRIDE), rank, { colour, width: 2 });
      for (let i = 0; i < points; i++) py[i] = base - steep * Math.log(Math.max(model.loss[i] / floor, 0.1));
      pen.curve(across(box, points, 1), py, { colour: theme.ink, width: 2 });
    });
  }
  const time = at_place(values.now, model.span, model.kind), x = plot.x(time);
  pen.line([x, x], [box.top, box.top + box.height], { colour: theme.ink, width: 1.2 });
  return plot;
}
