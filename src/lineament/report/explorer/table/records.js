// Records along a flow, at times that belong to the flow and not to the solver: each is taken where a component that counts has
// moved by a given share since the one before, or where time has grown by it. The counterpart of lineament.forecasting.records,
// so that page and package read the same numbers off their own solutions.

const AFTER = 1e-10; // a passage is looked at so much later, as a share of its time, that it has taken place to rounding

/** @typedef {{t: number, share: Float64Array, spill: number, left: number}} Moment */

/**
 * Runs a solver to its end or until enough is learnt; yields the share of the loss that is left.
 * @param {Generator<import("../theory/ode.js").Step>} flow
 * @param {Moment} begin
 * @param {(t: number, w: Float64Array) => Moment} look
 * @param {boolean[]} heavy the components that decide how close the records are
 * @param {number} fine how far these, and time, may move between two records
 * @param {number} first the time of the first record after the start, at the latest
 * @param {((now: Moment) => number) | null} ahead what is still to be learnt; null to run to the end
 * @returns {Generator<number, Moment[]>}
 */
export function* follow(flow, begin, look, heavy, fine, first, ahead) {
  const records = [begin];
  let end = begin;
  for (const step of flow) {
    const at = (t) => look(t, step.at(t));
    end = look(step.time, step.y);
    const enough = ahead !== null && ahead(end) <= 0;
    if (enough) end = at(passage((t) => ahead(at(t)), step.before, end.t));
    between(records, end, at, step.before, heavy, fine, first);
    if (enough) break;
    yield end.left / begin.left;
  }
  if (records[records.length - 1].t < end.t) records.push(end);
  return records;
}

/** Adds the records within a step of the solver, which began at `since`. */
function between(records, end, at, since, heavy, fine, first) {
  for (;;) {
    const last = records[records.length - 1], latest = Math.max((1 + fine) * last.t, first);
    const moved = (to) => to.share.reduce((most, g, j) => (heavy[j] ? Math.max(most, Math.abs(g - last.share[j])) : most), 0);
    let to = end.t <= latest ? end : at(latest);
    if (moved(to) > fine) to = at(passage((t) => fine - moved(at(t)), since, to.t));
    else if (end.t < latest) return;
    records.push(to);
    since = Math.max(since, to.t);
  }
}

/** Just after the time at which a function falls through zero: regula falsi, as Illinois has it. */
function passage(f, low, high) {
  const least = low, most = high;
  let a = f(low), b = f(high), kept = 0;
  if (a <= 0) return least;
  for (let round = 0; round < 100 && high - low > 1e-12 * most; round++) {
    const t = Math.min(Math.max(high - (b * (high - low)) / (b - a), low + 1e-13 * most), high - 1e-13 * most), x = f(t);
    if (x > 0) {
      low = t;
      a = x;
      if (kept === 1) b /= 2;
      kept = 1;
    } else {
      high = t;
      b = x;
      if (kept === -1) a /= 2;
      kept = -1;
    }
  }
  return Math.min(high * (1 + AFTER), most);
}
