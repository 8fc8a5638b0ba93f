// The Gaussian constants of an activation, and the linear twin that they make of a network (Hu et al. 2020).
// The counterpart of lineament.theory.twin_constants and lineament.theory.twin.
import { dot, multiply, svd, transpose, triangle } from "./linalg.js";
import { erf, gauss_legendre, ndtr } from "./special.js";

const REACH = 12; // beyond so many standard deviations a Gaussian weighs less than 1e-31
const ROOT_PI = Math.sqrt(Math.PI), ROOT_2PI = Math.sqrt(2 * Math.PI);
const TAIL = Math.exp(0.5) * ndtr(-1); // E[e^g; g < 0]

/**
 * @typedef {object} Constants
 * @property {number} zeta
 * @property {number} theta0
 * @property {number} theta1
 * @property {number} theta2
 */

/** Activations by name: the function, and its slopes (a, b) if it is linear on either side of 0. */
export const ACTIVATIONS = {
  elu: { function: (z) => (z < 0 ? Math.expm1(z) : z) },
  erf: { function: erf },
  gelu: { function: (z) => z * ndtr(z) },
  leaky_relu: { function: (z) => (z < 0 ? 0.01 * z : z), slopes: [0.01, 1] },
  linear: { function: (z) => z, slopes: [1, 1] },
  relu: { function: (z) => Math.max(z, 0), slopes: [0, 1] },
  sigmoid: { function: (z) => 1 / (1 + Math.exp(-z)) },
  softplus: { function: (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) },
  tanh: { function: Math.tanh },
};

const CLOSED = {
  elu: [0.5 + TAIL, 1 / ROOT_2PI + TAIL - 0.5, TAIL, TAIL - 0.5 / ROOT_2PI],
  erf: [2 / (Math.sqrt(3) * ROOT_PI), 0, 0, 0],
  gelu: [0.5, 0.5 / ROOT_PI, 0.75 / ROOT_PI, 0.0625 / ROOT_PI],
};

/** @param {number[]} found */
const named = ([zeta, theta0, theta1, theta2]) => ({ zeta, theta0, theta1, theta2 });

/**
 * ζ, ϑ0, ϑ1, ϑ2: closed form where one is known, otherwise `quadrature`.
 * @param {string} activation
 * @returns {Constants}
 */
export function constants(activation) {
  if (!(activation in ACTIVATIONS)) {
    throw new RangeError(`activation must be one of ${Object.keys(ACTIVATIONS).join(", ")}; got ${activation}`);
  }
  if (activation in CLOSED) return named(CLOSED[activation]);
  const { slopes } = ACTIVATIONS[activation];
  if (!slopes) return quadrature(activation);
  const [left, right] = slopes, jump = (right - left) / ROOT_2PI;
  return named([(left + right) / 2, jump, jump, 0]);
}

/**
 * ζ, ϑ0, ϑ1, ϑ2 by Gauss–Legendre panels of half a standard deviation; a kink at 0 lies between two of them.
 * @param {string} activation
 * @returns {Constants}
 */
export function quadrature(activation) {
  const { nodes, weights } = gauss_legendre(20), phi = ACTIVATIONS[activation].function, sums = [0, 0, 0, 0];
  const size = 0.5;
  for (let panel = -REACH; panel < REACH; panel += size) {
    nodes.forEach((node, i) => {
      const z = panel + size * node, weight = (size * weights[i] * phi(z) * Math.exp((-z * z) / 2)) / ROOT_2PI;
      [z, 1, z * z - 1, z ** 4 / 2 - 2.5 * z * z + 1].forEach((p, k) => { sums[k] += p * weight; });
    });
  }
  return named(sums);
}

/**
 * TrΣ²/d without bias, for inputs of mean 0.
 * @param {Float64Array[]} X
 */
export function covariance_spread(X) {
  const n = X.length, d = X[0].length;
  if (n < 2) throw new RangeError(`x must hold at least two examples to estimate TrΣ²; got ${n}`);
  const T = transpose(X);
  const gram = d <= n ? multiply(T, X) : multiply(X, T);
  const own = X.reduce((sum, x) => sum + dot(x, x) ** 2, 0);
  return Math.max(gram.reduce((sum, row) => sum + dot(row, row), 0) - own, 0) / (n * (n - 1) * d);
}

/**
 * @typedef {object} FeatureMap ψ(x) = [linear·x/√d; constant/√d; norm₀ + norm₁ρ + norm₂ρ²], ρ = ‖x‖/√d − 1
 * @property {number} linear
 * @property {number} constant
 * @property {number[]} norm
 */

/**
 * The features of the twin of a two-layer network: kernel first·Θ^lin1 + second·Θ^lin2.
 * @param {string} activation
 * @param {number} spread TrΣ²/d of the inputs
 * @param {number} [first]
 * @param {number} [second]
 * @returns {FeatureMap}
 */
export function feature_map(activation, spread, first = 1, second = 1) {
  for (const [name, x] of Object.entries({ spread, first, second })) {
    if (!(x >= 0 && x < Infinity)) throw new RangeError(`${name} must be finite and not negative; got ${x}`);
  }
  const { zeta, theta0, theta1, theta2 } = constants(activation), root = Math.sqrt(second);
  return {
    linear: Math.sqrt(first + second) * zeta,
    constant: Math.sqrt(first + second / 2) * theta1 * Math.sqrt(spread),
    norm: [root * theta0, root * theta1, root * theta2],
  };
}

