// Panel 3. Lazy to rich: the exact two-layer solution over the size and the balance of the start, aligned with the target or not.
import { at_place, cursor } from "../app/clock.js";
import { round } from "../app/controls.js";
import { apart, axes } from "../draw/axes.js";
import { code, pretty } from "../draw/numbers.js";
import { heat, HEAT_HALO, HEAT_INK } from "../draw/theme.js";
import * as lambda_modes from "../theory/lambda_modes.js";
import { aligned, followed, INPUTS, SHARES } from "./two_layers.js";

const SCALES = /** @type {[number, number]} */ ([1e-6, 10]), BALANCES = /** @type {[number, number]} */ ([1e-6, 100]);
const COLUMNS = 72, ROWS = 54, CHANGE = 0.1;
const LEVELS = [0.1, 0.5, 0.9];
const grid = ([a, b], n) => Array.from({ length: n }, (_, i) => a * (b / a) ** ((i + 0.5) / n));

/** @type {any} */
export const panel = {
  id: "lazy-rich",
  title: "Lazy to rich",
  heading: "Does the network learn features, or only a read-out?",
  lead: "Two layers, solved exactly. If one layer starts much larger than the target, the tangent kernel hardly moves and learning is lazy; from a small, balanced start the kernel is made by learning: rich.",
  defaults: { scale: 1e-3, balance: 1e-2, larger: "first", target: 3, turn: 0, now: 0.4 },
  controls: [
    { key: "scale", kind: "log", label: "Start of every mode", symbol: "σ₀ = ab", min: SCALES[0], max: SCALES[1] },
    { key: "balance", kind: "log", label: "Imbalance of the layers", symbol: "|λ| = |a² − b²|", min: BALANCES[0], max: BALANCES[1] },
    { key: "larger", kind: "choice", label: "Larger layer at the start", options: [["first", "the first (λ < 0)"], ["second", "the second (λ > 0)"]] },
    { key: "target", kind: "log", label: "Strongest target", symbol: "σ₁*", min: 0.01, max: 100, hint: "The others are ½ and ¼ of it; two further inputs have no target." },
    { key: "turn", kind: "linear", label: "Turn of the start", symbol: "θ", min: 0, max: 180, hint: "Degrees by which the first layer is turned, from each input to the next, away from the directions of the target." },
  ],
  valid: (key, value) => (key === "now" ? value >= 0 && value <= 1 : undefined),
  timed: true,

  compute({ scale, balance, larger, target, turn }) {
    const lambda = larger === "first" ? -balance : balance, targets = SHARES.map((share) => share * target);
    const lazy = plane(targets.at(-1)), course = turn === 0 ? aligned(targets, scale, lambda, CHANGE) : followed(targets, scale, lambda, turn, CHANGE);
    return { lambda, targets, lazy, kind: "linear", ...course };
  },
  time: (model, now) => at_place(now, model.span, "linear"),
  say_time: (model, now) => `t = ${pretty(panel.time(model, now))}`,

  figures: (act) => [
    {
      name: "plane", title: "The plane of starts", height: (w) => Math.max(290, Math.min(400, 0.75 * w)),
      caption: () => "Colour: the share of the weakest mode that is learnt before its kernel has changed by a tenth; yellow is lazy, violet rich. Drag the point, or click.",
      draw: (d) => draw_plane(d, act),
      press: (plot, px, py) => act.set({ scale: clip(plot.invert_x(px), SCALES), balance: clip(plot.invert_y(py), BALANCES) }),
    },
    {
      name: "course", clock: true, title: "Modes over time", height: (w) => Math.max(290, Math.min(400, 0.75 * w)), sketch: true,
      caption: ({ values }) => (values.turn ? "uᵀW(t)v along the three modes of the target. Grey: the largest singular value of what lies across them." : "σ(t) of the three modes of the target."), draw: (d) => draw_course(d, act),
    },
    { name: "kernel", title: "Movement of the tangent kernel", height: () => 220, caption: () => "k(t)/k(0) of every mode. Lazy training stays below the dashed line.", draw: draw_kernel },
    { name: "layers", title: "The layers at the end", height: () => 220, caption: ({ values }) => (values.larger === "first" ? "Singular values of W₁ (filled) and W₂ (outlined). A large first layer keeps full rank, whatever the target." : "Singular values of W₁ (filled) and W₂ (outlined). With the second layer large, W₁ holds the target's directions alone."), draw: draw_layers },
  ],

  reading(values, model) {
    const t = panel.time(model, values.now);
    const at = model.at(t), rows = model.targets.map((goal, k) => [
      `${k + 1}`, pretty(goal), pretty(at.sigma[k]), pretty(model.half[k]), pretty(model.end.kernel[k] / model.kernel[k][0]), pretty(model.layers[k].first), pretty(model.layers[k].second)]);
    const share = model.share, name = share > 0.9 ? "Lazy" : share < 0.1 ? "Rich" : "In between";
    return {
      sentences: [`${name}: ${pretty(100 * share, 3)} % of the weakest mode is learnt before its kernel has changed by a tenth.`],
      head: ["Mode", "σ*", `${values.turn ? "uᵀWv" : "σ(t)"}, t = ${pretty(t)}`, "half way at", "k(∞)/k(0)", "W₁ at the end", "W₂ at the end"], rows,
    };
  },
  marks({ scale, target, turn }, { share, done }) {
    const marks = [{ ok: true, text: "Exact for λ-balanced starts and white inputs (Braun et al. 2022; Dominé et al. 2025); λ is conserved." }];
    if (turn) marks.push({ ok: false, text: "Not aligned with the target: modes do not move on their own. The curves are exact all the same; the plane is that of aligned starts." });
    if (!done) marks.push({ ok: false, text: "Some mode is all but missed by the start: it stays at a saddle for longer than is shown." });
    if (scale > SHARES.at(-1) * target) marks.push({ ok: false, text: "Some modes start above their target and fall." });
    if (share < 0.9) marks.push({ ok: false, text: "The linearised network (fixed kernel) is not right here: the kernel moves by more than a tenth before 90 % is learnt." });
    return marks;
  },
  csv(values, model) {
    const columns = { t: model.t };
    model.sigma.forEach((s, k) => { columns[`sigma_${k + 1}`] = s; columns[`kernel_${k + 1}`] = model.kernel[k]; });
    if (model.across) columns.across = model.across;
    return columns;
  },
  python: ({ scale, target, turn }, model) => `import matplotlib.pyplot as plt
import numpy as np
from lineament.theory import lambda_modes${turn ? ", two_layer" : ""}

target = ${code(target)} * np.array([${SHARES.join(", ")}])
start, balance = ${code(scale)}, ${code(model.lambda)}
t = np.linspace(0, ${code(model.span[1])}, ${model.t.length})
${turn ? turned_code(turn) : `sigma = lambda_modes.trajectory(t[:, None], target, start, balance)
kernel = np.hypot(balance, 2 * sigma)
laziness = lambda_modes.laziness(target[-1], start, balance, ${CHANGE})`}

scales = np.geomspace(${SCALES[0]}, ${SCALES[1]}, 73)
balances = np.geomspace(${BALANCES[0]}, ${BALANCES[1]}, 55)
plane = lambda_modes.laziness(target[-1], scales, balances[:, None], ${CHANGE})

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4))
left.pcolormesh(scales, balances, plane, vmin=0, vmax=1)
left.loglog(start, abs(balance), "o", mfc="w", color="k")
left.set(xlabel="start σ₀", ylabel="|λ|")
middle.plot(t, sigma)
middle.set(xlabel="time t", ylabel="σ(t)")
right.semilogy(t, kernel / kernel[0])
right.set(xlabel="time t", ylabel="k(t)/k(0)")
plt.show()
`,
};

