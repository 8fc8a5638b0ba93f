// The course of two layers from one start of panel 3: mode by mode where the start is aligned with the target, and by the exact flow
// of the matrices where it is turned away from it.
import { svd, zeros } from "../theory/linalg.js";
import * as lambda_modes from "../theory/lambda_modes.js";
import { flow } from "../theory/two_layer.js";

export const SHARES = [1, 0.5, 0.25]; // of the strongest target
export const INPUTS = 5;
const POINTS = 600, TURNED_POINTS = 240, ENOUGH = 0.95, REACH = 1.25;
const LONGEST = 1e4; // in units of one over the weakest target: whoever has not come by then sits at a saddle

const times = (end, points) => Float64Array.from({ length: points }, (_, i) => (end * i) / (points - 1));

/**
 * @typedef {object} Course
 * @property {[number, number]} span
 * @property {Float64Array} t
 * @property {Float64Array[]} sigma the product along every mode of the target
 * @property {Float64Array[]} kernel the tangent kernel of every mode
 * @property {Float64Array | null} across what of the product lies across the modes, its largest singular value
 * @property {{first: number, second: number}[]} layers singular values at the end
 * @property {{kernel: number[]}} end
 * @property {number[]} half when every mode is half way
 * @property {number} share of the weakest mode that is learnt before its kernel has changed
 * @property {boolean} done whether all is learnt within the span
 * @property {(t: number) => {sigma: number[]}} at
 */

/**
 * Modes that move on their own.
 * @returns {Course}
 */
export function aligned(targets, scale, lambda, change) {
  const way = (goal, share) => scale + share * (goal - scale), weakest = targets[targets.length - 1];
  const last = Math.max(...targets.map((goal) => lambda_modes.time_to(way(goal, ENOUGH), goal, scale, lambda) || 0)), end = REACH * (last || 1), t = times(end, POINTS);
  const sigma = targets.map((goal) => t.map((time) => lambda_modes.trajectory(time, goal, scale, lambda)));
  return {
    span: [0, end], t, sigma, kernel: sigma.map((s) => s.map((x) => lambda_modes.kernel(x, lambda))), across: null,
    layers: Array.from({ length: INPUTS }, (_, k) => lambda_modes.layer_sizes(targets[k] ?? 0, lambda)), end: { kernel: targets.map((goal) => lambda_modes.kernel(goal, lambda)) },
    half: targets.map((goal) => lambda_modes.time_to(way(goal, 0.5), goal, scale, lambda)), share: lambda_modes.laziness(weakest, scale, lambda, change), done: true,
    at: (time) => ({ sigma: targets.map((goal) => lambda_modes.trajectory(time, goal, scale, lambda)) }),
  };
}

/**
 * Rows of the identity, each turned into the next by an angle in degrees: inputs of the first layer.
 * @returns {import("../theory/linalg.js").Matrix}
 */
export function turned(degrees) {
  const R = zeros(INPUTS, INPUTS), c = Math.cos((degrees * Math.PI) / 180), s = Math.sin((degrees * Math.PI) / 180);
  for (let k = 0; k < INPUTS; k++) R[k][k] = 1;
  for (let k = 0; k < INPUTS - 1; k++) for (let j = 0; j < INPUTS; j++) [R[k][j], R[k + 1][j]] = [c * R[k][j] - s * R[k + 1][j], s * R[k][j] + c * R[k + 1][j]];
  return R;
}

/**
 * The flow of the matrices from W1 = a·Rᵀ, W2 = b·I, whose hidden units differ by λ = b² − a² each.
 * @returns {Course}
 */
export function followed(targets, scale, lambda, degrees, change) {
  const { first, second } = lambda_modes.layer_sizes(scale, lambda), R = turned(degrees), square = () => zeros(INPUTS, INPUTS);
  const W1 = square(), W2 = square(), Y = square();
  for (let k = 0; k < INPUTS; k++) {
    for (let j = 0; j < INPUTS; j++) W1[k][j] = first * R[j][k];
    W2[k][k] = second;
    Y[k][k] = targets[k] ?? 0;
  }
  const state = flow(W1, W2, Y), goals = targets.length, look = (time) => seen(state(time), goals), begin = look(0);
  const reached = (now, share) => now.sigma.every((x, k) => Math.abs(targets[k] - x) <= (1 - share) * Math.abs(targets[k] - begin.sigma[k]));
  const last = first_time((time) => reached(look(time), ENOUGH), 0.1 / targets[0], LONGEST / targets[goals - 1]), end = REACH * last, t = times(end, TURNED_POINTS);
  const course = Array.from(t, look), over = (f) => Float64Array.from(course, f), final = state(Infinity), limit = seen(final, goals);
  const halves = targets.map((goal, k) => first_time((time) => Math.abs(goal - look(time).sigma[k]) <= 0.5 * Math.abs(goal - begin.sigma[k]), end / 1e4, end));
  const weakest = goals - 1, moved = (now) => Math.max(now.kernel[weakest] / begin.kernel[weakest], begin.kernel[weakest] / now.kernel[weakest]);
  const lazy = first_time((time) => moved(look(time)) > 1 + change, end / 1e4, end), way = (x) => (x - begin.sigma[weakest]) / (targets[weakest] - begin.sigma[weakest]);
  const sizes = [final.W1, final.W2].map((W) => Array.from(svd(W).s));
  return {
    span: [0, end], t, sigma: targets.map((_, k) => over((now) => now.sigma[k])), kernel: targets.map((_, k) => over((now) => now.kernel[k])), across: over((now) => now.across),
    layers: Array.from({ length: INPUTS }, (_, k) => ({ first: sizes[0][k], second: sizes[1][k] })), end: { kernel: limit.kernel },
    half: halves, share: lazy < end ? Math.min(Math.max(way(look(lazy).sigma[weakest]), 0), 1) : 1, done: reached(look(end), ENOUGH), at: look,
  };
}

/** The product along the modes, what lies across them, and the kernel uᵀW2W2ᵀu + vᵀW1ᵀW1v of every mode. */
function seen({ W1, W2 }, goals) {
  const sigma = [], kernel = [], off = zeros(INPUTS, INPUTS);
  for (let k = 0; k < INPUTS; k++) {
    for (let j = 0; j < INPUTS; j++) for (let h = 0; h < INPUTS; h++) off[k][j] += W2[k][h] * W1[h][j];
    if (k < goals) {
      sigma.push(off[k][k]);
      kernel.push(W2[k].reduce((sum, x, h) => sum + x * x + W1[h][k] * W1[h][k], 0));
    }
    off[k][k] = 0;
  }
  return { sigma, kernel, across: svd(off).s[0] };
}

/** The first time, to a thousandth, from which on something holds: doubled until it does, then halved; the longest if it never does. */
function first_time(holds, shortest, longest) {
  let high = shortest;
  while (high < longest && !holds(high)) high *= 1.5;
  if (high >= longest) return longest;
  let low = high / 1.5;
  for (let round = 0; round < 12; round++) {
    const middle = (low + high) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
