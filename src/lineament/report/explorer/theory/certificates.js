// Convergence to the global minimum, certified from the start of a run (Cohen & Razin, §3.1).
// The counterpart of lineament.theory.certificates.
import { svd } from "./linalg.js";
import { whole_depth } from "./end_to_end.js";

function positive(name, value) {
  if (!(value > 0 && value < Infinity)) throw new RangeError(`${name} must be positive and finite; got ${value}`);
  return value;
}

function at_least(name, value) {
  if (!(value >= 0 && value < Infinity)) throw new RangeError(`${name} must be at least 0 and finite; got ${value}`);
  return value;
}

function least(W) {
  const { s } = svd(W);
  return s[s.length - 1];
}

/**
 * max{0, σ_min(W) − δ} (Exercise 3).
 * @param {Float64Array[]} W
 * @param {number} delta
 */
export function distance_to_deficient(W, delta) {
  return Math.max(0, least(W) - at_least("delta", delta));
}

/**
 * The supremum δ* = σ_min(Λ) − ‖W − Λ‖_F of the deficiency margins under ½‖W − Λ‖²_F (Example 1).
 * @param {Float64Array[]} W
 * @param {Float64Array[]} target
 */
export function deficiency_margin(W, target) {
  let gap = 0;
  W.forEach((row, i) => row.forEach((x, j) => { gap = Math.hypot(gap, x - target[i][j]); }));
  return least(target) - gap;
}

/**
 * A deficiency margin σ_min(W*) − √(2(ℓ(W) − ℓ*)/α) of every α-strongly convex loss.
 * @param {number} excess
 * @param {Float64Array[]} minimiser
 * @param {number} strong_convexity
 */
export function margin_from_excess(excess, minimiser, strong_convexity) {
  return least(minimiser) - Math.sqrt((2 * at_least("excess", excess)) / positive("strong_convexity", strong_convexity));
}

/**
 * The exponential rate 2αδ^{2(n−1)/n} of Theorem 2; n times that for square maps.
 * @param {number} depth
 * @param {number} margin
 * @param {number} [strong_convexity]
 * @param {boolean} [square]
 */
export function guaranteed_rate(depth, margin, strong_convexity = 1, square = false) {
  const n = whole_depth(depth);
  const rate = 2 * positive("strong_convexity", strong_convexity) * positive("margin", margin) ** (2 - 2 / n);
  return square ? rate * n : rate;
}

/**
 * The time after which φ − φ* ≤ ε (Theorem 2); zero if that holds at the start.
 * @param {number} epsilon
 * @param {number} excess
 * @param {number} depth
 * @param {number} margin
 * @param {number} [strong_convexity]
 */
export function guaranteed_time(epsilon, excess, depth, margin, strong_convexity = 1) {
  const ratio = at_least("excess", excess) / positive("epsilon", epsilon);
  const rate = guaranteed_rate(depth, margin, strong_convexity);
  return ratio > 1 ? Math.log(ratio) / rate : 0;
}
