// A mode at two thousand times within a fraction of a millisecond: the solution of modes.js, each time begun from the one
// before, with what does not change along the curve computed once. Math.expm1 and Math.log1p take five times as long as
// Math.exp; away from 0 it does as well, and near 0 a few terms of their series.
import { check, coordinates, far, move, SEAM, solve_far, VANISHED } from "./modes.js";
import { clip } from "./special.js";

const CLOSE = 1e-5, TINY = 1e-6, ROUNDS = 8, TERMS = 20;
const DEGREE = 15; // the nearest poles, ±2πi, lie on an ellipse of ρ ≈ 12.8 about [0, 2], and 12.8⁻¹⁵ < 1e-16

/**
 * Fills σ and σ* − σ at rising times.
 * @param {Float64Array} times rising
 * @param {number} target
 * @param {number} start
 * @param {number} depth
 * @param {Float64Array} sigma filled
 * @param {Float64Array} left filled
 */
export function fill(times, target, start, depth, sigma, left) {
  check("t", 0, target, start, depth);
  if (depth === 1 || depth === 2 || start === target || start === 0 || target === 0) {
    for (let i = 0; i < times.length; i++) [sigma[i], left[i]] = move(times[i], target, start, depth);
    return;
  }
  const way = coordinates(target, start, depth), { side, a, v0, rate } = way, span = v0 - SEAM;
  const seam = far(Math.max(span, 0), v0, a), scale = Math.exp(a * span), stretch = (1 + way.odds) ** a;
  const early = far_course(v0, a, 0, 0, span), close = near_course(way, target, start);
  const low = Math.min(start, target), high = Math.max(start, target);
  let late = null;
  for (let i = 0; i < times.length; i++) {
    const theta = rate * times[i];
    if (!(theta > 0)) {
      sigma[i] = start;
      left[i] = target - start;
    } else if (theta < seam) {
      let d;
      if (a * theta < 0.5) d = far_step(early, theta);
      else { // about to leave a plateau the time to the seam is the better measure
        const goal = (theta - seam) * scale;
        late ??= far_course(SEAM, a, goal, solve_far(theta, seam, v0, a) - span, 0);
        d = span + far_step(late, goal);
      }
      sigma[i] = clip(start * Math.exp(-side * d), low, high);
      left[i] = target - sigma[i];
    } else {
      const y = near_step(close, Math.min((theta - seam) * stretch, VANISHED)); // 1 − e^{−side·v}
      sigma[i] = clip(target / (1 - y), low, high);
      left[i] = (-target * y) / (1 - y);
    }
  }
}

/** e^x − 1 to about 1e-14. */
function expm1(x) {
  return Math.abs(x) > 0.03 ? Math.exp(x) - 1 : x * (1 + (x / 2) * (1 + (x / 3) * (1 + (x / 4) * (1 + (x / 5) * (1 + (x / 6) * (1 + x / 7))))));
}

/** log(1 + x) to about 1e-14. */
function log1p(x) {
  return Math.abs(x) > 0.02 ? Math.log(1 + x) : x * (1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x * (1 / 6 - x * (1 / 7 - x / 8)))))));
}

/** The distance covered in a time when the speed grows as e^{κ·distance}; NaN where the model would run away. */
function advance(time, speed, kappa) {
  const linear = speed * time, x = -kappa * linear;
  return x === 0 ? linear : x > -0.75 ? (linear * log1p(x)) / x : NaN;
}

// What changes along a curve is held in typed arrays: numbers that a closure holds would be put on the heap, each time.

/** The inverse of far(d) = θ at rising θ, from a first θ and its d up to a last d. */
function far_course(v0, a, first, d0, high) {
  return { v0, a, low: d0, high, z0: Math.exp(-v0), over: Float64Array.from({ length: TERMS }, (_, j) => 1 / (j - a)), at: Float64Array.of(d0, first) };
}

