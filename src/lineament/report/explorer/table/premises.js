// Which assumptions of the papers the data and the start meet, each with the number that says so.
// The counterpart of lineament.forecasting.premises, and of lineament.theory.assumptions for the last of them.
import { margin_from_excess } from "../theory/certificates.js";
import { dot, eigh, multiply, total, zeros } from "../theory/linalg.js";
import { Generator } from "../theory/random.js";

const EXACT = 1e-8; // what may remain, relative to the whole, of something that an exact solution needs to vanish
const SCALE_BAR = 0.1, MEAN_BAR = 0.1, COVARIANCE_BAR = 10, RATIO_BAR = 2;
const PAIRS = 200_000;

/** @typedef {{name: string, source: string, met: boolean, value: number, meaning: string}} Premise */

/** Compares data and start with what the papers assume. @returns {Premise[]} */
export function premises(W0, target, d, syx, moments, whitening) {
  const sample = whitening ? multiply(moments.sample, whitening) : moments.sample;
  return [
    full_rank(d, moments.rows, moments.features.length), whitened(d), commuting(d, syx), balanced(), margin(W0, target, d),
    typical(sample),
  ];
}

function full_rank(d, rows, columns) {
  const met = d.length === columns;
  const says = met && rows - 1 > columns
    ? "the best map is unique, and its error on new data can be estimated"
    : "many maps fit equally well; training picks the one in the span of the data, as the start lies in it";
  return { name: "covariance of full rank", source: "Cohen & Razin, §1", met, value: d.length / columns, meaning: `rank/columns: ${says}` };
}

function whitened(d) {
  const off = Math.max(...Array.from(d, (x) => Math.abs(x - 1))), met = off <= EXACT;
  const says = met
    ? "every singular mode of the target moves on its own, in closed form"
    : "components are learnt in the order of their variance as well as of their weight in the target";
  return { name: "whitened inputs", source: "Saxe et al. 2014; Gissin et al., Thm. 4", met, value: off, meaning: `largest |eigenvalue of Σxx − 1|: ${says}` };
}

/** Whether Σxx and ΣxyΣyx share their eigenvectors. */
function commuting(d, syx) {
  let off = 0, all = 0;
  for (let i = 0; i < d.length; i++) {
    for (let j = 0; j < d.length; j++) {
      const entry = syx.reduce((sum, row) => sum + row[i] * row[j], 0);
      off = Math.hypot(off, (d[i] - d[j]) * entry);
      all = Math.hypot(all, entry);
    }
  }
  const value = off / (Math.max(...d) * all), met = value <= EXACT;
  const says = met
    ? "modes stay uncoupled from an aligned start" : "modes are coupled: the path is integrated, not summed from closed forms";
  return { name: "commuting moments", source: "Saxe et al. 2014", met, value, meaning: `relative commutator: ${says}` };
}

/** The start is split into balanced layers by construction. */
function balanced() {
  const says = "the map moves by an equation without layers; hidden widths beyond its rank change nothing";
  return { name: "balanced start", source: "Cohen & Razin, Assumption 1", met: true, value: 0, meaning: `relative unbalancedness: ${says}` };
}

function margin(W0, target, d) {
  const excess = 0.5 * total(W0, (x, k, j) => (x - target[k][j]) ** 2 * d[j]);
  const value = margin_from_excess(excess, target, Math.min(...d)), met = value > 0;
  const says = met
    ? "convergence at an exponential rate is guaranteed from this start"
    : "no guarantee of convergence follows from this start, though it may well converge";
  return { name: "deficiency margin", source: "Cohen & Razin, Thm. 2", met, value, meaning: `margin: ${says}` };
}

