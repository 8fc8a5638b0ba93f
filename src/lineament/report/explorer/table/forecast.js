// What a deep linear network will learn from a table, and when. The counterpart of lineament.forecasting.forecast.
import { preconditioner, whole_depth } from "../theory/end_to_end.js";
import { dot, eigh, largest_eigenvalue, map, multiply, svd, total, transpose } from "../theory/linalg.js";
import * as phases from "../theory/phases.js";
import { Generator } from "../theory/random.js";
import { gather } from "./moments.js";
import { deep, DONE, first_passage, MATTERS, one_layer, whitened } from "./paths.js";
import { premises, three } from "./premises.js";
import { stopping } from "./stopping.js";
import { notices, sentences, stop } from "./words.js";

const ENOUGH = 0.999, CAREFUL = 0.05, LONGEST = 100_000, BEGUN = 0.1, HALF = 0.5, NAMED = 3;
const DEEPEST = 100, MOST_STEPS = 1e12, FASTEST = 1e6; // layers, steps, and step size in units of the largest stable one
const WIDEST = 100; // the largest scale of the start, in units of the target's largest singular value
const ROUNDING = 32 * 2 ** -52, COLLINEAR = 1e-10; // a share of the largest variance: the table's own rounding

/**
 * @typedef {object} Options
 * @property {number} [depth] layers
 * @property {number} [start_scale] all singular values of the map at the start
 * @property {number | null} [step_size] η; the recommended one by default
 * @property {number | null} [steps] to look ahead; until 99.9 % is learnt by default
 * @property {boolean} [whiten]
 * @property {boolean | null} [classes]
 * @property {number} [seed]
 */

/**
 * The forecast for a table, as a generator that yields while it works and returns what `lineament forecast --json` prints.
 * @param {import("./csv.js").Table} table
 * @param {Options} options
 */
export function* forecasting(table, options = {}) {
  const { start_scale = 1e-3, step_size = null, steps = null, whiten = false, classes = null, seed = 0 } = options;
  const depth = whole_depth(options.depth ?? 2);
  if (depth > DEEPEST) throw new RangeError(`depth must be a whole number from 1 to ${DEEPEST}; got ${depth}`);
  for (const [name, x] of Object.entries({ start_scale, step_size: step_size ?? 1 })) {
    if (!(x > 0 && x < Infinity)) throw new RangeError(`${name} must be positive and finite; got ${x}`);
  }
  if (steps !== null && !(Number.isInteger(steps) && steps >= 1 && steps <= MOST_STEPS)) throw new RangeError(`steps must be a whole number from 1 to ${MOST_STEPS}; got ${steps}`);
  const m = gather(table, { classes, seed });
  yield 1;
  let { d, V } = spectrum(m.sxx), syx = multiply(m.syx, V), target = map(syx, (x, _, j) => x / d[j]);
  const power = m.syy.reduce((sum, row, k) => sum + row[k], 0);
  const floor = Math.max(0.5 * (power - total(syx, (x, k, j) => x * target[k][j])), 0), spread = Array.from(d);
  if (whiten) {
    V = map(V, (x, _, j) => x / Math.sqrt(spread[j]));
    target = map(target, (x, _, j) => x * Math.sqrt(spread[j]));
    syx = map(syx, (x, _, j) => x / Math.sqrt(spread[j]));
    d = d.map(() => 1);
  }
  const own = whiten ? svd(target) : null;
  const kept = own ? own.s.filter((s) => s > ROUNDING * Math.max(target.length, d.length) * own.s[0]).length : d.length;
  const most = WIDEST * (own ?? svd(target)).s[0];
  if (start_scale > most) throw new RangeError(`start_scale must be at most ${three(most)} for this table; got ${start_scale}`);
  const W0 = map(own ? aligned(own, kept) : orthonormal(target.length, d.length, seed), (x) => start_scale * x);
  const top = sharpness(target, d, depth), recommended = (CAREFUL * 2) / Math.max(top, sharpness(W0, d, depth));
  refuse_step_size(step_size, depth, 2 / top, recommended);
  const eta = step_size ?? recommended, limits = { until: steps ? steps * eta : null, enough: ENOUGH, longest: LONGEST * recommended };
  const path = own ? whitened(start_scale, Array.from(own.s.slice(0, kept)), depth, limits)
    : depth === 1 ? one_layer(W0, target, d, limits) : yield* deep(W0, target, d, depth, limits);
  const found = components(m, path, V, d, target, own, kept, power, eta);
  const made = {
    table: table.name, rows: m.rows, rows_with_missing_values: m.missing, features: m.features, constant_columns: m.constant,
    outputs: m.outputs, classes: m.classes, depth, start_scale, seed, whiten, step_size: eta,
    steps: steps ?? Math.max(1, Math.ceil(path.time[path.time.length - 1] / eta)),
    largest_stable_step_size: 2 / top, recommended_step_size: recommended, explained: 1 - (2 * floor) / power, least_loss: floor,
    variances: Array.from(d), components: found, phases: phases_of(found, depth, whiten),
    curve: { step: path.time.map((t) => t / eta), loss: path.left.map((x) => floor + x) },
    stopping: null, premises: premises(W0, target, d, syx, m, whiten ? V : null), notices: [], sentences: [],
    path, few_values: m.few_values, learnt: 1 - path.left[path.left.length - 1] / path.left[0], table_notices: table.notices,
  };
  made.stopping = when_to_stop(m, path, d, target, own);
  if (made.stopping) made.stopping.advice = stop(made);
  made.notices = [...table.notices, ...notices(made)];
  made.sentences = sentences(made);
  return made;
}

