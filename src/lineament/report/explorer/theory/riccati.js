// The flow Q̇ = FQ − ½QQᵀQ with symmetric F, solved at any time from any start: the matrix Riccati equation of its Gram.
// The counterpart of lineament.theory.riccati, whose docstring derives every step; names and branches are the same.
import { dot, triangle, zeros } from "./linalg.js";

const MOST_DROPPED = 1e-10; // what is set to zero is an error in the start: at most this much of it

/** @typedef {import("./linalg.js").Matrix} Matrix */

/**
 * @typedef {object} Modes a start in the eigenbasis of F, turned into staircase form
 * @property {Float64Array} rates eigenvalues f of F, falling
 * @property {Matrix} overlaps the staircase B, (m, n)
 * @property {Matrix} decay f_k − max(f_p(j), 0), at most 0 wherever B is not zero
 * @property {Float64Array} growth max(f_p(j), 0)
 */

/**
 * Turns the columns by one orthogonal matrix so that the rows form a lower staircase.
 * @param {Matrix} overlaps rows in the order in which they may become pivots
 * @param {number} rounding of a column, relative to its norm
 * @param {number} growing how many of the rows, from the first, belong to growing modes
 * @returns {{B: Matrix, pivots: number[]}}
 */
export function staircase(overlaps, rounding, growing) {
  const B = overlaps.map((row) => row.slice()), m = B.length, h = B[0].length, pivots = [];
  const variance = Float64Array.from({ length: h }, (_, j) => overlaps.reduce((sum, row) => sum + (rounding * row[j]) ** 2, 0));
  const most = Math.max(1, MOST_DROPPED / rounding) ** 2, inverse = zeros(h, h); // of the triangle of pivot rows
  for (let k = 0; k < m; k++) {
    const j = pivots.length, y = Float64Array.from({ length: j }, (_, c) => pivots.reduce((sum, _p, r) => sum + B[k][r] * inverse[r][c], 0));
    const blur = k < growing ? Math.min(1 + dot(y, y), most) : 1;
    let lead = -1;
    for (let c = j; c < h; c++) {
      if (B[k][c] ** 2 <= variance[c] * blur) B[k][c] = 0;
      if (B[k][c] !== 0 && (lead < 0 || Math.abs(B[k][c]) > Math.abs(B[k][lead]))) lead = c;
    }
    if (lead < 0) continue;
    // The largest entry leads, or the reflection would cancel what is small in the others.
    for (const row of B) [row[j], row[lead]] = [row[lead], row[j]];
    [variance[j], variance[lead]] = [variance[lead], variance[j]];
    const v = B[k].slice(j).map((x) => x / Math.abs(B[k][j]));
    v[0] += Math.sign(v[0]) * Math.sqrt(dot(v, v));
    const beta = 2 / dot(v, v);
    for (let i = k; i < m; i++) {
      const along = beta * v.reduce((sum, x, c) => sum + x * B[i][j + c], 0);
      for (let c = 0; c < v.length; c++) B[i][j + c] -= along * v[c];
    }
    for (let c = j + 1; c < h; c++) B[k][c] = 0;
    const mixed = v.reduce((sum, x, c) => sum + x * x * variance[j + c], 0);
    v.forEach((x, c) => { variance[j + c] = Math.max(variance[j + c] * (1 - 2 * beta * x * x) + (beta * x) ** 2 * mixed, 0); });
    for (let c = 0; c < j; c++) inverse[j][c] = -y[c] / B[k][j];
    inverse[j][j] = 1 / B[k][j];
    pivots.push(k);
  }
  return { B: B.map((row) => row.slice(0, pivots.length)), pivots };
}

/**
 * Prepares a start for evaluation at many times.
 * @param {Float64Array} rates eigenvalues of F, falling
 * @param {(k: number, p: number) => number} gap rates[k] − rates[p], which the caller may know without cancellation
 * @param {Matrix} overlaps VᵀQ₀
 * @param {number} rounding
 * @returns {Modes}
 */
export function prepare(rates, gap, overlaps, rounding) {
  const { B, pivots } = staircase(overlaps, rounding, rates.filter((f) => f > 0).length);
  // Above a pivot the staircase is zero; a zero exponent there keeps exp from overflowing into 0·∞.
  const decay = B.map((row, k) => row.map((x, j) => (x === 0 ? 0 : rates[pivots[j]] > 0 ? gap(k, pivots[j]) : rates[k])));
  return { rates, overlaps: B, decay, growth: Float64Array.from(pivots, (p) => Math.max(rates[p], 0)) };
}

/**
 * A factor S of the Gram matrix in the eigenbasis of F, M(t) = SSᵀ: Q(t) up to an orthogonal change of hidden coordinates.
 * @param {number} t ≥ 0, Infinity allowed
 * @param {Modes} start
 * @returns {Matrix} (m, n)
 */
export function square_root(t, { rates, overlaps: B, decay, growth }) {
  const unstable = rates.filter((f) => f > 0).length, ends = t === Infinity;
  const kept = Array.from(growth, (_, j) => j).filter((j) => !ends || growth[j] > 0); // the others have decayed
  const X = B.map((row, k) => Float64Array.from(kept, (j) => (ends ? (decay[k][j] === 0 ? row[j] : 0) : row[j] * Math.exp(decay[k][j] * t))));
  if (!kept.length) return X;
  const C = Float64Array.from(kept, (j) => (ends ? 0 : Math.exp(-growth[j] * t)));
  // The integral of e^{2fs} comes divided by e^{2ft} where f > 0: there, the factor is in X already.
  const G = ends ? X.slice(0, unstable).map((row, k) => row.map((x) => x / Math.sqrt(2 * rates[k])))
    : X.map((row, k) => row.map((x, c) => Math.sqrt(integral(rates[k], t)) * (k < unstable ? x : B[k][kept[c]] * C[c])));
  const scale = C.map((x, c) => 1 / G.reduce((most, row) => Math.max(most, Math.abs(row[c])), x));
  const scaled = (A) => A.map((row) => row.map((x, c) => x * scale[c]));
  const diagonal = Array.from(C, (x, c) => C.map((_, j) => (j === c ? x * scale[c] : 0)));
  const R = triangle([...scaled(G), ...diagonal]); // M = X (diag(C)² + GᵀG)⁻¹ Xᵀ
  return scaled(X).map((row) => solved(R, row));
}

/** xR⁻¹ for an upper triangle R. */
function solved(R, x) {
  const found = x.slice();
  for (let j = 0; j < found.length; j++) {
    for (let i = 0; i < j; i++) found[j] -= found[i] * R[i][j];
    found[j] /= R[j][j];
  }
  return found;
}

/** The integral of e^{2fs} over [0, t], divided by e^{2ft} where f > 0. */
function integral(rate, t) {
  const size = 2 * Math.abs(rate);
  return size === 0 ? t : -Math.expm1(-size * t) / size;
}
