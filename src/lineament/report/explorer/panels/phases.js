// Panel 2. One after the other? The map of incremental learning over start and ratio, with its exact edge.
import { at_place, cursor } from "../app/clock.js";
import { axes } from "../draw/axes.js";
import { code, pretty, pretty_log } from "../draw/numbers.js";
import { round } from "../app/controls.js";
import * as bounds from "../theory/phase_bounds.js";
import { fill } from "../theory/mode_curves.js";
import * as modes from "../theory/modes.js";
import * as phases from "../theory/phases.js";

const RATIOS = /** @type {[number, number]} */ ([1.05, 30]), STARTS = /** @type {[number, number]} */ ([1e-12, 0.9]);
const POINTS = 160, COURSE = 400;

/** @type {any} */
export const panel = {
  id: "phases",
  title: "One after the other?",
  heading: "Are two modes learnt one after the other?",
  lead: "Two modes start together. The stronger is r times as strong. Below the edge of the map the weaker has not begun when the stronger is learnt.",
  defaults: { depth: 3, s: 0.1, f: 0.9, start: 1e-3, ratio: 2, now: 0.4 },
  controls: [
    { key: "depth", kind: "depth", label: "Depth", symbol: "N", min: 1, max: Infinity },
    { key: "start", kind: "log", label: "Start over the weaker target", symbol: "σ₀/σⱼ*", min: STARTS[0], max: STARTS[1] },
    { key: "ratio", kind: "log", label: "Ratio of the targets", symbol: "r", min: RATIOS[0], max: RATIOS[1] },
    { key: "s", kind: "linear", label: "Not begun: less than", symbol: "s", min: 0.01, max: 0.5 },
    { key: "f", kind: "linear", label: "Learnt: more than", symbol: "f", min: 0.5, max: 0.99 },
  ],
  valid: (key, value) => (key === "now" ? value >= 0 && value <= 1 : undefined),
  timed: true,

  compute({ depth, s, f, start, ratio }) {
    const rs = Array.from({ length: POINTS }, (_, i) => 1.001 * (RATIOS[1] / 1.001) ** (i / (POINTS - 1)));
    const edge = rs.map((r) => phases.log_threshold(depth, r, s, f));
    const printed = depth === 2 || depth >= 3 ? rs.map((r) => bounds.log_bounds(depth, r, s, f)) : null;
    const corrected = depth >= 2 ? rs.map((r) => bounds.log_bounds_corrected(depth, r, s, f)) : null;
    const yes = phases.is_incremental(start, ratio, 1, s, f, depth), at = phases.log_threshold(depth, ratio, s, f);
    const when = [ratio, 1].map((target) => ({ s: passes(s, target, start, depth), f: passes(f, target, start, depth) }));
    const span = [0, 1.2 * Math.max(when[1].f, 1e-9)], t = Float64Array.from({ length: COURSE }, (_, i) => (span[1] * i) / (COURSE - 1));
    if (!(span[1] < 1e300)) throw new RangeError(`start ${start} at depth ${depth} takes longer than a float can hold; take a larger start`);
    const course = [ratio, 1].map((target) => {
      const sigma = new Float64Array(COURSE);
      fill(t, target, start, depth, sigma, new Float64Array(COURSE));
      return sigma;
    });
    return { rs, edge, printed, corrected, yes, at, when, span, t, course, kind: "linear" };
  },
  time: (model, now) => at_place(now, model.span, "linear"),
  say_time: (model, now) => `t = ${pretty(panel.time(model, now))}`,

  figures: (act) => [
    {
      name: "map", title: "Map of incremental learning", wide: true, height: (w) => Math.max(280, Math.min(430, 0.55 * w)),
      caption: () => "Shaded: one after the other. Solid: the exact edge. Dashed: the bounds as printed; dotted: as corrected. Drag the point; a click takes that setting into Modes.",
      draw: (d) => draw_map(d, act),
      press: (plot, px, py) => {
        const start = plot.invert_x(px), ratio = plot.invert_y(py), inside = (x, [a, b]) => x >= a && x <= b;
        if (inside(start, STARTS) && inside(ratio, RATIOS)) act.take("modes", { start: round(start), spectrum: [round(ratio), 1], depth: act.values().depth, multiples: false });
      },
    },
    {
      name: "pair", clock: true, title: "The two modes at this point", wide: true, height: () => 240,
      caption: ({ model, hidden }) => (hidden || !model ? "" : `When the stronger passes f of its target the weaker ${model.yes ? "has not yet passed" : "has already passed"} s of its own.`),
      draw: (d) => draw_pair(d, act), sketch: true,
    },
  ],
  extras: (act) => [{ label: "Open this setting in Modes", press: () => { const v = act.values(); act.take("modes", { start: v.start, spectrum: [v.ratio, 1], depth: v.depth, multiples: false }); } }],

  reading(values, { yes, at }) {
    const { depth, ratio, s, f } = values, rows = [["exact edge σ₀th/σⱼ*", pretty_log(at, 4)]];
    if (depth === 2 || depth >= 3) {
      const [low, high] = bounds.log_bounds(depth, ratio, s, f);
      rows.push(["printed bounds (Theorem 2)", `${pretty_log(low, 3)} … ${pretty_log(high, 3)}${at > high ? ", and the edge lies above" : ""}`]);
    }
    if (depth >= 2) {
      const [low, high] = bounds.log_bounds_corrected(depth, ratio, s, f);
      rows.push(["corrected bounds", `${pretty_log(low, 3)} … ${pretty_log(high, 3)}`]);
    }
    const factor = at - Math.log(values.start);
    const far = at === -Infinity ? "no start is small enough" : `the start is ${pretty(Math.exp(Math.min(Math.abs(factor), 690)), 3)} times ${yes ? "below" : "above"} the edge`;
    return { sentences: [`${yes ? "Yes: learnt one after the other" : "No: learnt together"} (${far}).`], head: ["At this ratio", "value"], rows };
  },
  marks({ depth, s, f, ratio }) {
    const marks = [{ ok: true, text: "Exact decision for gradient flow at every real depth (Gissin et al., Definition 1)." }];
    if (s >= 0.25) marks.push({ ok: false, text: "Definition 1 asks s < ¼; the edge is exact here too, but the theorem does not speak." });
    if (f <= 0.75) marks.push({ ok: false, text: "Definition 1 asks f > ¾; the edge is exact here too, but the theorem does not speak." });
    if (depth > 2 && depth < 3) marks.push({ ok: false, text: "Theorem 2 prints bounds for N = 2 and N ≥ 3 only; the corrected ones hold for every N ≥ 2." });
    if (depth < 2) marks.push({ ok: false, text: "Below depth 2 there are no bounds: small starts stop helping, and at depth 1 no pair is ever incremental." });
    if (depth >= 3) {
      const at = phases.log_threshold(depth, ratio, s, f), [, high] = bounds.log_bounds(depth, ratio, s, f);
      if (at > high) marks.push({ ok: false, text: "The printed upper bound is false here: its proof drops a term of a necessary condition." });
    }
    return marks;
  },
  csv(values, model) {
    const columns = { ratio: model.rs, log_threshold: model.edge };
    if (model.printed) Object.assign(columns, { log_printed_below: model.printed.map((b) => b[0]), log_printed_above: model.printed.map((b) => b[1]) });
    if (model.corrected) Object.assign(columns, { log_corrected_below: model.corrected.map((b) => b[0]), log_corrected_above: model.corrected.map((b) => b[1]) });
    return columns;
  },
  python({ depth, s, f, start, ratio }) {
    const more = depth >= 2 ? `corrected = phase_bounds.log_bounds_corrected(depth, r, s, f)
for bound in corrected:
    axes.loglog(np.exp(bound), r, ":", label="corrected bound")
` : "";
    const printed = depth === 2 || depth >= 3 ? `printed = phase_bounds.log_bounds(depth, r, s, f)
for bound in printed:
    axes.loglog(np.exp(bound), r, "--", label="printed bound")
` : "";
    return `import matplotlib.pyplot as plt
import numpy as np
from lineament.theory import phase_bounds, phases

depth, s, f = ${code(depth)}, ${code(s)}, ${code(f)}
start, ratio = ${code(start)}, ${code(ratio)}
r = np.geomspace(1.001, ${RATIOS[1]}, ${POINTS})
edge = phases.log_threshold(depth, r, s, f)
incremental = bool(phases.is_incremental(start, ratio, 1.0, s, f, depth))

figure, axes = plt.subplots()
axes.loglog(np.exp(edge), r, "k", label="exact edge")
${printed}${more}axes.loglog(start, ratio, "o", label="incremental" if incremental else "together")
axes.set(xlabel="start σ₀/σⱼ*", ylabel="ratio r", xlim=(${STARTS[0]}, ${STARTS[1]}), ylim=(${RATIOS[0]}, ${RATIOS[1]}))
axes.legend()
plt.show()
`;
  },
};

