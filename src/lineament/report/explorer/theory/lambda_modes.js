// Exact solution of one mode of a two-layer network whose layers differ by a conserved λ: σ̇ = √(λ² + 4σ²)(σ* − σ).
// The counterpart of lineament.theory.lambda_modes, whose docstring derives every step.
import { clip, insist } from "./special.js";

/**
 * The mode σ(t).
 * @param {number} t time ≥ 0, Infinity allowed
 * @param {number} target σ*, any sign
 * @param {number} start σ₀, any sign
 * @param {number} balance λ, any sign
 * @returns {number}
 */
export function trajectory(t, target, start, balance) {
  return solution(t, target, start, balance)[0];
}

/**
 * What is left to learn, σ* − σ(t), to full relative precision however late.
 * @param {number} t
 * @param {number} target
 * @param {number} start
 * @param {number} balance
 * @returns {number}
 */
export function residual(t, target, start, balance) {
  return solution(t, target, start, balance)[1];
}

/**
 * The mode's tangent kernel k = a² + b² = √(λ² + 4σ²).
 * @param {number} sigma
 * @param {number} balance
 * @returns {number}
 */
export function kernel(sigma, balance) {
  return Math.hypot(balance, 2 * sigma);
}

/**
 * The time at which σ(t) = value; Infinity where it is only approached, NaN where σ never goes.
 * @param {number} value
 * @param {number} target
 * @param {number} start
 * @param {number} balance
 * @returns {number}
 */
export function time_to(value, target, start, balance) {
  finite({ value, target, start, balance });
  const flip = target < 0 ? -1 : 1, scale = Math.abs(balance);
  const at = flip * value, goal = flip * target, origin = flip * start;
  if (at === origin) return 0;
  const limit = scale === 0 && origin <= 0 ? Math.min(goal, 0) : goal; // a balanced mode cannot leave or cross zero
  if (!(Math.min(origin, limit) < at && at < Math.max(origin, limit))) return at === limit ? Infinity : NaN;
  // Far below zero P is small and N does the same work: the equation for N is that for P with all signs flipped.
  const sign = origin < 0 ? -1 : 1;
  const k = kernel(at, scale), k0 = kernel(origin, scale), kappa = kernel(goal, scale);
  const P = square(sign * at, scale), P0 = square(sign * origin, scale), end = square(sign * goal, scale);
  const other = square(-sign * goal, scale);
  const done = (at - origin) / (goal - origin), left = (goal - at) / (goal - origin);
  const tau = (2 * done * ((P + P0) / (k + k0)) * ((kappa + k0) / (end + P0))) / (P + other);
  if (!(kappa * tau < 0.5)) {
    const q = left * (P / (P + other)) * ((P0 + other) / P0) * ((P0 + other) / (P + other));
    return -Math.log(q) / kappa;
  }
  return (kappa * tau > 0 ? Math.log1p(-kappa * tau) / (-kappa * tau) : 1) * tau;
}

/**
 * The share of the way from start to target that is learnt before the kernel changes by a factor 1 + change.
 * @param {number} target
 * @param {number} start
 * @param {number} balance
 * @param {number} [change]
 * @returns {number}
 */
export function laziness(target, start, balance, change = 0.1) {
  finite({ target, start, balance, change });
  insist(change > 0, "change", "numbers above 0", change);
  const distance = Math.abs(target - start);
  if (distance === 0) return 1;
  const k0 = kernel(start, balance);
  if (k0 === 0) return 0;
  const origin = target < start ? -start : start, size = Math.abs(start);
  const up = (k0 / 2) * Math.sqrt(change * (2 + change)), down = up / (1 + change);
  const rise = Math.hypot(start, up), fall = Math.sqrt(Math.max((size - down) * (size + down), 0));
  const above = up * (up / (rise + origin));
  const below = size >= down ? down * (down / (size + fall)) : rise + size;
  return Math.min((origin >= 0 ? above : below) / distance, 1);
}

