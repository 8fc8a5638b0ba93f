// Panel 5. The early linear phase: the constants of an activation, the linear twin's loss, and how long it is to last.
import { at_place, cursor } from "../app/clock.js";
import { axes } from "../draw/axes.js";
import { code, pretty } from "../draw/numbers.js";
import { dot } from "../theory/linalg.js";
import { Generator } from "../theory/random.js";
import { erf } from "../theory/special.js";
import { ACTIVATIONS, constants, two_layer, Twin } from "../theory/twin.js";

const FRESH = 500, TEACHER = 5, POINTS = 200, ALPHA = 0.25;
const SMOOTH = ["erf", "gelu", "sigmoid", "softplus", "tanh"], PIECEWISE = ["relu", "leaky_relu", "linear"];

/** @type {any} */
export const panel = {
  id: "twin",
  title: "Early linear phase",
  heading: "How long is a wide network a linear model?",
  lead: "Early in training a wide two-layer network computes what a linear model on a few features would: its twin. Four numbers of the activation make the twin; dimension, examples and width say how long it holds.",
  defaults: { activation: "erf", labels: "teacher", layers: "both", d: 30, m: 256, n: 1000, step: 0.25, seed: 0, now: 0.5 },
  controls: [
    { key: "activation", kind: "choice", label: "Activation", options: Object.keys(ACTIVATIONS).map((name) => [name, name.replace("_", " ")]) },
    { key: "labels", kind: "choice", label: "Labels", options: [["teacher", "a teacher's sign (Fig. 1)"], ["norm", "‖x‖/√d + ReLU (Fig. 2)"], ["chance", "±1 by chance"]] },
    { key: "layers", kind: "choice", label: "Layers that train", options: [["both", "both"], ["first", "the first"], ["second", "the second"]] },
    { key: "d", kind: "whole", label: "Dimension", symbol: "d", min: 4, max: 60 },
    { key: "m", kind: "log", label: "Width", symbol: "m", min: 16, max: 65536 },
    { key: "n", kind: "log", label: "Examples", symbol: "n", min: 20, max: 4000 },
    { key: "step", kind: "log", label: "Step over dimension", symbol: "η/d", min: 0.01, max: 2 },
    { key: "seed", kind: "whole", label: "Seed of the data", min: 0, max: 99 },
  ],
  valid: (key, value) => (key === "now" ? value >= 0 && value <= 1 : undefined),
  timed: true,
  /** Whole numbers, whatever the slider says. */
  tidy: (values) => ({ ...values, m: Math.round(values.m), n: Math.round(values.n) }),

  compute(values) {
    const { activation, labels, layers, d, n, step, seed } = values, eta = step * d, { X, y, fresh, fresh_y } = task(labels, d, n, seed);
    const first = layers === "second" ? 0 : eta, second = layers === "first" ? 0 : eta;
    const twin = two_layer(X, y, activation, first, second, 1);
    if (!twin.stable) throw new RangeError(`the step must be such that no rate of the twin reaches 2, or descent diverges; got a largest rate of ${pretty(twin.rates[0])} at η = ${pretty(eta)}`);
    const horizon = twin.horizon(), last = Math.max(8, Math.ceil(3 * horizon));
    const t = [...new Set(Array.from({ length: POINTS }, (_, i) => Math.round(last ** (i / (POINTS - 1)))))];
    const naive = second > 0 ? new Twin(X, y, { ...twin.psi, norm: [twin.psi.norm[0], 0, 0] }, twin.step_size) : null;
    const on_fresh = twin.prepare(fresh, fresh_y), naive_fresh = naive?.prepare(fresh, fresh_y);
    return {
      twin, horizon, span: [1, last], kind: "log", t, constants: constants(activation), eta,
      training: t.map((k) => twin.loss(k)), test: t.map(on_fresh), naive: naive && labels === "norm" ? t.map(naive_fresh) : null,
      at: (k) => ({ training: twin.loss(k), test: on_fresh(k) }), start: twin.loss(0), optimum: twin.loss(Infinity),
    };
  },
  time: (model, now) => Math.round(at_place(now, model.span, "log")),
  say_time: (model, now) => `step ${pretty(panel.time(model, now), 4)}`,

  figures: (act) => [
    {
      name: "loss", clock: true, title: "Loss of the twin", wide: true, height: (w) => Math.max(260, Math.min(380, 0.5 * w)), sketch: true,
      caption: ({ model, hidden }) => (hidden || !model ? "" : `Up to T = d log d/η = ${pretty(model.horizon)} steps the theorem says that a wide enough network follows this curve.`),
      draw: (d) => draw_losses(d, act),
    },
    { name: "activation", title: "The activation and what the twin sees of it", height: () => 240, caption: () => "Coloured: the activation φ. Dashed: ϑ₀ + ζz, the line that a Gaussian input sees.", draw: draw_activation },
    { name: "rates", title: "Rates of the twin's modes", height: () => 240, caption: () => "Each mode of the features is learnt as 1 − (1 − rate)ᵗ; those right of the dashed line are learnt by T.", draw: draw_rates },
  ],

  reading(values, model) {
    const { zeta, theta0, theta1, theta2 } = model.constants, k = panel.time(model, values.now), now = model.at(k), T = Math.floor(model.horizon);
    return {
      sentences: [
        `The linear phase is forecast to last T = d log d/η ≈ ${pretty(model.horizon, 4)} steps of size ${pretty(model.eta)}.`,
        `By then the twin has learnt ${pretty(100 * (1 - (model.twin.loss(T) - model.optimum) / (model.start - model.optimum || 1)), 4)} % of what a linear model can.`,
      ],
      head: ["Quantity", "value"],
      rows: [
        ["ζ = E φ′(g)", pretty(zeta, 6)], ["ϑ₀ = E φ(g)", pretty(theta0, 6)], ["ϑ₁ = E g φ′(g)", pretty(theta1, 6)], ["ϑ₂ = E (g³/2 − g) φ′(g)", pretty(theta2, 6)],
        [`training loss after ${pretty(k, 5)} steps`, pretty(now.training, 5)], ["test loss then", pretty(now.test, 5)], ["training loss of the best twin", pretty(model.optimum, 5)], ["noise of finite width, about d/m", pretty(values.d / values.m)],
      ],
    };
  },
  marks({ activation, d, m, n, layers, step }, { constants: { theta0 } }) {
    const marks = [], least = Math.round(d ** (1 + ALPHA)), second = layers !== "first" && Math.abs(theta0) > 1e-12;
    if (SMOOTH.includes(activation)) marks.push({ ok: true, text: "Assumption 3.2 (i): a smooth activation with bounded first two derivatives." });
    else if (PIECEWISE.includes(activation)) marks.push({ ok: true, text: "Assumption 3.2 (ii): linear on either side of 0." });
    else marks.push({ ok: false, text: "Outside Assumption 3.2: the second derivative jumps at 0. The constants are exact all the same." });
    marks.push(n >= least ? { ok: true, text: `Examples: n ≥ d^{5/4} ≈ ${least}.` } : { ok: false, text: `The theorems ask n ≳ d^{1+α}; with α = ¼ that is about ${least}, and n = ${n}.` });
    const width = second ? Math.round(d ** (2 + ALPHA)) : least, power = second ? "d^{2+α}, as ϑ₀ ≠ 0 and the second layer trains" : "d^{1+α}";
    marks.push(m >= width ? { ok: true, text: `Width: m ≥ ${pretty(width)}.` } : { ok: false, text: `The theorems ask m ≳ ${power}; with α = ¼ that is about ${pretty(width)}, and m = ${m}: expect the network to stray from its twin by about d/m.` });
    if (step > 0.5) marks.push({ ok: false, text: "The theorems ask η ≪ d." });
    if (second && step * d > 1) marks.push({ ok: false, text: "With ϑ₀ ≠ 0 the second layer needs η₂ ≪ 1." });
    marks.push({ ok: true, text: "Inputs are standard normal (Assumption 3.1)." });
    return marks;
  },
  csv: (values, model) => ({ step: model.t, training_loss: model.training, test_loss: model.test, ...(model.naive ? { naive_test_loss: model.naive } : {}) }),
  python(values, model) {
    const { activation, labels, layers, d, n, seed } = values;
    const law = {
      teacher: `W, v = rng.standard_normal((${TEACHER}, d)), rng.standard_normal(${TEACHER})
y = np.where(erf(X @ W.T / np.sqrt(d)) @ v > 0, 1.0, -1.0)`,
      norm: `a = rng.standard_normal(d)
y = np.linalg.norm(X, axis=1) / np.sqrt(d) + np.maximum(X @ (a / np.linalg.norm(a)), 0)`,
      chance: "y = np.where(rng.standard_normal(n + fresh) > 0, 1.0, -1.0)",
    }[labels];
    return `import matplotlib.pyplot as plt
import numpy as np
from lineament.theory import twin
from scipy.special import erf

d, n, fresh = ${d}, ${n}, ${FRESH}
rng = np.random.default_rng(${seed})
X = rng.standard_normal((n + fresh, d))
${law}
model = twin.two_layer(
    X[:n], y[:n], activation="${activation}", first_step_size=${code(layers === "second" ? 0 : model.eta)}, second_step_size=${code(layers === "first" ? 0 : model.eta)}, spread=1.0
)
constants = twin.constants("${activation}")
t = np.unique(np.rint(np.geomspace(1, ${model.span[1]}, ${POINTS})))
training, test = model.loss(t), model.loss(t, X[n:], y[n:])

figure, axes = plt.subplots()
axes.semilogx(t, training, label="twin, training")
axes.semilogx(t, test, label="twin, test")
axes.axvline(model.horizon(), ls="--", color="grey", label="T = d log d/η")
axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
axes.legend()
plt.show()
`;
  },
};