const passes = (fraction, target, start, depth) => (fraction * target <= start ? 0 : modes.time_to(fraction * target, target, start, depth));

function draw_map(d, act) {
  const { pen, theme, values, model, width, height } = d, narrow = width < 480;
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, {
    x: { label: "start σ₀ over the weaker target σⱼ*", domain: STARTS, kind: "log", ticks: narrow ? 4 : 7 },
    y: { label: "ratio r of the targets", domain: RATIOS, kind: "log", ticks: 6 },
  });
  const { box } = plot, left = Math.log(STARTS[0]) - 3, px = (log_x) => plot.x(Math.exp(Math.max(log_x, left)));
  const ys = model.rs.map((r) => plot.y(r)), edge = model.edge.map(px), colour = theme.palette[0];
  pen.clip(box.left, box.top, box.width, box.height, () => {
    const path = d3.area().x0(() => box.left - 5).x1((i) => edge[i]).y((i) => ys[i])(d3.range(ys.length));
    if (path) pen.path(path, { fill: colour, alpha: 0.16 });
    for (const side of [0, 1]) {
      if (model.printed) pen.line(model.printed.map((b) => px(b[side])), ys, { colour: theme.palette[1], width: 1.8, dash: [7, 5] });
      if (model.corrected) pen.line(model.corrected.map((b) => px(b[side])), ys, { colour: theme.palette[2], width: 2, dash: [2, 4] });
    }
    pen.line(edge, ys, { colour: theme.ink, width: 2.4 });
  });
  const note = { size: 13, bold: true, halo: theme.paper };
  const middle = Math.floor(POINTS * 0.8), room = edge[middle] - box.left;
  if (room > 110) pen.text("one after the other", box.left + 12, box.top + 24, { ...note, colour });
  pen.text("together", box.left + box.width - 12, box.top + box.height - 14, { ...note, colour: theme.soft, anchor: "end" });
  legend(pen, theme, box, model);
  const x = plot.x(values.start), y = plot.y(values.ratio), clip = (v, [a, b]) => round(Math.min(Math.max(v, a), b));
  pen.circle(x, y, 7, { colour: theme.ink, width: 2, fill: theme.palette[4] });
  d.handle({
    key: "point", name: "Setting: start and ratio", text: `start ${pretty(values.start)}, ratio ${pretty(values.ratio)}`, x, y, along: "both", colour: theme.palette[4],
    drag: (a, b) => act.set({ start: clip(plot.invert_x(a), STARTS), ratio: clip(plot.invert_y(b), RATIOS) }),
    nudge: (dx, dy, fine) => act.set({ start: clip(values.start * 10 ** (dx * (fine ? 0.02 : 0.1)), STARTS), ratio: clip(values.ratio * 10 ** (dy * (fine ? 0.004 : 0.02)), RATIOS) }),
  });
  return plot;
}