/** Refuses what a float cannot hold, and step sizes that would take for ever or are lost at once. */
function refuse_step_size(step_size, depth, largest, recommended) {
  if (!(recommended > 0 && recommended < Infinity && largest > 0 && largest < Infinity)) {
    throw new RangeError(`depth must leave a step size that float64 can hold; got depth ${depth}, at which the largest stable one is ${three(largest)}`);
  }
  const least = (LONGEST * recommended) / MOST_STEPS, most = FASTEST * largest;
  if (step_size !== null && !(step_size >= least && step_size <= most)) {
    throw new RangeError(`step_size must be between ${three(least)} and ${three(most)} for this table; got ${step_size}. Recommended: ${three(recommended)}`);
  }
}

/** The forecast at once; for the console and for tests. */
export function forecast(table, options = {}) {
  const work = forecasting(table, options);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Variances in falling order and directions, each with the sign that makes its largest entry positive. */
function spectrum(sxx) {
  const { values, V } = eigh(sxx), columns = transpose(V);
  const seen = values.filter((x) => x > COLLINEAR * values[0]).length;
  const signed = columns.slice(0, seen).map((v) => v.map((x) => x * sign_of(v)));
  return { d: values.slice(0, seen), V: transpose(signed) };
}

/** A direction and its negative are the same: the one whose largest entry is positive is told. */
const sign_of = (v) => Math.sign(v.reduce((most, x) => (Math.abs(x) > Math.abs(most) ? x : most), 0));

/** A uniformly random map all of whose singular values are 1. */
function orthonormal(rows, columns, seed) {
  const { U, V } = svd(new Generator(seed).normals(rows, columns));
  return multiply(U, transpose(V));
}

function aligned({ U, V }, kept) {
  return multiply(U.map((row) => row.slice(0, kept)), transpose(V.map((row) => row.slice(0, kept))));
}

/** The largest eigenvalue of the Hessian over balanced layers whose product is W (of the Gauss–Newton matrix elsewhere). */
export function sharpness(W, d, depth) {
  if (depth === 1) return Math.max(...d);
  const precondition = preconditioner(W, depth), root = Array.from(d, Math.sqrt), n = d.length;
  const apply = (e) => {
    const G = W.map((_, k) => Float64Array.from(root, (r, j) => e[k * n + j] * r));
    return Float64Array.from(map(precondition(G), (x, _, j) => x * root[j]).flatMap((row) => [...row]));
  };
  const begin = Float64Array.from(new Generator(0).normals(1, W.length * n)[0]);
  return begin.length === 1 ? apply(Float64Array.of(1))[0] : largest_eigenvalue(apply, begin);
}

function components(m, path, V, d, target, own, kept, power, eta) {
  let loadings = transpose(V), effects = transpose(target), variances = Array.from(d);
  if (own) {
    const raw = transpose(multiply(V, own.V.map((row) => row.slice(0, kept)))), signs = raw.map(sign_of);
    loadings = raw.map((v, i) => v.map((x) => (signs[i] * x) / Math.sqrt(dot(v, v))));
    effects = transpose(own.U).slice(0, kept).map((u, i) => u.map((x) => signs[i] * x * own.s[i]));
    variances = Array.from({ length: kept }, () => 1);
  }
  const [begins, half, ends] = [BEGUN, HALF, DONE].map((share) => first_passage(path, share));
  return effects.map((effect, j) => {
    const strength = Math.sqrt(dot(effect, effect));
    return {
      number: j + 1, variance: variances[j], strength, explained: (variances[j] * strength ** 2) / power,
      begins: begins[j], half: half[j], ends: ends[j],
      features: weighty(m.features, loadings[j]), outputs: weighty(m.outputs, effect),
      begins_step: begins[j] / eta, half_step: half[j] / eta, ends_step: ends[j] / eta,
    };
  });
}

function weighty(names, weights) {
  const order = names.map((_, j) => j).sort((i, j) => Math.abs(weights[j]) - Math.abs(weights[i]) || i - j);
  return order.slice(0, NAMED).map((j) => [names[j], weights[j]]);
}

/** Whether components that matter are learnt one after the other (Gissin et al. 2020, Definition 1). */
function phases_of(found, depth, whiten) {
  const learnable = found.reduce((sum, each) => sum + each.explained, 0);
  const mattering = found.filter((each) => each.explained >= MATTERS * learnable && each.half < Infinity);
  const ordered = mattering.sort((a, b) => a.half - b.half);
  return ordered.slice(1).map((second, i) => {
    const first = ordered[i], pause = second.begins - first.ends, apart = whiten && first.strength > second.strength;
    const threshold = apart ? phases.threshold(depth, first.strength / second.strength, BEGUN, DONE, second.strength) : null;
    return { first: first.number, second: second.number, separated: pause >= 0, pause, threshold };
  });
}

function when_to_stop(m, path, d, target, own) {
  const n = m.rows, freedom = n - 1 - d.length;
  if (freedom < 1) return null;
  const residual = m.syy.map((row, k) => row.map((x, l) => (x - d.reduce((s, v, j) => s + target[k][j] * v * target[l][j], 0)) * (n / freedom)));
  const noise = residual.reduce((sum, row, k) => sum + row[k], 0);
  if (!own) {
    const seen = Array.from(d, (x, j) => target.reduce((sum, row) => sum + row[j] ** 2, 0) * x);
    return stopping(path, seen, seen.map(() => noise / n), noise, n);
  }
  const kept = path.share[0].length, U = transpose(own.U).slice(0, kept);
  const variance = U.map((u) => (d.length * residual.reduce((sum, row, k) => sum + u[k] * dot(row, u), 0)) / n);
  return stopping(path, Array.from(own.s.slice(0, kept), (s) => s * s), variance, noise, n);
}