/**
 * The sizes of the mode in both layers, b in the first and |a| in the second, from σ = ab and λ = a² − b².
 * @param {number} sigma
 * @param {number} balance
 * @returns {{first: number, second: number}}
 */
export function layer_sizes(sigma, balance) {
  const large = Math.sqrt((kernel(sigma, balance) + Math.abs(balance)) / 2);
  const small = large > 0 ? Math.abs(sigma) / large : 0;
  return balance > 0 ? { first: small, second: large } : { first: large, second: small };
}

/**
 * Singular values of both layers after training from W1 = √(2γ)P, W2 = 0 (Varre et al. 2023, Corollary, corrected).
 * @param {number[]} values singular values of the target, at most input_size of them
 * @param {number} gamma γ ≥ 0
 * @param {number} input_size d
 * @returns {{W1: number[], W2: number[]}}
 */
export function final_layer_singular_values(values, gamma, input_size) {
  if (values.length > input_size || values.some((x) => !(x >= 0 && x < Infinity))) {
    throw new RangeError(`target_singular_values must be none negative and no more than input_size; got ${values}`);
  }
  if (!(gamma >= 0 && gamma < Infinity)) throw new RangeError(`gamma must be a finite number of at least 0; got ${gamma}`);
  const all = Array.from({ length: input_size }, (_, i) => values[i] ?? 0).sort((x, y) => y - x);
  const W1 = all.map((x) => Math.sqrt(Math.hypot(x, gamma) + gamma));
  return { W1, W2: all.slice(0, values.length).map((x, i) => (W1[i] > 0 ? x / W1[i] : 0)) };
}

/** σ(t) and σ* − σ(t). */
function solution(t, target, start, balance) {
  insist(t >= 0, "t", "times of at least 0", t);
  finite({ target, start, balance });
  if (t === 0) return [start, target - start];
  const flip = target < 0 ? -1 : 1, goal = flip * target, origin = flip * start, scale = Math.abs(balance);
  const k0 = kernel(origin, scale), kappa = kernel(goal, scale);
  const P0 = square(origin, scale), N0 = square(-origin, scale), still = kappa === 0;
  const q = still ? 1 : Math.exp(-kappa * t), tau = still ? t : -Math.expm1(-kappa * t) / kappa;
  const pi = still ? 1 : square(goal, scale) / kappa, nu = still ? 1 : square(-goal, scale) / kappa;
  const alpha = nu + pi * q + (P0 > 0 ? P0 * tau : 0), beta = pi + nu * q + (N0 > 0 ? N0 * tau : 0);
  const P = P0 > 0 ? P0 * (beta / alpha) : 0, N = N0 > 0 ? N0 * (alpha / beta) : 0;
  const stuck = nu + P0 === 0; // the stable manifold of the saddle at zero: P = 0 for ever, and N → 0
  const left = stuck ? goal + N / 4 : ((4 * (q / alpha)) / beta) * (goal - origin);
  let sigma;
  if (left === 0 || origin === goal) sigma = goal;
  else if (origin >= 0 && origin <= goal && !stuck) {
    sigma = (origin * (alpha / beta + beta / alpha)) / 2 + k0 * tau * (goal - origin) * (1 / alpha + 1 / beta);
  } else if (stuck || 4 * (goal + Math.abs(left)) > P + N) sigma = (P - N) / 4;
  else sigma = goal - left;
  return [flip * clip(sigma, Math.min(origin, goal), Math.max(origin, goal)), flip * left];
}

/** (a + b)² = k + 2σ, without cancellation for negative σ. */
function square(sigma, scale) {
  const large = Math.hypot(scale, 2 * sigma) + 2 * Math.abs(sigma);
  return sigma >= 0 ? large : scale * (scale / (large === 0 ? 1 : large));
}

function finite(named) {
  for (const [name, x] of Object.entries(named)) insist(Number.isFinite(x), name, "finite numbers", x);
}