/** The same start as matrices. */
const turned_code = (turn) => `large = np.sqrt((np.hypot(balance, 2 * start) + abs(balance)) / 2)
first, second = (start / large, large) if balance > 0 else (large, start / large)
turn = np.eye(${INPUTS})
c, s = np.cos(np.radians(${code(turn)})), np.sin(np.radians(${code(turn)}))
for k in range(${INPUTS - 1}):
    turn[[k, k + 1]] = np.array([[c, -s], [s, c]]) @ turn[[k, k + 1]]
W1, W2, Y = first * turn.T, second * np.eye(${INPUTS}), np.diag(np.append(target, [0.0] * ${INPUTS - SHARES.length}))
found = two_layer.grams(t, W1, W2, Y)
modes = np.arange(${SHARES.length})
sigma = found.product[:, modes, modes]
kernel = found.first[:, modes, modes] + found.second[:, modes, modes]
across = np.linalg.norm(found.product - found.product * np.eye(${INPUTS}), 2, axis=(1, 2))
W1_end, W2_end = two_layer.layers(np.inf, W1, W2, Y)`;

let mapped = { target: NaN, lazy: new Float64Array(0) };
/** How lazy every aligned start of the plane is, for the weakest mode. */
function plane(weakest) {
  if (mapped.target === weakest) return mapped.lazy;
  const xs = grid(SCALES, COLUMNS), ys = grid(BALANCES, ROWS);
  mapped = { target: weakest, lazy: Float64Array.from(ys.flatMap((y) => xs.map((x) => lambda_modes.laziness(weakest, x, y, CHANGE)))) };
  return mapped.lazy;
}

