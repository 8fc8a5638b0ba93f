// When deep linear modes are learnt one after the other (Gissin et al. 2020, Definition 1, exact).
// The counterpart of lineament.theory.phases.
import * as modes from "./modes.js";
import { exprel, insist, log1p_ratio } from "./special.js";

const SMALLEST = 1e-300; // of s/r: beyond it powers of s/r leave float64
const ROUNDING = 37; // e^{−37} is half a unit in the last place
const CLOSE = 1e-8, ROUNDS = 60; // a quadratic iteration whose last move was 1e-8 has arrived

/** Refuses a setting that Definition 1 cannot be asked about. */
export function check(depth, ratio, s, f) {
  insist(depth >= 1, "depth", "numbers of at least 1", depth);
  insist(ratio > 1 && ratio < Infinity, "ratio", "finite numbers above 1", ratio);
  insist(s > 0 && s <= 0.5, "s", "numbers in (0, 1/2]", s);
  insist(f >= 0.5 && f < 1, "f", "numbers in [1/2, 1)", f);
}

function positive(name, x) {
  insist(x > 0 && x < Infinity, name, "positive finite numbers", x);
}

/**
 * Whether two modes are learnt one after the other by gradient flow.
 * @param {number} start 0 < σ0 < σj*
 * @param {number} target_i σi* above σj*
 * @param {number} target_j σj* > 0
 * @param {number} s how little of σj* may have been learnt, in (0, ½]
 * @param {number} f how much of σi* must have been learnt, in [½, 1)
 * @param {number} depth N ≥ 1
 * @returns {boolean}
 */
export function is_incremental(start, target_i, target_j, s, f, depth) {
  positive("start", start);
  positive("target_i", target_i);
  positive("target_j", target_j);
  if (target_i <= target_j) throw new RangeError(`target_i must lie above target_j; got ${target_i} and ${target_j}`);
  if (start >= target_j) throw new RangeError(`start must lie below target_j; got ${start} and ${target_j}`);
  const ratio = target_i / target_j;
  check(depth, ratio, s, f);
  far_enough(s, ratio);
  const distance = Math.log(s) - Math.log(start / target_j);
  return distance >= 0 && head_start(distance, ratio, s, 1 - 2 / depth)[0] >= lag(ratio, s, f, depth);
}

/**
 * The largest start σ0th from which two modes are learnt incrementally; 0 where no start is.
 * @param {number} depth N ≥ 1
 * @param {number} ratio r, σi* over σj*, above 1
 * @param {number} s
 * @param {number} f
 * @param {number} [target] σj* > 0
 * @returns {number}
 */
export function threshold(depth, ratio, s, f, target = 1) {
  return Math.exp(log_threshold(depth, ratio, s, f, target));
}

/**
 * The natural logarithm of `threshold`, however small.
 * @param {number} depth
 * @param {number} ratio
 * @param {number} s
 * @param {number} f
 * @param {number} [target]
 * @returns {number}
 */
export function log_threshold(depth, ratio, s, f, target = 1) {
  check(depth, ratio, s, f);
  positive("target", target);
  far_enough(s, ratio);
  const q = 1 - 2 / depth, needed = lag(ratio, s, f, depth);
  let y = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const [ahead, slope] = head_start(distance_of(y, q), ratio, s, q);
    const by = (needed - ahead) / slope;
    y += by;
    if (!(by > CLOSE * y)) break;
  }
  // For q < 0 the climb passes y = −1/q, where σ0 = 0, exactly if there is no root below.
  const distance = q * y > -1 ? distance_of(y, q) : Infinity;
  return Math.log(target) + Math.log(s) - distance;
}

/**
 * When a mode passes the fractions s, ½ and f of its target.
 * @param {number} target
 * @param {number} start below the target
 * @param {number} depth
 * @param {number} [s]
 * @param {number} [f]
 * @returns {{begins: number, half: number, ends: number}}
 */
export function timetable(target, start, depth, s = 0.1, f = 0.9) {
  positive("targets", target);
  positive("start", start);
  check(depth, 2, s, f);
  if (start >= target) throw new RangeError(`start must lie below its target; got ${start} and ${target}`);
  const when = (fraction) => modes.time_to(Math.max(fraction * target, start), target, start, depth);
  return { begins: when(s), half: when(0.5), ends: when(f) };
}

function far_enough(s, ratio) {
  if (s / ratio < SMALLEST) throw new RangeError(`s/ratio must be at least 1e-300; got s = ${s} and ratio = ${ratio}`);
}

/** The time mode i needs from sσj* to fσi*, in units that tame s → 0. */
function lag(ratio, s, f, depth) {
  const u = s / ratio;
  return (u ** (1 - 2 / depth) * modes.time_to(f, 1, u, depth)) / ratio;
}

/** S(L) and its slope dS/dy. */
function head_start(distance, ratio, s, q) {
  const log_ratio = Math.log(ratio), weight = s * Math.exp(-distance);
  const count = Math.trunc(ROUNDING / -Math.log(s)) + 2;
  let total = 0, slope = 0, power = 1, x = 1;
  for (let k = 0; k < count; k++) {
    const c = -Math.expm1(-(k + 1) * log_ratio);
    total += c * power * distance * exprel((q - k) * distance);
    slope += c * x;
    power *= s;
    x *= weight;
  }
  return [total, slope];
}

/** L = log(1 + qy)/q; L = y at depth 2. */
function distance_of(y, q) {
  return y * log1p_ratio(q * y);
}
