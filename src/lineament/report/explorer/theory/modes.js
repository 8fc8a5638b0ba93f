// Exact solution of one mode of a deep linear network, at any real depth: σ̇ = σ^{2−2/N}(σ* − σ).
// The counterpart of lineament.theory.modes, whose docstring derives every step; names and branches are the same.
import { clip, exprel, gauss_legendre, insist, log1p_ratio } from "./special.js";

export const SEAM = 2; // v at which the far series hands over to the near quadrature
const TERMS = 20; // e^{−2·20} < 1e-17
const { nodes: NODES, weights: WEIGHTS } = gauss_legendre(8);
export const VANISHED = 1000; // near time after which the residual is below the smallest float
const TINY = Math.exp(-40); // relative size below which (1 − σ/σ*) is 1 to rounding
const CLOSE = 1e-5, ROUNDS = 8; // a cubic iteration that moves by 1e-5 has arrived
const RANGE = 700; // e^700 ≈ 1e304

/**
 * @typedef {object} Way the coordinates of a mode that moves: v = |log(σ/σ*)|, and θ = rate · t
 * @property {number} side 1 above, −1 below the target
 * @property {number} a exponent of the speed
 * @property {number} odds e^{v0} − 1
 * @property {number} v0
 * @property {number} rate
 */

/**
 * The mode σ(t).
 * @param {number} t time ≥ 0, Infinity allowed
 * @param {number} target σ* ≥ 0
 * @param {number} start σ0 ≥ 0
 * @param {number} depth N ≥ 1, real or Infinity
 * @returns {number}
 */
export function trajectory(t, target, start, depth) {
  check("t", t, target, start, depth);
  return move(t, target, start, depth)[0];
}

/**
 * What is left to learn, σ* − σ(t), to full relative precision however late.
 * @param {number} t
 * @param {number} target
 * @param {number} start
 * @param {number} depth
 * @returns {number}
 */
export function residual(t, target, start, depth) {
  check("t", t, target, start, depth);
  return move(t, target, start, depth)[1];
}

/**
 * The time at which σ(t) = value; Infinity where it is only approached, NaN where σ never goes.
 * @param {number} value
 * @param {number} target
 * @param {number} start
 * @param {number} depth
 * @returns {number}
 */
export function time_to(value, target, start, depth) {
  check("value", value, target, start, depth);
  if (value === start) return 0;
  const leaves = start === 0 && depth < 2 && target > 0;
  if (!(start > 0 || leaves)) return NaN;
  if (value === target) return Infinity;
  if (!(Math.min(start, target) < value && value < Math.max(start, target))) return NaN;
  const origin = leaves ? TINY * target : start;
  if (leaves && value < origin) return out_of_zero(value, target, depth);
  const { side, a, odds, v0, rate } = coordinates(target, origin, depth);
  const d = Math.log1p(Math.abs(value - origin) / Math.min(value, origin));
  const v = Math.log1p(Math.abs(target - value) / Math.min(target, value));
  let time = far(v > SEAM ? d : Math.max(v0 - SEAM, 0), v0, a);
  if (v < SEAM) time += near_time(v, v0 < SEAM ? d : SEAM - v, a + (side > 0 ? 1 : 0), side) * (1 + odds) ** -a;
  return (leaves ? out_of_zero(origin, target, depth) : 0) + time / rate;
}

/** Refuses what is out of range. */
export function check(name, first, target, start, depth) {
  insist(first >= 0 && (name === "t" || first < Infinity), name, `${name === "t" ? "" : "finite "}numbers of at least 0`, first);
  insist(target >= 0 && target < Infinity, "target", "finite numbers of at least 0", target);
  insist(start >= 0 && start < Infinity, "start", "finite numbers of at least 0", start);
  insist(depth >= 1, "depth", "numbers of at least 1", depth);
}

/** @returns {Way} */
export function coordinates(target, start, depth) {
  const q = 1 - 2 / depth, below = start < target, a = below ? q : -1 - q;
  const odds = Math.abs(target - start) / Math.min(target, start), v0 = Math.log1p(odds);
  const rate = below ? target * start ** q : start ** (1 + q);
  if ((target > 0 && v0 * Math.max(1, -a) > RANGE) || rate === 0 || !(rate < Infinity)) {
    throw new RangeError(
      "start and target must be such that start/target lies between 1e-304 and 1e152 and the initial speed does not "
      + `overflow; got start ${start} and target ${target} at depth ${depth}`,
    );
  }
  return { side: below ? -1 : 1, a, odds, v0, rate };
}

/** e^{−a v0} ∫ e^{au}/(1 − e^{−u}) du from v0 − d to v0, both at least 2. */
export function far(d, v0, a) {
  const z0 = Math.exp(-v0), z = Math.exp(d - v0), difference = -z * Math.expm1(-d);
  const first = Math.exp(-a * d) * z * d * exprel((a - 1) * d);
  let m = (1 - a) * first, total = d * exprel(-a * d) + first, power = z0;
  for (let j = 2; j < TERMS; j++) {
    m = z * m + power * difference;
    power *= z0;
    total += m / (j - a);
    if (Math.abs(m) < 1e-19 * Math.abs(total)) break; // what follows is smaller still
  }
  return total;
}

