// Panel 4. Depth as a preconditioner: the end-to-end field on a loss of two parameters, depths side by side.
import { at_place } from "../app/clock.js";
import { round } from "../app/controls.js";
import { apart, axes } from "../draw/axes.js";
import { code, pretty } from "../draw/numbers.js";
import * as certificates from "../theory/certificates.js";
import { field_diagonal, field_one_output } from "../theory/end_to_end.js";
import { steps } from "../theory/ode.js";

const WINDOW = /** @type {[number, number]} */ ([-0.6, 2.4]), SEEDS = 6, LENGTH = 34, POINTS = 300, ENOUGH = 1e-3, RTOL = 1e-9, LONGEST = 400;

/** @type {any} */
export const panel = {
  id: "preconditioner",
  title: "Depth as a preconditioner",
  heading: "How depth bends the path of descent",
  lead: "The product of the layers moves by an equation of its own: gradient descent, but with the gradient stretched along the way already gone. Drag the start and the minimum.",
  defaults: { map: "row", power: 2, slope: 1, depth: 4, target: [1.6, 0.9], start: [0.15, 0.5], now: 0.35 },
  controls: [
    { key: "map", kind: "choice", label: "Map", options: [["row", "two inputs, one output"], ["diagonal", "diagonal 2 × 2"]] },
    { key: "power", kind: "whole", label: "Loss |w − w*|ᵖ/p, with p", min: 2, max: 4, hint: "2 or 4; 3 is allowed, and smooth enough." },
    { key: "slope", kind: "log", label: "Curvature along the second axis", symbol: "c₂", min: 0.05, max: 20 },
    { key: "depth", kind: "whole", label: "Depth of the last panel", symbol: "n", min: 2, max: 12 },
  ],
  valid(key, value) {
    if (key === "now") return value >= 0 && value <= 1;
    if (key === "target" || key === "start") return value.length === 2 && value.every((x) => x >= WINDOW[0] && x <= WINDOW[1]);
    return undefined;
  },
  timed: true,

  compute(values) {
    const { map, power, slope, target, start } = values, depths = [1, 2, 3, values.depth].filter((n, i, all) => all.indexOf(n) === i);
    const c = [1, slope];
    const loss = (w) => c.reduce((sum, ci, i) => sum + (ci * Math.abs(w[i] - target[i]) ** power) / power, 0);
    const gradient = (w) => c.map((ci, i) => ci * Math.sign(w[i] - target[i]) * Math.abs(w[i] - target[i]) ** (power - 1));
    const velocity = (n) => (w) => (map === "row" ? field_one_output : field_diagonal)(w, gradient(w), n);
    const excess = loss(start), runs = depths.map((n) => ({ n, ...run(velocity(n), start, loss, excess) }));
    const arrived = runs.map((r) => r.arrived).filter((t) => t < Infinity);
    const end = arrived.length ? Math.min(1.15 * Math.max(...arrived), 25 * Math.min(...arrived)) : LONGEST / 4;
    const span = /** @type {[number, number]} */ ([0, end || 1]), t = Array.from({ length: POINTS }, (_, i) => (span[1] * i) / (POINTS - 1));
    const drawn = runs.map((r) => {
      const path = t.map(r.at);
      return { ...r, path, loss: path.map(loss), flow: flow_lines(velocity(r.n)) };
    });
    return { c, loss, runs: drawn, span, t, kind: "linear", excess, edge: margin_edge(values, c), ...certificate(values, c, excess, depths) };
  },
  time: (model, now) => at_place(now, model.span, "linear"),
  say_time: (model, now) => `t = ${pretty(panel.time(model, now))}`,

  figures: (act) => [
    {
      name: "fields", clock: true, title: "Flow of the end-to-end map at several depths", wide: true,
      height: (w) => (w < 620 ? 2 * Math.max(200, w / 2 + 30) : w / 4 + 70),
      caption: () => "Thin lines: the flow from everywhere; thick: from the start (○) towards the minimum (◆); × are saddles. Shaded: starts with a deficiency margin, from which convergence is guaranteed.",
      draw: (d) => draw_fields(d, act),
    },
    {
      name: "loss", title: "Loss over time", wide: true, height: () => 240, sketch: true,
      caption: () => "At the same time for all depths; dashed: the bound of Theorem 2 for the last depth, where there is a margin.", draw: draw_loss,
    },
  ],

  reading(values, model) {
    const t = panel.time(model, values.now);
    const rows = model.runs.map((r) => [`${r.n}`, r.at(t).reduce((text, x) => `${text}${text ? ", " : ""}${pretty(x)}`, ""), pretty(model.loss(r.at(t))), r.arrived < Infinity ? pretty(r.arrived) : "not here", model.margin > 0 ? pretty(certificates.guaranteed_time(ENOUGH * model.excess, model.excess, r.n, model.margin, model.alpha)) : "–"]);
    const says = model.margin > 0 ? `Deficiency margin ${pretty(model.margin)}: from this start every depth converges.` : "No deficiency margin at this start: nothing is guaranteed, though the flow may well converge.";
    return { sentences: [model.known ? says : "For this loss the margin is not known in closed form."], head: ["Depth", `w(t), t = ${pretty(t)}`, "loss", `${100 * ENOUGH} % of the loss left at`, "guaranteed by"], rows };
  },
  marks({ power, map, start, slope }, model) {
    const marks = [{ ok: true, text: "Equation (3) of Cohen & Razin: exact for gradient flow from balanced layers (Assumption 1)." }];
    if (power !== 2) marks.push({ ok: false, text: "The loss is not strongly convex: Theorem 2 gives no rate." });
    if (power === 2 && slope !== 1) marks.push({ ok: false, text: "The inputs are not white: the margin is a sufficient one, from strong convexity." });
    if (start.every((x) => x === 0)) marks.push({ ok: false, text: "The start is the origin, a saddle from depth 2 on: nothing moves." });
    if (map === "diagonal" && start.some((x, i) => x * model.runs[0].goal[i] <= 0)) marks.push({ ok: false, text: "An entry starts at zero or on the wrong side of it: from depth 2 on it cannot cross (the sign of the determinant is kept), and the flow ends at a saddle." });
    if (model.known && !(model.margin > 0)) marks.push({ ok: false, text: "Outside the shaded region: Theorem 2 does not apply." });
    return marks;
  },
  csv(values, model) {
    const columns = { t: model.t };
    for (const r of model.runs) Object.assign(columns, { [`depth_${r.n}_w1`]: r.path.map((w) => w[0]), [`depth_${r.n}_w2`]: r.path.map((w) => w[1]), [`depth_${r.n}_loss`]: r.loss });
    return columns;
  },
  python({ map, power, slope, target, start, depth }, model) {
    const shaped = map === "row" ? "[[w1, w2]]" : "[[w1, 0.0], [0.0, w2]]";
    const pair = (x) => shaped.replace("w1", code(x[0])).replace("w2", code(x[1]));
    return `import matplotlib.pyplot as plt
import numpy as np
from lineament.theory import end_to_end

target = np.array(${pair(target)})
start = np.array(${pair(start)})
curvature, p = np.array([1.0, ${code(slope)}]), ${power}


def gradient(W):
    gap = W - target
    return curvature * np.sign(gap) * np.abs(gap) ** (p - 1)


t = np.linspace(0, ${code(model.span[1])}, ${POINTS})
depths = [${model.runs.map((r) => r.n).join(", ")}]
paths = {n: end_to_end.trajectory(t, start, gradient, n) for n in depths}
loss = {n: np.sum(curvature * np.abs(W - target) ** p, axis=(1, 2)) / p for n, W in paths.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for n, W in paths.items():
    left.plot(W[:, 0, 0], W[:, ${map === "row" ? "0" : "1"}, 1], label=f"depth {n}")
    right.semilogy(t, loss[n])
left.plot(*${map === "row" ? "target[0]" : "np.diag(target)"}, "D", color="k")
left.set(xlabel="w₁", ylabel="w₂")
left.legend()
right.set(xlabel="time t", ylabel="loss")
plt.show()
`;
  },
};

