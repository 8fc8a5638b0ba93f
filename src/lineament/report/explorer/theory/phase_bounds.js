// The printed bounds on the largest incremental start (Gissin et al. 2020, Theorems 2 and 3), and corrected ones.
// The counterpart of lineament.theory.phase_bounds. Everything is a natural logarithm.
import { check } from "./phases.js";
import { insist } from "./special.js";

/** Theorem 3 has c below this; there 1 − c − c²/4 = 0. */
export const LARGEST_STEP = 2 * (Math.SQRT2 - 1);

/**
 * The two bounds on log σ0th under gradient flow as printed in Theorem 2, for N = 2 or N ≥ 3.
 * @param {number} depth
 * @param {number} ratio
 * @param {number} s
 * @param {number} f
 * @param {number} [target]
 * @returns {[number, number]} below, above
 */
export function log_bounds(depth, ratio, s, f, target = 1) {
  check(depth, ratio, s, f);
  if (!(depth === 2 || depth >= 3)) throw new RangeError(`depth must be 2 or at least 3, as in Theorem 2; got ${depth}`);
  const q = 1 - 2 / depth, spread = Math.log(s / (ratio * f)), begin = Math.log(s * target);
  const bound = (x) => begin + (depth === 2 ? x * spread : -Math.log1p(x) / q);
  return [bound(1 / ((1 - f) * (ratio - 1))), bound((1 - s) / (ratio - 1))];
}

/**
 * Bounds on log σ0th under gradient flow that hold for every real depth N ≥ 2.
 * @param {number} depth
 * @param {number} ratio
 * @param {number} s
 * @param {number} f
 * @param {number} [target]
 * @returns {[number, number]} below, above
 */
export function log_bounds_corrected(depth, ratio, s, f, target = 1) {
  check(depth, ratio, s, f);
  insist(depth >= 2, "depth", "numbers of at least 2", depth);
  const q = 1 - 2 / depth, spread = Math.log((ratio * f) / s), begin = Math.log(s * target);
  const inner = q === 0 ? spread : -Math.expm1(-q * spread) / q;
  const bound = (x) => begin - (q === 0 ? x : Math.log1p(q * x) / q);
  return [bound(inner / ((1 - f) * (ratio - 1))), bound((inner * (1 - s)) / (ratio - 1))];
}

/**
 * A and B of Theorem 3.
 * @param {number} ratio
 * @param {number} c η σ1*, in (0, 2(√2 − 1))
 * @param {number} [share] σi* over σ1*
 * @returns {[number, number]}
 */
export function descent_exponents(ratio, c, share = 1) {
  insist(c > 0 && c < LARGEST_STEP, "c", "numbers in (0, 0.828427)", c);
  insist(share > 0 && share <= 1, "share", "numbers in (0, 1]", share);
  check(2, ratio, 0.1, 0.9);
  const fast = (x) => Math.log1p(-x - (x * x) / 4), slow = (x) => Math.log1p(-x + x * x);
  const i = c * share, j = i / ratio;
  return [slow(i) / fast(j), fast(i) / slow(j)];
}

/**
 * The value of c · share below which Theorem 3's lower bound is one.
 * @param {number} ratio
 * @returns {number}
 */
export function largest_step(ratio) {
  check(2, ratio, 0.1, 0.9);
  return (4 * ratio * (ratio - 1)) / (4 * ratio * ratio + 1);
}

/**
 * The two bounds on log σ0th under gradient descent at depth two, as printed in Theorem 3.
 * @param {number} ratio
 * @param {number} s
 * @param {number} f
 * @param {number} c
 * @param {number} [share]
 * @param {number} [target]
 * @returns {[number, number]} below, above
 */
export function log_bounds_descent(ratio, s, f, c, share = 1, target = 1) {
  check(2, ratio, s, f);
  const [A, B] = descent_exponents(ratio, c, share);
  const odds = Math.log(s / (1 - s)), left = Math.log((1 - f) / f);
  return [
    Math.log(target / 2) + odds + (left + odds - Math.log(2 * ratio)) / (A - 1),
    Math.log(target) + odds + (left + odds) / (B - 1),
  ];
}
