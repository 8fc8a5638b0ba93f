// Functions that Math lacks, to rounding. Errors speak the package's dialect: "name must hold …; got …".

/**
 * (e^x − 1)/x, continued by 1 at x = 0.
 * @param {number} x
 * @returns {number}
 */
export function exprel(x) {
  return Math.abs(x) < 1e-16 ? 1 : Math.expm1(x) / x;
}

/**
 * log(1 + x)/x, continued by 1 at x = 0.
 * @param {number} x
 * @returns {number}
 */
export function log1p_ratio(x) {
  return x === 0 ? 1 : Math.log1p(x) / x;
}

/**
 * The value kept between two bounds.
 * @param {number} x
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export function clip(x, low, high) {
  return Math.min(Math.max(x, low), high);
}

/**
 * Refuses an argument that is out of range.
 * @param {boolean} good
 * @param {string} name
 * @param {string} words what is allowed
 * @param {unknown} got
 */
export function insist(good, name, words, got) {
  if (!good) throw new RangeError(`${name} must hold ${words}; got ${got}`);
}

/**
 * A function of numbers as one of numbers or equally long arrays, entry by entry.
 * @param {(...x: any[]) => any} f
 * @returns {(...x: any[]) => any}
 */
export function elementwise(f) {
  return (...given) => {
    /** @type {any[]} */
    const lists = given.filter((x) => Array.isArray(x) || ArrayBuffer.isView(x));
    if (!lists.length) return f(...given);
    const n = lists[0].length;
    if (lists.some((x) => x.length !== n)) {
      throw new RangeError(`the arguments must be numbers or equally long arrays; got lengths ${lists.map((x) => x.length)}`);
    }
    return Array.from({ length: n }, (_, i) => f(...given.map((x) => (lists.includes(x) ? x[i] : x))));
  };
}

const ERFC_TERMS = 120; // of the continued fraction at x = 2; fewer are needed beyond

/**
 * The error function: Taylor's series of e^{x²} erf(x), all of one sign, below 2, and 1 − erfc beyond.
 * @param {number} x
 * @returns {number}
 */
export function erf(x) {
  const size = Math.abs(x);
  if (size >= 2) return Math.sign(x) * (1 - erfc(size));
  let term = size, total = size;
  for (let k = 1; term > 1e-18 * total; k++) {
    term *= (2 * size * size) / (2 * k + 1);
    total += term;
  }
  return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * Math.exp(-size * size) * total;
}

/**
 * 1 − erf(x), without cancellation for large x: Laplace's continued fraction from 2 on.
 * @param {number} x
 * @returns {number}
 */
export function erfc(x) {
  if (x < 2) return 1 - erf(x);
  let fraction = 0;
  for (let k = ERFC_TERMS; k > 0; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

/**
 * The distribution function of a standard normal variable.
 * @param {number} x
 * @returns {number}
 */
export function ndtr(x) {
  return x < -1 ? erfc(-x / Math.SQRT2) / 2 : (1 + erf(x / Math.SQRT2)) / 2;
}

/**
 * Nodes and weights of Gauss–Legendre quadrature on [0, 1], by Newton's iteration on Legendre's polynomial.
 * @param {number} n
 * @returns {{nodes: number[], weights: number[]}}
 */
export function gauss_legendre(n) {
  const nodes = [], weights = [];
  for (let i = 0; i < n; i++) {
    let x = -Math.cos((Math.PI * (i + 0.75)) / (n + 0.5)), slope = 1;
    for (let round = 0; round < 10; round++) {
      let before = 1, now = x;
      for (let k = 2; k <= n; k++) [before, now] = [now, ((2 * k - 1) * x * now - (k - 1) * before) / k];
      slope = (n * (x * now - before)) / (x * x - 1);
      x -= now / slope;
    }
    nodes.push((1 + x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  return { nodes, weights };
}
