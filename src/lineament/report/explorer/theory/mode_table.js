// The curve that all modes of one depth run along, tabulated: before the seam e^{−v}, after it y = 1 − e^{−side·v}, over time.
// Nodes are taken where they cost nothing to find, evenly in v and in log|y|; the equation gives two derivatives at each, and the
// polynomials of degree five through them err by about 1e-12 of the value.
import { SEAM } from "./modes.js";
import { gauss_legendre } from "./special.js";

const STEP = 1 / 48; // between nodes
const REACH = 30; // in v, tabulated at least; and −log|y| at which what is left only decays
const STEEP = -0.1; // exponent below which time is counted from v = ∞, and above which from the seam: see `place`
const DEGREE = 15; // the nearest poles, ±2πi, lie on an ellipse of ρ ≈ 12.8 about [0, 2], and 12.8⁻¹⁵ < 1e-16
const { nodes: NODES, weights: WEIGHTS } = gauss_legendre(4);

/**
 * @typedef {object} Table
 * @property {number} key the exponent it was made for
 * @property {number} count of intervals
 * @property {Float64Array} time at the nodes, rising
 * @property {Float64Array} value
 * @property {Float64Array} slope
 * @property {Float64Array} bend
 * @property {Float64Array} terms six coefficients for each interval, in (time − node)/length
 * @property {number} last value
 */

/** One table for each side of the target, written over when the depth changes: a slider leaves nothing to collect.
 * @type {Map<string, Table>} */
const held = new Map();

/** @returns {Table} */
function table_for(name, count) {
  const found = held.get(name);
  if (found && found.time.length > count) return found;
  const array = (n) => new Float64Array(n);
  const made = { key: NaN, count: 0, time: array(count + 1), value: array(count + 1), slope: array(count + 1), bend: array(count + 1), terms: array(6 * count), last: 0 };
  held.set(name, made);
  return made;
}

/**
 * e^{−v} over time, in the direction of rising v, from v = 2 to v0 and beyond.
 * @param {number} a
 * @param {number} v0
 * @param {number} side
 * @returns {Table}
 */
export function far_table(a, v0, side) {
  const count = Math.ceil(Math.max(v0 + 1 - SEAM, REACH) / STEP), table = table_for(`far ${side}`, count);
  if (table.key === a && table.count >= count) return table;
  const { time, value, slope, bend } = table, gaps = bend; // the gaps in time are written where the bends come later
  const grown = NODES.map((u) => Math.exp(a * STEP * u)), shrunk = NODES.map((u) => Math.exp(-STEP * u));
  for (let j = 0; j <= count; j++) {
    const v = SEAM + STEP * j, x = Math.exp(-v);
    let sum = 0; // of e^{av}/(1 − e^{−v}) up to the next node
    for (let i = 0; i < NODES.length; i++) sum += (WEIGHTS[i] * grown[i]) / (1 - x * shrunk[i]);
    value[j] = x;
    gaps[j] = STEP * Math.exp(a * v) * sum;
  }
  // The small ones are added first: from the seam on, or from infinity.
  if (a >= STEEP) for (let j = (time[0] = 0); j < count; j++) time[j + 1] = time[j] + gaps[j];
  else for (let j = count - 1, next = (time[count] = -beyond(a, SEAM + STEP * count)); j >= 0; j--) next = time[j] = next - gaps[j];
  for (let j = 0; j <= count; j++) {
    const x = value[j], slowness = Math.exp(a * (SEAM + STEP * j)), speed = (1 - x) / slowness;
    slope[j] = -x * speed;
    bend[j] = x * speed * (speed - (x - a * (1 - x)) / slowness);
  }
  return joined(table, a, count);
}

/** ∫ e^{au}/(1 − e^{−u}) du from v to infinity, for a < 0: the geometric series, term by term. */
function beyond(a, v) {
  let sum = 0;
  for (let m = 0; m < 20; m++) sum += Math.exp((a - m) * v) / (m - a);
  return sum;
}

/**
 * The time at v0 on the curve. Deep modes spend it near the start, and counting from the seam keeps its digits; shallow ones near
 * the seam, and counting from infinity does.
 * @param {Table} table
 * @param {number} v0
 * @param {number} seam the time from v0 to the seam
 */
export function place({ key }, v0, seam) {
  return key >= STEEP ? seam : -beyond(key, v0);
}

/**
 * y over the time since the seam, until it only decays.
 * @param {number} k
 * @param {number} side
 * @returns {Table}
 */
export function near_table(k, side) {
  const first = Math.log(Math.expm1(SEAM)), count = Math.ceil((first + REACH) / STEP), table = table_for(`near ${side}`, count);
  if (table.key === k) return table;
  const { time, value, slope, bend } = table, b = excess(k, side), whole = sum_of(b, SEAM - 1);
  for (let j = 0; j <= count; j++) {
    const w = Math.exp(first - STEP * j), v = Math.log1p(w), y = side < 0 ? -w : w / (1 + w); // e^v − 1 falls evenly in its logarithm
    const speed = Math.exp(-k * v), fallen = STEP * j - (side > 0 ? SEAM - v : 0); // of log|y|
    time[j] = fallen + whole - sum_of(b, v - 1);
    value[j] = y;
    slope[j] = -y * speed;
    bend[j] = y * speed * speed * (1 - (k * side * y) / (1 - y));
  }
  return joined(table, k, count);
}

/** A polynomial of degree five, with its coefficients from a place on. */
export function over(c, i, x) {
  return c[i] + x * (c[i + 1] + x * (c[i + 2] + x * (c[i + 3] + x * (c[i + 4] + x * c[i + 5]))));
}

/** Polynomials of degree five through values and two derivatives at both ends of every interval (Hermite). */
function joined(table, key, count) {
  const { time, value, slope, bend, terms } = table;
  for (let j = 0; j < count; j++) {
    const h = time[j + 1] - time[j], rise = value[j + 1] - value[j];
    const p = h * slope[j], q = h * slope[j + 1], r = h * h * bend[j], s = h * h * bend[j + 1], i = 6 * j;
    terms[i] = value[j];
    terms[i + 1] = p;
    terms[i + 2] = r / 2;
    terms[i + 3] = 10 * rise - 6 * p - 4 * q - (3 * r - s) / 2;
    terms[i + 4] = -15 * rise + 8 * p + 7 * q + (3 * r - 2 * s) / 2;
    terms[i + 5] = 6 * rise - 3 * (p + q) - (r - s) / 2;
  }
  return Object.assign(table, { key, count, last: value[count] });
}

/** ∫ (e^{ku} − 1) dZ over u in [0, 2], as coefficients of Chebyshev's polynomials in u − 1: it is analytic up to ±2πi. */
function excess(k, side) {
  const n = DEGREE, angles = Array.from({ length: n }, (_, i) => (Math.PI * (i + 0.5)) / n);
  const values = angles.map((angle) => {
    const u = 1 + Math.cos(angle);
    return (side * Math.expm1(k * u)) / Math.expm1(side * u);
  });
  const c = Array.from({ length: n + 2 }, (_, j) => (j < n ? (2 / n) * values.reduce((sum, x, i) => sum + x * Math.cos(j * angles[i]), 0) : 0));
  // The integral of Σ c_j T_j has the coefficients (c_{j−1} − c_{j+1})/2j.
  return Float64Array.from({ length: n + 1 }, (_, j) => (j ? (c[j - 1] - c[j + 1]) / (2 * j) : 0));
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