/** The run from the start: the map at every time, and when the loss has fallen enough. */
function run(velocity, start, loss, excess) {
  const taken = [];
  let arrived = Infinity;
  for (const step of steps(velocity, Float64Array.from(start), LONGEST, RTOL, 1e-12)) {
    taken.push(step);
    if (arrived === Infinity && loss(step.y) <= ENOUGH * excess) arrived = crossing(step, loss, ENOUGH * excess);
    if (loss(step.y) <= 1e-16 * excess || taken.length > 4000) break;
  }
  const at = (t) => {
    let low = 0, high = taken.length - 1;
    if (t >= taken[high].time) return taken[high].y;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (taken[middle].time < t) low = middle + 1;
      else high = middle;
    }
    return taken[low].at(t);
  };
  return { at, arrived, goal: taken.at(-1).y };
}

function crossing(step, loss, level) {
  let low = step.before, high = step.time;
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (loss(step.at(middle)) > level) low = middle;
    else high = middle;
  }
  return high;
}

/** Lines along the field, of equal length, from a grid of points; by the midpoint rule at unit speed. */
function flow_lines(velocity) {
  const lines = [], size = WINDOW[1] - WINDOW[0], h = 0.025;
  const unit = (w) => {
    const v = velocity(w), speed = Math.hypot(v[0], v[1]);
    return speed > 1e-12 ? [v[0] / speed, v[1] / speed] : null;
  };
  for (let i = 0; i < SEEDS; i++) {
    for (let j = 0; j < SEEDS; j++) {
      let w = [WINDOW[0] + ((i + 0.5) * size) / SEEDS, WINDOW[0] + ((j + 0.5) * size) / SEEDS];
      const line = [w];
      for (let k = 0; k < LENGTH; k++) {
        const v = unit(w), half = v && [w[0] + (h / 2) * v[0], w[1] + (h / 2) * v[1]], u = half && unit(half);
        if (!u) break;
        const next = [w[0] + h * u[0], w[1] + h * u[1]];
        if (k > 1 && Math.hypot(next[0] - line[k - 1][0], next[1] - line[k - 1][1]) < h) break; // arrived: it turns back
        w = next;
        line.push(w);
      }
      if (line.length > 4) lines.push(line);
    }
  }
  return lines;
}