function legend(pen, theme, box, model) {
  const entries = [["exact edge", theme.ink, undefined], ...(model.printed ? [["printed bounds", theme.palette[1], [7, 5]]] : []), ...(model.corrected ? [["corrected bounds", theme.palette[2], [2, 4]]] : [])];
  entries.forEach(([words, colour, dash], i) => {
    const y = box.top + 46 + 18 * i, x = box.left + 12;
    pen.line([x, x + 26], [y - 4, y - 4], { colour, width: 2.2, dash });
    pen.text(words, x + 32, y, { size: 12, colour: theme.ink, halo: theme.paper });
  });
}

function draw_pair(d, act) {
  const { pen, theme, values, model, width, height, hidden } = d, { ratio, s, f } = values;
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - 44, height }, {
    x: { label: "time t", domain: model.span }, y: { label: "σ(t)/σ*", domain: [0, 1.06], ticks: 5 },
  });
  const { box } = plot, px = Float64Array.from(model.t, (t) => plot.x(t)), right = box.left + box.width;
  for (const [level, words] of [[s, "s"], [f, "f"]]) {
    pen.line([box.left, right], [plot.y(level), plot.y(level)], { colour: theme.guide, width: 1, dash: [4, 4] });
    pen.text(words, right + 6, plot.y(level), { base: "middle", size: 12, colour: theme.soft, italic: true });
  }
  model.course.forEach((sigma, k) => {
    if (hidden && k === 1) return;
    pen.curve(px, sigma.map((x) => plot.y(x / (k ? 1 : ratio))), { colour: theme.palette[k], width: 2.4 });
  });
  if (!hidden) {
    [[0, "f", f], [1, "s", s]].forEach(([k, which, level]) => {
      const t = model.when[k][which];
      if (t <= model.span[1]) pen.circle(plot.x(t), plot.y(level), 5, { colour: theme.palette[k], width: 2, fill: theme.paper });
    });
    ["stronger", "weaker"].forEach((words, k) => {
      const t = model.when[k].f, x = Math.min(plot.x(t) + 8, right - 58);
      pen.text(words, x, plot.y(f) + (k ? 34 : 18), { colour: theme.palette[k], size: 12, bold: true, halo: theme.paper });
    });
  }
  const time = panel.time(model, values.now);
  cursor(d, plot, time, `t = ${pretty(time)}`, (now) => act.now(now));
  return { ...plot, asked: "how the weaker mode is learnt", truth: (t) => modes.trajectory(t, 1, values.start, values.depth), box_low: 0 };
}
