// Dormand & Prince's method of order 5(4) with adaptive steps and its continuous extension of order 4.

const A = [
  [], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
];
const B = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84];
const E = [-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40];
const P = [
  [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
  [0, 0, 0, 0],
  [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
  [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
  [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
  [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
  [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
];

/**
 * @typedef {object} Step one accepted step
 * @property {number} before its first time
 * @property {number} time its last
 * @property {Float64Array} y the solution there
 * @property {(t: number) => Float64Array} at the solution in between
 */

/**
 * The steps of a solution of ẏ = f(y) from time 0, one at a time.
 * @param {(y: Float64Array) => Float64Array} f
 * @param {Float64Array} y0
 * @param {number} until
 * @param {number} rtol
 * @param {number} atol
 * @returns {Generator<Step>}
 */
export function* steps(f, y0, until, rtol, atol) {
  const n = y0.length;
  let t = 0, y = y0.slice(), k0 = f(y), h = first_step(f, y, k0, until, rtol, atol);
  while (t < until) {
    h = Math.min(h, until - t);
    if (!(h > 1e-14 * Math.max(t, 1e-300))) throw new RangeError(`the flow could not be followed beyond t = ${t}`);
    const K = [k0], z = new Float64Array(n);
    for (let stage = 1; stage < 6; stage++) {
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < stage; j++) sum += A[stage][j] * K[j][i];
        z[i] = y[i] + h * sum;
      }
      K.push(f(z));
    }
    const next = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < 6; j++) sum += B[j] * K[j][i];
      next[i] = y[i] + h * sum;
    }
    K.push(f(next));
    let error = 0;
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += E[j] * K[j][i];
      error += ((h * sum) / (atol + rtol * Math.max(Math.abs(y[i]), Math.abs(next[i])))) ** 2;
    }
    error = Math.sqrt(error / n);
    if (!(error < 1)) {
      h *= error === error ? Math.max(0.2, 0.9 * error ** -0.2) : 0.2;
      continue;
    }
    const from = t, start = y, length = h;
    t = until - t - h <= 1e-15 * until ? until : t + h;
    y = next;
    k0 = K[6];
    h *= error > 0 ? Math.min(10, Math.max(0.2, 0.9 * error ** -0.2)) : 10;
    yield { before: from, time: t, y, at: (time) => between(start, K, length, (time - from) / length) };
  }
}

/** Hairer's rule. */
function first_step(f, y, k0, until, rtol, atol) {
  const size = (v) => Math.sqrt(v.reduce((sum, x, i) => sum + (x / (atol + rtol * Math.abs(y[i]))) ** 2, 0) / v.length);
  const d0 = size(y), d1 = size(k0), h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : (0.01 * d0) / d1;
  const k1 = f(y.map((x, i) => x + h0 * k0[i])), d2 = size(k1.map((x, i) => x - k0[i])) / h0;
  const h1 = Math.max(d1, d2) <= 1e-15 ? Math.max(1e-6, h0 * 1e-3) : (0.01 / Math.max(d1, d2)) ** 0.2;
  return Math.min(100 * h0, h1, until);
}

function between(y, K, h, x) {
  return y.map((value, i) => {
    let sum = 0;
    for (let j = 0; j < 7; j++) sum += K[j][i] * x * (P[j][0] + x * (P[j][1] + x * (P[j][2] + x * P[j][3])));
    return value + h * sum;
  });
}