/** The level of the loss below which a map has some deficiency margin (Definition 3); null where it is not known. */
function margin_edge({ map, power, target }, c) {
  // A row is deficient at zero only. A diagonal map is compared with all singular matrices: σ_min(ΛC^{1/2}).
  if (map === "row") return c.reduce((sum, ci, i) => sum + (ci * Math.abs(target[i]) ** power) / power, 0);
  return power === 2 ? Math.min(...c.map((ci, i) => (ci * target[i] ** 2) / 2)) : null;
}

function certificate({ map, power, target, start, slope }, c, excess, depths) {
  if (power !== 2) return { margin: NaN, alpha: NaN, known: false, bound: null };
  const alpha = Math.min(...c), shaped = (x) => (map === "row" ? [Float64Array.from(x)] : [Float64Array.of(x[0], 0), Float64Array.of(0, x[1])]);
  const margin = slope === 1 ? certificates.deficiency_margin(shaped(start), shaped(target)) : certificates.margin_from_excess(excess, shaped(target), alpha);
  const bound = margin > 0 ? certificates.guaranteed_rate(depths.at(-1), margin, alpha) : null;
  return { margin, alpha, known: true, bound };
}

function draw_fields(d, act) {
  const { pen, theme, model, width, height } = d, count = model.runs.length, across = width < 620 ? 2 : count;
  const rows = Math.ceil(count / across), w = width / across, h = height / rows;
  model.runs.forEach((r, k) => {
    const frame = { left: (k % across) * w, top: Math.floor(k / across) * h, width: w, height: h };
    const plot = axes(pen, theme, frame, {
      x: { label: "w₁", domain: WINDOW, ticks: 4 }, y: { label: k % across ? "" : "w₂", domain: WINDOW, ticks: 4 }, title: `depth ${r.n}`, bare: k % across > 0,
    });
    draw_field(d, act, plot, r, k);
  });
  return null;
}

