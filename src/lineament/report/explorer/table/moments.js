// Means and covariances of a table, after incomplete rows and constant columns are left out.
// The counterpart of lineament.forecasting.moments for a table that is read in one piece.
import { zeros } from "../theory/linalg.js";
import { Generator } from "../theory/random.js";
import { value } from "./columns.js";
import { canonical, natural, printable } from "./labels.js";

const KEPT = 2048; // examples kept for what moments cannot tell
const MOST_CLASSES = 1000;
const FEW_VALUES = 20; // whole numbers with at most so many values might be meant as classes
const CONSTANT = 64 * 2 ** -52;
const LARGE = 1e12; // numbers from here on may differ by less than that share of their size

/** What is said of numbers that may differ by less than float64 tells apart; empty if they are small. */
function unresolved(means) {
  const size = Math.max(...means.map(Math.abs)), short = (x) => x.toPrecision(1).replace(/e([+-])(\d)$/, "e$10$2");
  return size < LARGE ? "" : `, or differ by less than ${short(CONSTANT * size)}, which numbers near ${short(size)} need to be told apart in float64: subtract a constant from them first`;
}

/**
 * @typedef {object} Moments
 * @property {number} rows
 * @property {number} missing
 * @property {string[]} features
 * @property {string[]} constant
 * @property {string[]} outputs
 * @property {boolean} classes
 * @property {number | null} few_values
 * @property {Float64Array[]} sxx
 * @property {Float64Array[]} syx
 * @property {Float64Array[]} syy
 * @property {Float64Array[]} sample
 */

/**
 * Sums up a table.
 * @param {import("./csv.js").Table} table
 * @param {{classes?: boolean | null, seed?: number}} options
 * @returns {Moments}
 */
export function gather(table, { classes = null, seed = 0 } = {}) {
  const rng = new Generator(seed), named = classes ?? table.words;
  if (!named && table.words) throw new RangeError(`the target ${table.target} must hold numbers to be learnt as such; got words`);
  const values = named ? null : Float64Array.from(table.labels, value), spelt = named ? table.labels.map((label) => label && canonical(label)) : null;
  const complete = table.X.map((x, i) => !x.some(Number.isNaN) && (named ? spelt[i] !== null : !Number.isNaN(values[i])));
  const chosen = table.X.map((_, i) => i).filter((i) => complete[i]), n = chosen.length, missing = table.X.length - n;
  if (n < 2) {
    throw new RangeError(
      `at least two complete rows are needed; there are ${n}, and ${missing} with a missing value. `
      + "Fill the missing values in, or drop the columns that have them",
    );
  }
  const X = chosen.map((i) => table.X[i]), p = table.features.length;
  X.forEach((x) => x.forEach((value, j) => refuse_infinite(value, table.features[j])));
  const names = named ? class_names(chosen.map((i) => spelt[i]), table.target) : [table.target];
  const Y = chosen.map((i) => {
    if (!named) { refuse_infinite(values[i], table.target); return Float64Array.of(values[i]); }
    return Float64Array.from(names, (name) => (name === spelt[i] ? 1 : 0));
  });
  const Z = X.map((x, i) => Float64Array.from([...x, ...Y[i]])), { mean, covariance } = centred(Z);
  const deviation = covariance.map((row, j) => Math.sqrt(row[j]));
  deviation.forEach((x, j) => {
    if (!Number.isFinite(x)) throw new RangeError(`column '${j < p ? table.features[j] : table.target}' must hold numbers whose squares fit float64; rescale the column`);
  });
  const varies = deviation.map((x, j) => x > CONSTANT * Math.abs(mean[j]));
  const columns = table.features.map((_, j) => j), keep = columns.filter((j) => varies[j]);
  if (!keep.length) throw new RangeError(`at least one feature must vary; all ${p} columns are constant over ${n} rows${unresolved(mean.slice(0, p))}`);
  if (!varies.slice(p).some(Boolean)) throw new RangeError(`the target ${table.target} must vary; all ${n} rows have the same${unresolved(mean.slice(p))}`);
  const outputs = names.map((_, k) => p + k), told = named ? [] : chosen.map((i) => values[i]), few = new Set(told.every(Number.isInteger) ? told : []);
  return {
    rows: n, missing, classes: named, outputs: named ? names.map(printable) : names,
    features: keep.map((j) => table.features[j]),
    constant: columns.filter((j) => !varies[j]).map((j) => table.features[j]),
    few_values: few.size > 1 && few.size <= FEW_VALUES ? few.size : null,
    sxx: cut(covariance, keep, keep, (i, j) => deviation[i] * deviation[j]),
    syx: cut(covariance, outputs, keep, (_, j) => deviation[j]),
    syy: cut(covariance, outputs, outputs, () => 1),
    sample: reservoir(X, rng).map((x) => Float64Array.from(keep, (j) => (x[j] - mean[j]) / deviation[j])),
  };
}

/** The classes in the order of their names. */
function class_names(labels, target) {
  const names = [...new Set(labels)].sort(natural);
  if (names.length > MOST_CLASSES) {
    throw new RangeError(
      `the target '${target}' has more than ${MOST_CLASSES} different names, such as '${names[0]}': they seem to be identifiers; name another target`,
    );
  }
  return names;
}

function refuse_infinite(value, name) {
  if (Math.abs(value) === Infinity) throw new RangeError(`column '${name}' holds an infinite value; replace it, or drop the column`);
}

function centred(Z) {
  const n = Z.length, w = Z[0].length, mean = new Float64Array(w), covariance = zeros(w, w);
  for (const z of Z) for (let j = 0; j < w; j++) mean[j] += z[j];
  for (let j = 0; j < w; j++) mean[j] /= n;
  for (const z of Z) {
    const c = z.map((x, j) => x - mean[j]);
    for (let i = 0; i < w; i++) for (let j = i; j < w; j++) covariance[i][j] += c[i] * c[j];
  }
  for (let i = 0; i < w; i++) for (let j = i; j < w; j++) covariance[j][i] = covariance[i][j] /= n;
  return { mean, covariance };
}

function cut(A, rows, columns, scale) {
  return rows.map((i) => Float64Array.from(columns, (j) => A[i][j] / scale(i, j)));
}

/** Every row ends up among those kept with the same probability; the draws are NumPy's. */
function reservoir(X, rng) {
  const kept = X.slice(0, KEPT);
  const places = X.slice(KEPT).map((_, k) => rng.below(KEPT + k + 1));
  places.forEach((where, k) => { if (where < KEPT) kept[where] = X[KEPT + k]; });
  return kept;
}
