// How the end-to-end matrix of a deep linear network moves, without its layers (Cohen & Razin, Theorem 1).
// The counterpart of lineament.theory.end_to_end.
import { dot, map, multiply, svd, transpose, zeros } from "./linalg.js";

/**
 * Refuses a depth that no network has.
 * @param {number} depth
 * @returns {number}
 */
export function whole_depth(depth) {
  if (!(Number.isInteger(depth) && depth >= 1)) throw new RangeError(`depth must be a whole number of at least 1; got ${depth}`);
  return depth;
}

/**
 * Σ_{k<n} left_r^{n−1−k} right_r'^k for all pairs, without subtraction; zero for n = 0.
 * @param {ArrayLike<number>} left
 * @param {ArrayLike<number>} right
 * @param {number} n
 */
export function weights(left, right, n) {
  const total = zeros(left.length, right.length), power = Float64Array.from(right, () => 1);
  for (let k = 0; k < n; k++) {
    for (let r = 0; r < left.length; r++) for (let c = 0; c < right.length; c++) total[r][c] = left[r] * total[r][c] + power[c];
    for (let c = 0; c < right.length; c++) power[c] *= right[c];
  }
  return total;
}

/**
 * The implicit preconditioner of Corollary 1 at W, as a function of matrices.
 * @param {Float64Array[]} W outputs × inputs
 * @param {number} depth n ≥ 1
 * @returns {(E: Float64Array[]) => Float64Array[]}
 */
export function preconditioner(W, depth) {
  const n = whole_depth(depth);
  if (W.length > W[0].length) {
    const turned = preconditioner(transpose(W), n);
    return (E) => transpose(turned(transpose(E)));
  }
  const { U, s, V } = svd(W), a = s.map((x) => x ** (2 / n)), sums = weights(a, a, n - 1);
  const Ut = transpose(U), Vt = transpose(V);
  return (E) => {
    // The term j = n of (3) also reaches inputs outside the span of V; the others do not.
    const inner = multiply(Ut, E), rest = multiply(map(multiply(inner, V), (x, r, c) => a[c] * sums[r][c] * x), Vt);
    return multiply(U, map(inner, (x, r, c) => a[r] ** (n - 1) * x + rest[r][c]));
  };
}

/**
 * The velocity of the end-to-end matrix, the right-hand side of equation (3).
 * @param {Float64Array[]} W outputs × inputs
 * @param {Float64Array[]} grad ∇ℓ(W)
 * @param {number} depth n ≥ 1
 */
export function field(W, grad, depth) {
  return map(preconditioner(W, depth)(grad), (x) => -x);
}

/**
 * The velocity −‖w‖^{2−2/n}(∇ + (n−1) proj_w ∇) of a single-output map (Exercise 1).
 * @param {ArrayLike<number>} w
 * @param {ArrayLike<number>} grad
 * @param {number} depth
 * @returns {Float64Array}
 */
export function field_one_output(w, grad, depth) {
  const n = whole_depth(depth), size = Math.sqrt(dot(w, w)), scale = -(size ** (2 - 2 / n));
  const along = size > 0 ? dot(w, grad) / size / size : 0;
  return Float64Array.from(w, (x, i) => scale * (grad[i] + (n - 1) * along * x));
}

/**
 * The velocity of a diagonal map under a diagonal gradient: every entry by itself, −n (w²)^{1−1/n} ∇.
 * It is `field` at diag(w), which rotations of repeated singular values leave alone.
 * @param {ArrayLike<number>} w
 * @param {ArrayLike<number>} grad
 * @param {number} depth
 * @returns {Float64Array}
 */
export function field_diagonal(w, grad, depth) {
  const n = whole_depth(depth);
  return Float64Array.from(w, (x, i) => -n * Math.abs(x) ** (2 - 2 / n) * grad[i]);
}