/** The features of inputs (n × d), as n × (d + 2). */
export function features(psi, X) {
  const root = Math.sqrt(X[0].length);
  return X.map((x) => {
    const rho = Math.sqrt(dot(x, x)) / root - 1, row = new Float64Array(x.length + 2);
    for (let j = 0; j < x.length; j++) row[j] = (psi.linear / root) * x[j];
    row[x.length] = psi.constant / root;
    row[x.length + 1] = psi.norm[0] + rho * (psi.norm[1] + rho * psi.norm[2]);
    return row;
  });
}

/** A linear model on given features, trained by gradient descent from zero on Σ(f − y)²/(2n). */
export class Twin {
  /**
   * @param {Float64Array[]} X inputs, n × d
   * @param {ArrayLike<number>} y labels
   * @param {FeatureMap} psi
   * @param {number} step_size η > 0
   */
  constructor(X, y, psi, step_size) {
    if (!(step_size > 0 && step_size < Infinity)) throw new RangeError(`step_size must be positive and finite; got ${step_size}`);
    this.psi = psi;
    this.step_size = step_size;
    this.n = X.length;
    this.dimension = X[0].length;
    const Psi = features(psi, X), width = Psi[0].length;
    // QR of [ψ, y] keeps all that matters of n examples in d + 3 rows.
    const R = triangle(Psi.map((row, i) => Float64Array.from([...row, y[i]])));
    const A = R.map((row) => row.slice(0, width)), b = R.map((row) => row[width]), { U, s, V } = svd(A);
    const kept = s.filter((x) => x > 2 ** -52 * Math.max(this.n, width) * s[0]).length;
    /** @type {Float64Array} */ this.scales = s.slice(0, kept);
    /** @type {Float64Array[]} */ this.directions = transpose(V).slice(0, kept);
    this.parts = Float64Array.from({ length: kept }, (_, k) => U.reduce((sum, row, i) => sum + row[k] * b[i], 0));
    const inside = b.map((_, i) => dot(U[i].slice(0, kept), this.parts));
    this.out_of_reach = b.reduce((sum, x, i) => sum + (x - inside[i]) ** 2, 0);
    this.rates = this.scales.map((x) => (step_size * x * x) / this.n);
  }

  /** Whether descent at this step converges. */
  get stable() {
    return this.rates.every((rate) => rate < 2);
  }

  /** What is learnt of every mode after t steps, a whole number or Infinity. */
  learnt(t) {
    if (!(t >= 0 && (t === Infinity || t === Math.floor(t)))) {
      throw new RangeError(`t must be whole numbers of steps from 0 on, or infinity; got ${t}`);
    }
    if (t === Infinity && !this.stable) {
      throw new RangeError(`t = inf needs a step at which descent converges; the largest rate is ${this.rates[0]}`);
    }
    return this.parts.map((part, k) => gain(t, this.rates[k]) * part);
  }

  /** Σ(f − y)²/(2n) on the training examples after t steps. */
  loss(t) {
    return (this.learnt(t).reduce((sum, x, k) => sum + (this.parts[k] - x) ** 2, 0) + this.out_of_reach) / (2 * this.n);
  }

  /** The same on other examples: summed up once, so that the cost of each time does not depend on their number. */
  prepare(X, y) {
    const along = multiply(features(this.psi, X), transpose(this.directions)), modes = this.parts.length;
    const R = triangle(along.map((row, i) => Float64Array.from([...row, y[i]])));
    const rows = R.map((row) => row.slice(0, modes)), goal = R.map((row) => row[modes]);
    return (t) => {
      const weights = this.learnt(t).map((x, k) => x / this.scales[k]);
      return rows.reduce((sum, row, i) => sum + (dot(row, weights) - goal[i]) ** 2, 0) / (2 * X.length);
    };
  }

  /** The outputs on X after t steps. */
  predict(t, X) {
    const weights = this.learnt(t).map((x, k) => x / this.scales[k]);
    return multiply(features(this.psi, X), transpose(this.directions)).map((row) => dot(row, weights));
  }

  /** T = c·d log d/η, the number of steps until which Theorems 3.2 and 3.5 speak. */
  horizon(c = 1) {
    return (c * this.dimension * Math.log(this.dimension)) / this.step_size;
  }
}

/**
 * The twin of a two-layer network trained with steps η1, η2.
 * @param {Float64Array[]} X
 * @param {ArrayLike<number>} y
 * @param {string} activation
 * @param {number} first_step_size
 * @param {number} second_step_size
 * @param {number} [spread]
 */
export function two_layer(X, y, activation, first_step_size, second_step_size, spread) {
  const step = Math.max(first_step_size, second_step_size);
  if (!(first_step_size >= 0 && second_step_size >= 0 && step > 0 && step < Infinity)) {
    throw new RangeError(
      `first_step_size and second_step_size must be finite, none negative, not both 0; got ${first_step_size} and ${second_step_size}`,
    );
  }
  const psi = feature_map(activation, spread ?? covariance_spread(X), first_step_size / step, second_step_size / step);
  return new Twin(X, y, psi, step);
}

/** 1 − (1 − rate)^t, also for tiny rates and for rates above 1, where the sign alternates. */
function gain(t, rate) {
  if (t === 0) return 0;
  const exponent = t * (rate <= 1 ? Math.log1p(-rate) : Math.log(rate - 1)), found = -Math.expm1(exponent);
  return rate > 1 && t % 2 === 1 ? 2 - found : found;
}