/** Assumption 3.1 of Hu et al. on the examples that were kept, by its worst line. */
function typical(sample) {
  const lines = check(sample), holds = lines.every((line) => line.holds);
  const stray = (line) => Math.abs(line.value - line.reference) / Math.abs(line.allowed - line.reference);
  const worst = lines.reduce((a, b) => (stray(b) > stray(a) ? b : a));
  const says = holds
    ? "norms and overlaps are those of subgaussian inputs, so that early training of a wide network is linear"
    : `${worst.name} is ${three(worst.value)}, and at most ${three(worst.allowed)} is allowed: `
      + "the theorem on a wide network's early, linear phase does not cover this data";
  const met = lines.filter((line) => line.holds).length / lines.length;
  return { name: "concentrated inputs", source: "Hu et al., Assumption 3.1", met: holds, value: met, meaning: `share of tests: ${says}` };
}

/** Three significant digits as Python's format "g" writes them. */
export function three(x) {
  const power = Math.floor(Math.log10(Math.abs(x)));
  if (x === 0 || (power >= -4 && power < 3)) return String(Number(x.toPrecision(3)));
  const [digits, exponent] = x.toExponential(2).split("e");
  return `${Number(digits)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** The comparisons of Assumption 3.1. */
export function check(X) {
  const n = X.length, d = X[0].length, mean = new Float64Array(d), second = zeros(d, d);
  const norms = X.map((x) => dot(x, x) / d);
  for (const x of X) {
    for (let i = 0; i < d; i++) {
      mean[i] += x[i] / n;
      for (let j = 0; j < d; j++) second[i][j] += (x[i] * x[j]) / n;
    }
  }
  const covariance = second.map((row, i) => row.map((x, j) => (x - mean[i] * mean[j]) * (n / (n - 1))));
  const { values } = eigh(covariance), sum = values.reduce((a, b) => a + b, 0), trace = sum / d;
  if (!(trace > 0)) throw new RangeError("x must vary: all examples are equal");
  const spread = Math.max(dot(values, values) - (d * d * trace * trace) / n, (sum * sum) / d) / d;
  const overlaps = overlap(X).map((x) => x / d), norm_sd = Math.sqrt((2 * spread) / d), overlap_sd = Math.sqrt(spread / d);
  const widest = norms.reduce((most, x) => Math.max(most, Math.abs(x - 1)), 0);
  const strongest = overlaps.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const offset = dot(mean, mean) / trace, middle = norms.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(norms.reduce((a, x) => a + (x - middle) ** 2, 0) / n);
  const within = (name, value, reference) => ({ name, value, reference, allowed: RATIO_BAR * reference, holds: value <= RATIO_BAR * reference });
  const bar = (RATIO_BAR * d) / n + MEAN_BAR;
  return [
    { name: "‖mean‖²·d/TrΣ", value: offset, reference: d / n, allowed: bar, holds: offset <= bar },
    { name: "TrΣ/d", value: trace, reference: 1, allowed: 1 + SCALE_BAR, holds: Math.abs(trace - 1) <= SCALE_BAR },
    { name: "‖Σ‖·d/TrΣ", value: values[0] / trace, reference: 1, allowed: COVARIANCE_BAR, holds: values[0] <= COVARIANCE_BAR * trace },
    within("sd of ‖x‖²/d", deviation, norm_sd),
    within("max |‖x‖²/d − 1|", widest, norm_sd * Math.sqrt(2 * Math.log(2 * n))),
    within("rms of ⟨x, x′⟩/d", Math.sqrt(dot(overlaps, overlaps) / overlaps.length), overlap_sd),
    within("max |⟨x, x′⟩|/d", strongest, overlap_sd * Math.sqrt(2 * Math.log(2 * overlaps.length))),
  ];
}

/** ⟨x, x′⟩ over all pairs of different examples, or over drawn ones; the draws are NumPy's. */
function overlap(X) {
  const n = X.length;
  if ((n * (n - 1)) / 2 <= PAIRS) return Float64Array.from(X.flatMap((x, i) => X.slice(i + 1).map((y) => dot(x, y))));
  const rng = new Generator(0), first = Array.from({ length: PAIRS }, () => rng.below(n));
  return Float64Array.from(first, (i) => dot(X[i], X[(i + 1 + rng.below(n - 1)) % n]));
}