function draw_field(d, act, plot, r, k) {
  const { pen, theme, values, model } = d, { box } = plot, colour = theme.palette[k], to = (points) => [points.map((p) => plot.x(p[0])), points.map((p) => plot.y(p[1]))];
  const inside = (v) => round(Math.min(Math.max(v, WINDOW[0]), WINDOW[1]));
  pen.clip(box.left, box.top, box.width, box.height, () => {
    if (model.edge !== null) pen.path(level_set(values, model.c, model.edge, plot), { fill: theme.palette[2], alpha: 0.14 });
    for (const share of [0.02, 0.1, 0.3, 0.7, 1.5]) pen.path(level_set(values, model.c, share * model.c.reduce((s, ci, i) => s + (ci * (Math.abs(values.target[i]) + 0.3) ** values.power) / values.power, 0), plot), { colour: theme.grid, width: 1.2 });
    for (const line of r.flow) {
      const [xs, ys] = to(line), n = xs.length;
      pen.line(xs, ys, { colour: theme.guide, width: 1, alpha: 0.75 });
      const a = Math.atan2(ys[n - 1] - ys[n - 3], xs[n - 1] - xs[n - 3]), tip = (turn) => [xs[n - 1] - 6 * Math.cos(a + turn), ys[n - 1] - 6 * Math.sin(a + turn)];
      const [l, m] = [tip(0.45), tip(-0.45)];
      pen.line([l[0], xs[n - 1], m[0]], [l[1], ys[n - 1], m[1]], { colour: theme.guide, width: 1, alpha: 0.75 });
    }
    if (!d.hidden) pen.line(...to(r.path), { colour, width: 3 });
    for (const [x, y] of r.n === 1 ? [] : values.map === "row" ? [[0, 0]] : [[0, 0], [values.target[0], 0], [0, values.target[1]]]) {
      const px = plot.x(x), py = plot.y(y);
      pen.line([px - 5, px + 5], [py - 5, py + 5], { colour: theme.ink, width: 2 });
      pen.line([px - 5, px + 5], [py + 5, py - 5], { colour: theme.ink, width: 2 });
    }
    const [gx, gy] = values.target.map((v, i) => (i ? plot.y(v) : plot.x(v)));
    pen.path(`M${gx},${gy - 7}L${gx + 7},${gy}L${gx},${gy + 7}L${gx - 7},${gy}Z`, { fill: theme.ink });
    pen.circle(plot.x(values.start[0]), plot.y(values.start[1]), 6, { colour: theme.ink, width: 2, fill: theme.paper });
    if (!d.hidden) { const now = r.at(panel.time(model, values.now)); pen.circle(plot.x(now[0]), plot.y(now[1]), 5.5, { fill: colour, colour: theme.paper, width: 1.5 }); }
  });
  for (const [key, name] of [["start", "Start"], ["target", "Minimum"]]) {
    const [a, b] = values[key];
    d.handle({
      key: `${key}-${r.n}`, name: `${name}, panel of depth ${r.n}`, text: `${pretty(a)}, ${pretty(b)}`, x: plot.x(a), y: plot.y(b), along: "both",
      drag: (px, py) => act.set(key, [inside(plot.invert_x(px)), inside(plot.invert_y(py))]),
      nudge: (dx, dy, fine) => act.set(key, [inside(a + dx * (fine ? 0.005 : 0.03)), inside(b + dy * (fine ? 0.005 : 0.03))]),
    });
  }
}

/** {loss ≤ level} as a closed curve: |w_i − w*_i|^p c_i/p shared out between the two axes by an angle. */
function level_set({ power, target }, c, level, plot) {
  const points = d3.range(97).map((k) => {
    const a = (2 * Math.PI * k) / 96, cos = Math.cos(a), sin = Math.sin(a);
    const reach = (x, ci) => Math.sign(x) * ((power * level * x * x) / ci) ** (1 / power);
    return [plot.x(target[0] + reach(cos, c[0])), plot.y(target[1] + reach(sin, c[1]))];
  });
  return `M${points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L")}Z`;
}

function draw_loss(d) {
  const { pen, theme, values, model, width, height, hidden } = d, top = model.excess || 1, floor = 1e-4 * top;
  const plot = axes(pen, theme, { left: 0, top: 0, width: width - 52, height }, { x: { label: "time t", domain: model.span }, y: { label: "loss", domain: [floor, top * 1.5], kind: "log", ticks: 5 } });
  const { box } = plot, px = model.t.map((t) => plot.x(t));
  pen.clip(box.left, box.top, box.width, box.height, () => {
    if (model.bound && !hidden) pen.line(px, model.t.map((t) => plot.y(Math.max(top * Math.exp(-model.bound * t), floor / 9))), { colour: theme.ink, width: 1.2, dash: [6, 4] });
    model.runs.forEach((r, k) => { if (!hidden || k === 0) pen.line(px, r.loss.map((x) => plot.y(Math.max(x, floor / 9))), { colour: theme.palette[k], width: 2.4 }); });
  });
  if (!hidden) {
    const labels = model.runs.map((r, k) => ({ text: `depth ${r.n}`, y: plot.y(Math.max(r.loss[r.loss.length - 1], floor)), colour: theme.palette[k] }));
    for (const each of apart(labels, box.top + 6, box.top + box.height - 6)) pen.text(each.text, box.left + box.width + 6, each.y, { colour: each.colour, size: 12, bold: true, base: "middle" });
  }
  const x = plot.x(panel.time(model, values.now));
  pen.line([x, x], [box.top, box.top + box.height], { colour: theme.ink, width: 1.2 });
  const deepest = model.runs.at(-1);
  return { ...plot, asked: `the loss of depth ${deepest.n}; that of depth 1 is shown`, truth: (t) => Math.max(model.loss(deepest.at(t)), floor), box_low: floor };
}