const clip = (x, [a, b]) => round(Math.min(Math.max(x, a), b));

let painted = { lazy: null, canvas: null };
/** The map as a small picture, painted anew only when its numbers change. */
function picture(lazy) {
  if (painted.lazy === lazy) return painted.canvas;
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  canvas.width = COLUMNS;
  canvas.height = ROWS;
  for (let j = 0; j < ROWS; j++) {
    for (let i = 0; i < COLUMNS; i++) {
      context.fillStyle = heat(lazy[j * COLUMNS + i]);
      context.fillRect(i, ROWS - 1 - j, 1, 1);
    }
  }
  painted = { lazy, canvas };
  return canvas;
}

function draw_plane(d, act) {
  const { pen, theme, values, model, width, height } = d;
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, {
    x: { label: "start σ₀", domain: SCALES, kind: "log", ticks: 6 }, y: { label: "imbalance |λ|", domain: BALANCES, kind: "log", ticks: 6 },
  });
  const { box } = plot;
  pen.image(picture(model.lazy), box.left, box.top, box.width, box.height);
  const trace = d3.contours().size([COLUMNS, ROWS]);
  pen.clip(box.left, box.top, box.width, box.height, () => {
    for (const level of LEVELS) {
      for (const ring of trace.contour(model.lazy, level).coordinates.flat()) {
        const inside = ring.map(([x, y]) => [box.left + (x / COLUMNS) * box.width, box.top + (1 - y / ROWS) * box.height]);
        const free = inside.map(([x, y]) => x > box.left + 1 && x < box.left + box.width - 1 && y > box.top + 1 && y < box.top + box.height - 1);
        pen.line(inside.map(([x], i) => (free[i] ? x : NaN)), inside.map(([, y]) => y), { colour: HEAT_HALO, width: level === 0.5 ? 1.6 : 0.9, dash: level === 0.5 ? undefined : [4, 3] });
      }
    }
  });
  const note = { size: 14, bold: true, colour: HEAT_INK, halo: HEAT_HALO };
  pen.text("lazy", box.left + box.width - 14, box.top + 24, { ...note, anchor: "end" });
  pen.text("rich", box.left + 14, box.top + box.height - 16, note);
  const same = plot.x(model.targets.at(-1)); // a mode that starts at its target has nothing to learn
  if (same > box.left + 20 && same < box.left + box.width - 20) pen.text("start = target", same - 8, box.top + box.height * 0.72, { size: 11, colour: HEAT_INK, halo: HEAT_HALO, turn: -90, anchor: "middle" });
  const x = plot.x(values.scale), y = plot.y(values.balance);
  pen.circle(x, y, 8, { colour: HEAT_INK, width: 2, fill: HEAT_HALO });
  d.handle({
    key: "point", name: "Start: size and imbalance", text: `σ₀ ${pretty(values.scale)}, |λ| ${pretty(values.balance)}`, x, y, along: "both", colour: HEAT_INK,
    drag: (a, b) => act.set({ scale: clip(plot.invert_x(a), SCALES), balance: clip(plot.invert_y(b), BALANCES) }),
    nudge: (dx, dy, fine) => act.set({ scale: clip(values.scale * 10 ** (dx * (fine ? 0.02 : 0.1)), SCALES), balance: clip(values.balance * 10 ** (dy * (fine ? 0.02 : 0.1)), BALANCES) }),
  });
  return plot;
}