let drawn = { key: "", task: null };
/** Examples of one of three laws, drawn as the code of "Copy as Python" draws them; kept until the law changes. */
function task(labels, d, n, seed) {
  const key = [labels, d, n, seed].join();
  if (drawn.key === key) return drawn.task;
  const rng = new Generator(seed), X = rng.normals(n + FRESH, d), root = Math.sqrt(d);
  let y;
  if (labels === "teacher") {
    const W = rng.normals(TEACHER, d), v = rng.normals(1, TEACHER)[0];
    y = X.map((x) => (W.reduce((sum, w, k) => sum + v[k] * erf(dot(w, x) / root), 0) > 0 ? 1 : -1));
  } else if (labels === "norm") {
    const a = rng.normals(1, d)[0], size = Math.sqrt(dot(a, a));
    y = X.map((x) => Math.sqrt(dot(x, x)) / root + Math.max(dot(a, x) / size, 0));
  } else y = X.map(() => (rng.normal() > 0 ? 1 : -1));
  drawn = { key, task: { X: X.slice(0, n), y: y.slice(0, n), fresh: X.slice(n), fresh_y: y.slice(n) } };
  return drawn.task;
}

function draw_losses(d, act) {
  const { pen, theme, values, model, width, height, hidden } = d, top = 1.15 * Math.max(model.start, ...(hidden ? [] : model.test.filter((x) => x < 4 * model.start)));
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, { x: { label: "step", domain: model.span, kind: "log" }, y: { label: "loss", domain: [0, top] } });
  const { box } = plot, px = model.t.map((t) => plot.x(t)), T = plot.x(model.horizon), { palette } = theme;
  pen.rect(box.left, box.top, Math.max(T - box.left, 0), box.height, { fill: palette[2], alpha: 0.1 });
  pen.line([T, T], [box.top, box.top + box.height], { colour: palette[2], width: 1.4, dash: [6, 4] });
  pen.text("linear phase", T - 8, box.top + 18, { anchor: "end", size: 12, bold: true, colour: palette[2], halo: theme.paper });
  pen.text("T", T + 6, box.top + 18, { size: 13, italic: true, colour: theme.ink });
  pen.clip(box.left, box.top, box.width, box.height, () => {
    if (!hidden && model.naive) pen.line(px, model.naive.map((x) => plot.y(x)), { colour: theme.guide, width: 1.6, dash: [4, 4] });
    if (!hidden) pen.line(px, model.test.map((x) => plot.y(x)), { colour: palette[1], width: 2.4 });
    if (!hidden) pen.line(px, model.training.map((x) => plot.y(x)), { colour: palette[0], width: 2.4 });
  });
  if (!hidden) {
    // The curves fall and lie close to each other: their names stand in the empty corner, in the order of the curves.
    const curves = [["training loss", model.training, palette[0], undefined], ["test loss", model.test, palette[1], undefined]], i = px.length >> 1;
    if (model.naive) curves.push(["test loss, without the norm", model.naive, theme.guide, [4, 4]]);
    curves.sort((a, b) => b[1][i] - a[1][i]).forEach(([words, , colour, dash], rank) => {
      const x = box.left + box.width - 8, y = box.top + 42 + 18 * rank;
      pen.line([x - 24, x], [y - 4, y - 4], { colour, width: 2.4, dash });
      pen.text(words, x - 30, y, { colour, size: 12, bold: true, anchor: "end", halo: theme.paper });
    });
  }
  const k = panel.time(model, values.now);
  cursor(d, plot, k, `step ${k}`, (now) => act.now(now));
  return { ...plot, asked: "the training loss of the twin", truth: (t) => model.twin.loss(Math.max(0, Math.round(t))), box_low: 0 };
}