function far_step({ v0, a, low, high, z0, over, at }, theta) {
  let d = at[0], by = theta - at[1], known = true; // the first move is from the last solution, whose elapsed time is known
  for (let round = 0; round < ROUNDS; round++) {
    const z = Math.exp(d - v0), less = expm1(-a * d), grown = 1 / (1 + less);
    if (!known) by = theta - elapsed(d, z, less, grown, z0, a, over);
    let move = advance(by, grown * (1 - z), a - z / (1 - z));
    if (move !== move) move = (Math.abs(a * theta) < 1e-8 ? theta : -Math.log1p(-a * theta) / a) - d; // a rise in one step: begin anew
    d = clip(d + move, low, high);
    // The model of the speed errs by the cube of the move: a small one needs no second look.
    if (Math.abs(move) < (known ? TINY : CLOSE)) break;
    known = false;
  }
  at[0] = d;
  at[1] = theta;
  return d;
}

/** `far` from exponentials that are already there. */
function elapsed(d, z, less, grown, z0, a, over) {
  const first = (a === 1 ? z * d : (z * expm1((a - 1) * d)) / (a - 1)) / grown, difference = z - z0;
  let m = (1 - a) * first, total = (a === 0 ? d : -less / a) + first, power = z0;
  for (let j = 2; j < TERMS; j++) {
    m = z * m + power * difference;
    power *= z0;
    total += m * over[j];
    if (Math.abs(m) < 1e-17 * Math.abs(total)) break;
  }
  return total;
}

/** The inverse of near = τ at rising τ, for side·ζe^{−s} = 1 − e^{−side·v}. */
function near_course({ side, a, v0 }, target, start) {
  const begin = v0 < SEAM ? start : target * Math.exp(side * SEAM), zeta = side * (Math.abs(target - begin) / begin);
  const k = a + (side > 0 ? 1 : 0), v = Math.min(v0, SEAM), b = excess(k, side);
  return { side, k, zeta, b, whole: sum_of(b, v - 1), at: Float64Array.of(0, zeta, v, 0) };
}

function near_step({ side, k, zeta, b, whole, at }, tau) {
  // All but over: what is left of the excess is of the order of v, and Z falls as time goes by.
  if (Math.abs(at[1]) < 1e-12) return zeta * Math.exp(whole - sum_of(b, -1) - tau);
  let s = at[0], y = at[1], v = at[2], by = tau - at[3];
  for (let round = 0; round < ROUNDS; round++) {
    let move = advance(by, Math.exp(-k * v), (k * side * y) / (1 - y));
    if (move !== move) move = (k > 0 ? tau : tau - side * Math.log1p(-zeta)) - s; // from the far side of the solution
    s = Math.max(s + move, 0);
    y = zeta * Math.exp(-s);
    v = -side * log1p(-y);
    if (Math.abs(move) < (round === 0 ? TINY : CLOSE)) break;
    by = tau - s - (whole - sum_of(b, v - 1));
  }
  at[0] = s;
  at[1] = y;
  at[2] = v;
  at[3] = tau;
  return y;
}

/** Σ b_j T_j(x), by Clenshaw's recurrence. */
function sum_of(b, x) {
  let one = 0, two = 0;
  for (let j = b.length - 1; j >= 1; j--) {
    const next = 2 * x * one - two + b[j];
    two = one;
    one = next;
  }
  return x * one - two;
}

let kept = { k: NaN, side: 0, b: new Float64Array(0) };
/** ∫ (e^{ku} − 1) dZ over u in [0, 2], as coefficients of Chebyshev's polynomials in u − 1: it is analytic up to ±2πi. */
function excess(k, side) {
  if (kept.k === k && kept.side === side) return kept.b;
  const n = DEGREE, angles = Array.from({ length: n }, (_, i) => (Math.PI * (i + 0.5)) / n);
  const values = angles.map((angle) => {
    const u = 1 + Math.cos(angle);
    return (side * Math.expm1(k * u)) / Math.expm1(side * u);
  });
  const c = Array.from({ length: n + 2 }, (_, j) => (j < n ? (2 / n) * values.reduce((sum, x, i) => sum + x * Math.cos(j * angles[i]), 0) : 0));
  // The integral of Σ c_j T_j has the coefficients (c_{j−1} − c_{j+1})/2j.
  kept = { k, side, b: Float64Array.from({ length: n + 1 }, (_, j) => (j ? (c[j - 1] - c[j + 1]) / (2 * j) : 0)) };
  return kept.b;
}
