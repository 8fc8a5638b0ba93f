// A mode at two thousand times within a twentieth of a millisecond. In the coordinates of modes.js all modes of one depth run
// along one and the same curve, each from a place of its own: the curve is tabulated once (mode_table.js), and every mode is
// read off it.
import { far_table, near_table, over, place } from "./mode_table.js";
import { check, coordinates, far, move, near_time, SEAM, VANISHED } from "./modes.js";
import { clip } from "./special.js";

/**
 * Fills σ and σ* − σ at rising times.
 * @param {Float64Array} times rising
 * @param {number} target
 * @param {number} start
 * @param {number} depth
 * @param {Float64Array} sigma filled
 * @param {Float64Array} left filled
 */
export function fill(times, target, start, depth, sigma, left) {
  check("t", 0, target, start, depth);
  if (start === target || start === 0 || target === 0) {
    for (let i = 0; i < times.length; i++) [sigma[i], left[i]] = move(times[i], target, start, depth);
  } else if (depth === 1) straight(times, target, start, sigma, left);
  else along(times, target, start, depth, sigma, left);
}

/** Depth 1, in elementary functions. */
function straight(times, target, start, sigma, left) {
  for (let i = 0; i < times.length; i++) {
    const gone = Math.expm1(-times[i]);
    sigma[i] = start + (start - target) * gone;
    left[i] = (target - start) * (1 + gone);
  }
}

function along(times, target, start, depth, sigma, left) {
  const { side, a, odds, v0, rate } = coordinates(target, start, depth), span = v0 - SEAM, k = a + (side > 0 ? 1 : 0), n = times.length;
  const stretch = (1 + odds) ** a, seam = span > 0 ? far(span, v0, a) : 0, low = Math.min(start, target), high = Math.max(start, target);
  let i = 0;
  for (; i < n && !(times[i] > 0); i++) {
    sigma[i] = start;
    left[i] = target - start;
  }
  if (span > 0) {
    const table = far_table(a, v0, side), { time, terms } = table, first = place(table, v0, seam * stretch), fold = -side;
    let at = table.count - 1;
    for (; i < n && rate * times[i] < seam; i++) {
      const there = first - rate * times[i] * stretch;
      while (at > 0 && time[at] > there) at--;
      const x = over(terms, 6 * at, (there - time[at]) / (time[at + 1] - time[at])); // e^{−v}
      sigma[i] = clip(fold > 0 ? target * x : target / x, low, high);
      left[i] = target - sigma[i];
    }
  }
  // A start on this side of the seam begins late on the curve.
  const { count, time, terms, last } = near_table(k, side), begin = span > 0 ? 0 : near_time(v0, -span, k, side);
  for (let at = 0; i < n; i++) {
    const tau = begin + Math.min((rate * times[i] - seam) * stretch, VANISHED);
    while (at < count && time[at + 1] <= tau) at++;
    const y = at < count ? over(terms, 6 * at, (tau - time[at]) / (time[at + 1] - time[at])) : last * Math.exp(time[count] - tau);
    const whole = target / (1 - y); // y = 1 − e^{−side·v}
    sigma[i] = clip(whole, low, high);
    left[i] = -whole * y;
  }
}
