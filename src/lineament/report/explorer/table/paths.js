// How far each component is learnt over time, without any layer. The counterpart of lineament.forecasting.paths.
// Two cases are solved in closed form; otherwise equation (3) of Cohen & Razin is integrated.
import { field, field_one_output } from "../theory/end_to_end.js";
import * as modes from "../theory/modes.js";
import { steps } from "../theory/ode.js";
import { follow } from "./records.js";

export const MATTERS = 0.01; // a component matters if it explains this share of what can be learnt
export const DONE = 0.9; // it is learnt when this share of it is
const HEAVY = 1e-3; // a component that explains this share decides how finely time is resolved
const FINE = 0.02; // between two records neither a heavy component nor time moves by more than this share
const POINTS = 400;
const RTOL = 1e-8;

/**
 * @typedef {object} Path
 * @property {number[]} time rising, from 0
 * @property {Float64Array[]} share what of every component is learnt, time × component
 * @property {number[]} spill squared error outside the directions of the target's columns
 * @property {number[]} left the loss above its least value
 */

/** Share, spill and loss left of a map (outputs × component). */
export function shares(W, target, d) {
  const n = d.length, share = new Float64Array(n);
  let spill = 0, left = 0;
  for (let j = 0; j < n; j++) {
    let size = 0, along = 0;
    for (let k = 0; k < W.length; k++) {
      size += target[k][j] ** 2;
      along += W[k][j] * target[k][j];
    }
    share[j] = size > 0 ? along / size : 0;
    for (let k = 0; k < W.length; k++) {
      spill += d[j] * (W[k][j] - share[j] * target[k][j]) ** 2;
      left += 0.5 * d[j] * (W[k][j] - target[k][j]) ** 2;
    }
  }
  return { share, spill, left };
}

/** When each component first passes a fraction of its final value; Infinity if not on this path. */
export function first_passage(path, fraction) {
  return Array.from(path.share[0], (_, j) => {
    const i = path.share.findIndex((share) => share[j] >= fraction);
    if (i < 0) return Infinity;
    if (i === 0) return path.time[0];
    const low = path.share[i - 1][j], high = path.share[i][j];
    return path.time[i - 1] + ((fraction - low) / (high > low ? high - low : 1)) * (path.time[i] - path.time[i - 1]);
  });
}

/** What every component explains of what can be learnt. */
function weight_of(target, d) {
  return Array.from(d, (x, j) => target.reduce((sum, row) => sum + row[j] ** 2, 0) * x);
}

const sum = (xs) => xs.reduce((a, b) => a + b, 0);
const geomspace = (a, b, n) => Array.from({ length: n }, (_, i) => (i === n - 1 ? b : a * (b / a) ** (i / (n - 1))));

/** The path of one layer, w_j(t) = w*_j + (w_j(0) − w*_j) e^{−d_j t}. */
export function one_layer(W0, target, d, { until, enough, longest }) {
  const gap = Array.from(d, (x, j) => W0.reduce((s, row, k) => s + (row[j] - target[k][j]) ** 2, 0) * x);
  const left = (t) => 0.5 * sum(gap.map((x, j) => Math.exp(-2 * t * d[j]) * x));
  const { share: share0 } = shares(W0, target, d), top = Math.max(...d), heavy = weight_of(target, d), all = sum(heavy);
  const learnt = Array.from(d, (x, j) => Math.log(Math.max((1 - share0[j]) / (1 - DONE), 1)) / x);
  const at_least = Math.max(0, ...learnt.filter((_, j) => heavy[j] >= MATTERS * all));
  const end = until ?? horizon(left, enough, 1e-3 / top, longest, at_least);
  const time = [0, ...geomspace(Math.min(1e-2 / top, end / POINTS), end, POINTS)];
  const spill0 = Array.from(d, (x, j) => W0.reduce((s, row, k) => s + (row[j] - share0[j] * target[k][j]) ** 2, 0) * x);
  return {
    time,
    share: time.map((t) => share0.map((s, j) => 1 - (1 - s) * Math.exp(-t * d[j]))),
    spill: time.map((t) => sum(spill0.map((x, j) => Math.exp(-2 * t * d[j]) * x))),
    left: time.map(left),
  };
}

