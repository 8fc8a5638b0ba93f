// Gradient flow of a two-layer linear network on white inputs, exactly, from any λ-balanced start, aligned or not.
// The counterpart of lineament.theory.two_layer, whose docstring derives every step; names and branches are the same.
import { completed, map, multiply, svd, total, transpose, zeros } from "./linalg.js";
import { prepare, square_root } from "./riccati.js";
import { insist } from "./special.js";

const EPS = 2 ** -52;

/** @typedef {import("./linalg.js").Matrix} Matrix */

/**
 * How λ-balanced a start is: the λ that comes nearest, and ‖QΔ − λQ‖/(‖Q‖‖Q‖₂²), zero in the solvable class.
 * @param {Matrix} W1 (h, i)
 * @param {Matrix} W2 (o, h)
 * @returns {{value: number, violation: number}}
 */
export function balance(W1, W2) {
  insist(W1.length === W2[0].length, "W1 (h × i) and W2 (o × h)", "one h", `${W1.length} and ${W2[0].length}`);
  const largest = [...W1, ...W2].reduce((most, row) => row.reduce((m, x) => Math.max(m, Math.abs(x)), most), 0);
  if (largest === 0) return { value: 0, violation: 0 };
  const A = map(W1, (x) => x / largest), B = map(W2, (x) => x / largest), Q = [...transpose(A), ...B];
  const first = multiply(A, transpose(A)), delta = map(multiply(transpose(B), B), (x, i, j) => x - first[i][j]), QD = multiply(Q, delta);
  const square = total(Q, (x) => x * x), value = total(Q, (x, i, j) => x * QD[i][j]) / square, size = svd(Q).s[0] ** 2;
  const violation = Math.sqrt(total(QD, (x, i, j) => (x - value * Q[i][j]) ** 2)) / (Math.sqrt(square) * size);
  const rounding = EPS * (Q.length + Q[0].length) * size;
  return { value: Math.abs(value) <= rounding ? 0 : value * largest * largest, violation };
}

/**
 * The flow from a start, as a function of time: layers with its product and its Grams, up to an orthogonal change of hidden units.
 * @param {Matrix} W1 (h, i)
 * @param {Matrix} W2 (o, h)
 * @param {Matrix} target Y, (o, i)
 * @param {number} [tolerance] largest violation of λ-balance that counts as rounding
 * @returns {(t: number) => {W1: Matrix, W2: Matrix}}
 */
export function flow(W1, W2, target, tolerance = 1e-10) {
  const inputs = W1[0].length, outputs = W2.length;
  insist(target.length === outputs && target[0].length === inputs, "target", `a matrix of shape ${outputs} × ${inputs}`, `${target.length} × ${target[0].length}`);
  const { value, violation } = balance(W1, W2), c = value / 2;
  if (!(violation <= tolerance)) throw new RangeError(`W1 and W2 must be λ-balanced: W2ᵀW2 − W1W1ᵀ = λ·(projector on their hidden directions); got a violation of ${violation} at the best λ = ${value}`);
  const thin = svd(target), U = completed(thin.U), V = completed(thin.V), s = clustered(thin.s, inputs + outputs), r = s.length;
  // Each component of the eigenvectors comes out to full relative precision; where s = c = 0 any direction will do.
  const large = s.map((x) => Math.hypot(x, c) + Math.abs(c) || 1), small = s.map((x, k) => x / Math.hypot(x, large[k])), great = large.map((x, k) => x / Math.hypot(s[k], x));
  const [cos, sin] = c >= 0 ? [small, great] : [great, small];
  // |f| = |c| + excess: gaps between growing modes keep their digits even where c dwarfs s.
  const own = Array.from(s, (x, k) => x * (x / large[k])), rest = inputs + outputs - 2 * r, pairs = [1, -1].flatMap((sign) => own.map((excess) => ({ sign, excess })));
  const all = [...pairs, ...Array.from({ length: rest }, (_, k) => ({ sign: (k < inputs - r ? -1 : 1) * Math.sign(c), excess: 0 }))];
  const order = all.map((_, k) => k).sort((i, j) => all[j].sign - all[i].sign || all[j].sign * all[j].excess - all[i].sign * all[i].excess || i - j);
  const sorted = order.map((k) => all[k]), rates = Float64Array.from(sorted, ({ sign, excess }) => sign * (Math.abs(c) + excess));
  const gap = (k, p) => (sorted[k].sign === sorted[p].sign && sorted[k].sign !== 0 ? sorted[k].sign * (sorted[k].excess - sorted[p].excess) : rates[k] - rates[p]);
  const first = multiply(transpose(V), transpose(W1)), second = multiply(transpose(U), W2);
  const mixed = (a, b, k, sign) => first[k].map((_, j) => a * first[k][j] + sign * b * second[k][j]);
  const modes = [...Array.from(s, (_, k) => mixed(cos[k], sin[k], k, 1)), ...Array.from(s, (_, k) => mixed(sin[k], cos[k], k, -1)), ...first.slice(r), ...second.slice(r)];
  const start = prepare(rates, gap, order.map((k) => modes[k]), EPS * rates.length + violation);
  return (t) => {
    insist(t >= 0, "t", "times of at least 0", t);
    const back = zeros(order.length, W1.length); // hidden units that have decayed stay zero
    square_root(t, start).forEach((row, i) => back[order[i]].set(row));
    const turned = (p, q, sign) => Array.from(s, (_, k) => back[k].map((x, j) => p[k] * x + sign * q[k] * back[r + k][j]));
    const a = multiply(V, [...turned(cos, sin, 1), ...back.slice(2 * r, r + inputs)]), b = multiply(U, [...turned(sin, cos, -1), ...back.slice(r + inputs)]);
    return { W1: transpose(a), W2: b };
  };
}

/** The end-to-end matrix W2 W1 at a time; arguments as in `flow`. */
export function trajectory(t, W1, W2, target) {
  const found = flow(W1, W2, target)(t);
  return multiply(found.W2, found.W1);
}

/** Layers with the product and the Grams of the flow at a time. */
export function layers(t, W1, W2, target) {
  return flow(W1, W2, target)(t);
}

/** The product and both layers' Gram matrices W1ᵀW1 and W2W2ᵀ at a time. */
export function grams(t, W1, W2, target) {
  const found = flow(W1, W2, target)(t);
  return { product: multiply(found.W2, found.W1), first: multiply(transpose(found.W1), found.W1), second: multiply(found.W2, transpose(found.W2)) };
}

/** Singular values that agree to rounding, made equal; those of rounding size, made zero: the decomposition knows no better. */
function clustered(s, size) {
  const rounding = size * EPS * s[0], found = s.slice();
  for (let first = 0, next = 0; first < s.length; first = next) {
    next = first + 1;
    while (next < s.length && s[next - 1] - s[next] <= rounding) next++;
    const mean = s.slice(first, next).reduce((a, b) => a + b, 0) / (next - first);
    for (let k = first; k < next; k++) found[k] = s[k] <= rounding ? 0 : mean;
  }
  return found;
}