function draw_activation(d) {
  const { pen, theme, values, model, width, height } = d, phi = ACTIVATIONS[values.activation].function, zs = d3.range(-3, 3.001, 0.02), ys = zs.map(phi);
  const low = Math.min(-1.1, ...ys), high = Math.max(1.1, ...ys), { zeta, theta0 } = model.constants;
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, { x: { label: "z", domain: [-3, 3] }, y: { label: "φ(z)", domain: [low, high], ticks: 5 } });
  pen.clip(plot.box.left, plot.box.top, plot.box.width, plot.box.height, () => {
    pen.line(zs.map(plot.x), ys.map(plot.y), { colour: theme.palette[0], width: 2.4 });
    pen.line([-3, 3].map(plot.x), [-3, 3].map((z) => plot.y(theta0 + zeta * z)), { colour: theme.ink, width: 1.4, dash: [6, 4] });
  });
  return plot;
}

function draw_rates(d) {
  const { pen, theme, model, width, height } = d, rates = Array.from(model.twin.rates), low = Math.min(...rates), T = 1 / model.horizon;
  const plot = axes(pen, theme, { left: 0, top: 0, width, height }, { x: { label: "rate per step", domain: [Math.min(low, T) / 2, Math.max(2.5, rates[0] * 1.5)], kind: "log", ticks: 5 }, y: { label: "mode", domain: [rates.length + 1, 0], ticks: 4 } });
  const { box } = plot, x = plot.x(T);
  pen.line([x, x], [box.top, box.top + box.height], { colour: theme.palette[2], width: 1.4, dash: [6, 4] });
  rates.forEach((rate, k) => pen.circle(plot.x(rate), plot.y(k + 1), 3.4, { fill: theme.palette[0] }));
  return plot;
}