/** The path of the modes of whitened inputs, from a start in their directions. */
export function whitened(start, strengths, depth, { until, enough, longest }) {
  const left = (t) => 0.5 * sum(strengths.map((s) => modes.residual(depth * t, s, start, depth) ** 2));
  const top = Math.max(...strengths), all = sum(strengths.map((s) => s * s));
  const rising = strengths.filter((s) => s * s >= MATTERS * all && start < DONE * s);
  const at_least = Math.max(0, ...rising.map((s) => modes.time_to(DONE * s, s, start, depth) / depth));
  const end = until ?? horizon(left, enough, 1e-3 / (depth * top ** (2 - 2 / depth)), longest, at_least);
  // Even in time for the eye, and even in the share learnt of every mode, which rises sharply after a plateau.
  const rises = strengths.flatMap((s) => Array.from({ length: 67 }, (_, i) => {
    const fraction = 0.005 + (i * 0.99) / 66;
    return modes.time_to(Math.max(fraction * s, Math.min(start, s)), s, start, depth) / depth;
  })).filter((t) => t < end);
  const even = Array.from({ length: POINTS }, (_, i) => (end * i) / (POINTS - 1));
  const time = [...new Set([...even, ...rises])].sort((a, b) => a - b);
  return {
    time,
    share: time.map((t) => Float64Array.from(strengths, (s) => modes.trajectory(depth * t, s, start, depth) / s)),
    spill: time.map(() => 0),
    left: time.map(left),
  };
}

/**
 * Follows equation (3) of Cohen & Razin in principal components; yields the share of the time that has passed.
 * @returns {Generator<number, Path>}
 */
export function* deep(W0, target, d, depth, { until, enough, longest }) {
  const rows = W0.length, n = d.length, flat = (W) => Float64Array.from(W.flatMap((row) => [...row]));
  const shaped = (w) => Array.from({ length: rows }, (_, k) => w.subarray(k * n, (k + 1) * n));
  const velocity = (w) => {
    const W = shaped(w), G = W.map((row, k) => row.map((x, j) => (x - target[k][j]) * d[j]));
    return rows === 1 ? field_one_output(w, G[0], depth) : flat(field(W, G, depth));
  };
  const explained = weight_of(target, d), all = sum(explained);
  const matters = explained.map((x) => x >= MATTERS * all), heavy = explained.map((x) => x >= HEAVY * all);
  const largest = (w) => w.reduce((most, x) => Math.max(most, Math.abs(x)), 0), w0 = flat(W0), size = largest(w0), pace = largest(velocity(w0));
  const look = (t, w) => ({ t, ...shares(shaped(w), target, d) }), begin = look(0, w0), goal = (1 - enough) * begin.left;
  /** What is still to be learnt until it is enough; at most 0 from then on. */
  const ahead = until ? null : (now) => now.share.reduce((most, g, j) => (matters[j] ? Math.max(most, DONE - g) : most), now.left / goal - 1);
  const flow = steps(velocity, w0, until ?? longest, RTOL, RTOL * size);
  const records = yield* follow(flow, begin, look, heavy, FINE, pace > 0 ? (FINE * size) / pace : Infinity, ahead);
  return {
    time: records.map((r) => r.t), share: records.map((r) => r.share), spill: records.map((r) => r.spill),
    left: records.map((r) => r.left),
  };
}

/** The time at which enough is learnt, not before `at_least`, or the longest allowed; `left` falls. */
function horizon(left, enough, shortest, longest, at_least) {
  const goal = (1 - enough) * left(0);
  if (left(longest) >= goal) return longest;
  let low = Math.log(shortest), high = Math.log(longest);
  for (let round = 0; round < 200 && high - low > 1e-13; round++) {
    const middle = (low + high) / 2;
    if (left(Math.exp(middle)) > goal) low = middle;
    else high = middle;
  }
  return Math.min(Math.max(Math.exp(high), 1.001 * at_least), longest);
}