/** @param {any} d @param {string} label @param {[number, number]} domain @param {"linear" | "log"} kind */
function course_axes(d, label, domain, kind = "linear") {
  const { pen, theme, width, height, model } = d;
  return axes(pen, theme, { left: 0, top: 0, width: width - 30, height }, { x: { label: "time t", domain: model.span, ticks: 5 }, y: { label, domain, kind, ticks: 5 } });
}

function curves(d, plot, series) {
  const { pen, theme, model, hidden } = d, px = Float64Array.from(model.t, (t) => plot.x(t)), { box } = plot;
  pen.clip(box.left, box.top - 2, box.width + 2, box.height + 4, () => {
    series.forEach((s, k) => { if (!hidden || k === 0) pen.curve(px, s.map((x) => plot.y(x)), { colour: theme.palette[k], width: 2.4 }); });
  });
  if (hidden) return;
  const ends = series.map((s, k) => ({ text: `σ${"₁₂₃"[k]}`, y: plot.y(s[s.length - 1]), colour: theme.palette[k] }));
  for (const each of apart(ends, box.top + 4, box.top + box.height - 4)) pen.text(each.text, box.left + box.width + 6, each.y, { colour: each.colour, size: 13, bold: true, base: "middle" });
}

function draw_course(d, act) {
  const { pen, theme, values, model, hidden } = d, top = 1.08 * Math.max(values.target, values.scale), low = Math.min(0, ...model.sigma.map((s) => 1.08 * s.reduce((a, b) => Math.min(a, b))));
  const plot = course_axes(d, values.turn ? "uᵀWv" : "σ(t)", [low < -0.02 * top ? low : 0, top]);
  if (model.across && !hidden) pen.curve(Float64Array.from(model.t, (t) => plot.x(t)), model.across.map((x) => plot.y(x)), { colour: theme.guide, width: 1.8, dash: [5, 4] });
  curves(d, plot, model.sigma);
  const time = panel.time(model, values.now);
  cursor(d, plot, time, `t = ${pretty(time)}`, (now) => act.now(now));
  return { ...plot, asked: "how the weakest mode is learnt", truth: (t) => model.at(t).sigma.at(-1), box_low: plot.invert_y(plot.box.top + plot.box.height) };
}

function draw_kernel(d) {
  const { pen, theme, model } = d, ratios = model.kernel.map((k) => k.map((x) => x / k[0])), all = ratios.flatMap((r) => [Math.min(...r), Math.max(...r)]);
  const low = Math.min(0.8, ...all), high = Math.max(1.4, ...all), plot = course_axes(d, "k(t)/k(0)", [low / 1.1, high * 1.3], "log");
  const { box } = plot, y = plot.y(1 + CHANGE);
  pen.line([box.left, box.left + box.width], [y, y], { colour: theme.guide, width: 1.2, dash: [5, 4] });
  curves(d, plot, ratios);
  return plot;
}

function draw_layers(d) {
  const { pen, theme, model, width, height } = d, top = 1.1 * Math.max(...model.layers.flatMap((l) => [l.first, l.second]));
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, {
    x: { label: "direction of the inputs", domain: [0.5, INPUTS + 0.5], ticks: INPUTS, format: (x) => (Number.isInteger(x) ? String(x) : "") }, y: { label: "singular value", domain: [0, top], ticks: 5 },
  });
  const { box } = plot, bar = Math.min((0.32 * box.width) / INPUTS, 30), base = box.top + box.height;
  model.layers.forEach((sizes, k) => {
    const colour = k < SHARES.length ? theme.palette[k] : theme.guide, x = plot.x(k + 1);
    pen.rect(x - bar - 1, plot.y(sizes.first), bar, base - plot.y(sizes.first), { fill: colour, colour, width: 1.5 });
    pen.rect(x + 1, plot.y(sizes.second), bar, base - plot.y(sizes.second), { fill: theme.paper, colour, width: 1.5 });
  });
  return plot;
}
