// When to stop: expected test loss along a path, from the spectrum and the noise.
// The counterpart of lineament.forecasting.stopping.

const WINDOW = 0.05; // the window holds the times within this share of the least loss
const NO_RISE = 1e-3; // a rise by less than this share is none
const SAVES_LITTLE = 0.01;

/**
 * The expected test loss along a path.
 * @param {import("./paths.js").Path} path
 * @param {number[]} seen d_j ‖ŵ_j‖², the signal and noise that least squares sees in every component
 * @param {number[]} variance the noise among it
 * @param {number} noise the variance of the labels around the truth, summed over outputs
 * @param {number} n examples
 */
export function stopping(path, seen, variance, noise, n) {
  const floor = noise * (1 + 1 / n), total = variance.reduce((a, b) => a + b, 0), final = 0.5 * (floor + total);
  const loss = path.share.map((g, i) => {
    const excess = seen.reduce((sum, s, j) => sum + (1 - g[j]) ** 2 * (s - variance[j]) + g[j] ** 2 * variance[j], 0);
    return 0.5 * (floor + excess + path.spill[i]);
  });
  const last = loss.length - 1, i = loss.indexOf(Math.min(...loss));
  if (final <= loss[i] * (1 + NO_RISE)) {
    const near = loss.findIndex((x) => x <= (1 + WINDOW) * final);
    return summed(noise, loss, Infinity, [path.time[near < 0 ? last : near], Infinity], final, final, true);
  }
  const close = (k) => loss[k] <= (1 + WINDOW) * loss[i];
  let first = i, after = i;
  while (first > 0 && close(first - 1)) first--;
  while (after < last && close(after + 1)) after++;
  const to_the_end = after === last && final <= (1 + WINDOW) * loss[i];
  return summed(noise, loss, path.time[i], [path.time[first], to_the_end ? Infinity : path.time[after]], loss[i], final, i < last);
}

function summed(noise, loss, best, window, least, final, within_range) {
  const gain = final > 0 ? 1 - least / final : 0;
  return { noise, loss, best, window, least, final, gain, within_range, train_to_the_end: gain < SAVES_LITTLE };
}