/** ∫ (e^{ku} − 1) dZ from v to v + d ≤ 2. */
function near_excess(v, d, k, side) {
  let sum = 0;
  for (let i = 0; i < NODES.length; i++) {
    const u = v + d * NODES[i];
    sum += (WEIGHTS[i] * Math.expm1(k * u)) / Math.expm1(side * u);
  }
  return side * d * sum;
}

/** The near time ∫ e^{ku} dZ from v to v + d ≤ 2. */
export function near_time(v, d, k, side) {
  return Math.log1p(-Math.expm1(-side * d) / Math.expm1(side * v)) + near_excess(v, d, k, side);
}

/** The time from zero to a value ≪ σ*, where the mode is a pure power law; depth < 2. */
function out_of_zero(value, target, depth) {
  const q = 1 - 2 / depth;
  return value ** -q / (-q * target);
}

/** σ(t) and σ* − σ(t). */
export function move(t, target, start, depth) {
  if (!(t > 0 && start !== target && (start > 0 || depth < 2))) return [start, target - start];
  if (t === Infinity) return [target, 0];
  const [sigma, left] = depth === 1 ? depth_one(t, target, start)
    : depth === 2 ? depth_two(t, target, start) : any_depth(t, target, start, depth);
  return [clip(sigma, Math.min(start, target), Math.max(start, target)), left];
}

function depth_one(t, target, start) {
  const decay = Math.exp(-t);
  return [start * decay - target * Math.expm1(-t), (target - start) * decay];
}

function depth_two(t, target, start) {
  const time = Math.min(t, (2 * VANISHED) / target); // long over, and no overflow in σ* t
  const decay = Math.exp(-target * time), scale = decay + start * time * exprel(-target * time);
  return [start / scale, ((target - start) * decay) / scale];
}

function any_depth(t, target, start, depth) {
  const leaves = start === 0, origin = leaves ? TINY * target : start;
  const delay = leaves ? out_of_zero(origin, target, depth) : 0;
  if (t < delay) {
    const q = 1 - 2 / depth, sigma = (-q * target * t) ** (-1 / q);
    return [sigma, target - sigma];
  }
  const { side, a, odds, v0, rate } = coordinates(target, origin, depth);
  const theta = rate * Math.max(t - delay, 0);
  if (target === 0 && theta === Infinity) {
    const p = 2 - 2 / depth, sigma = (p * t) ** (-1 / p);
    return [sigma, -sigma];
  }
  const seam = target > 0 ? far(Math.max(v0 - SEAM, 0), v0, a) : Infinity;
  if (theta < seam) {
    const sigma = origin * Math.exp(-side * solve_far(theta, seam, v0, a));
    return [sigma, target - sigma];
  }
  const tau = (theta - seam) * (1 + odds) ** a, k = a + (side > 0 ? 1 : 0);
  const begin = v0 < SEAM ? origin : target * Math.exp(side * SEAM);
  const zeta = Math.abs(target - begin) / begin;
  const s = solve_near(tau, zeta, k, side, k > 0 ? Math.min(tau, VANISHED) : NaN);
  return near_values(s, zeta, side, begin, target);
}

/** How far d moves in the time θ from where it is. */
function step(theta, d, v0, a) {
  const z = Math.exp(d - v0);
  return advance(theta, Math.exp(a * d) * (1 - z), a - z / (1 - z));
}

/** Inverts far(d) = θ < seam for d = v0 − v. */
function solve_far(theta, seam, v0, a) {
  const early = a * theta < 0.5, span = v0 - SEAM, origin = early ? v0 : SEAM;
  const goal = early ? theta : (theta - seam) * Math.exp(a * span);
  const low = early ? 0 : -span, high = early ? span : 0;
  let d = goal * log1p_ratio(-a * goal);
  for (let round = 0; round < ROUNDS; round++) {
    const by = step(goal - far(d, origin, a), d, origin, a);
    d = clip(d + by, low, high);
    if (Math.abs(by) < CLOSE) break;
  }
  return early ? d : span + d;
}

/** Inverts near = τ for s, the fall of Z. */
function solve_near(tau, zeta, k, side, from) {
  const time = Math.min(tau, VANISHED);
  let s = from === from ? Math.max(from, 0) : time - side * Math.log1p(-side * zeta);
  for (let round = 0; round < ROUNDS; round++) {
    const [v, d] = near_position(s, zeta, side);
    const by = advance(time - s - near_excess(v, d, k, side), Math.exp(-k * v), k * side * Math.expm1(side * v));
    s = Math.max(s + by, 0);
    if (Math.abs(by) < CLOSE) break;
  }
  return s;
}

function near_values(s, zeta, side, begin, target) {
  const [v, d] = near_position(s, zeta, side);
  return [d < v ? begin * Math.exp(-side * d) : target * Math.exp(side * v), -target * Math.expm1(side * v)];
}

/** Where Z has fallen by s from log ζ: v, and the distance d covered in v. */
function near_position(s, zeta, side) {
  return [
    -side * Math.log1p(-side * zeta * Math.exp(-s)),
    side * Math.log1p((-side * zeta * Math.expm1(-s)) / (1 - side * zeta)),
  ];
}

/** The distance covered in a time when the speed grows as e^{κ·distance}. */
export function advance(time, speed, kappa) {
  const linear = speed * time;
  return linear * log1p_ratio(-kappa * linear);
}
