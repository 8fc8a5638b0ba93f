// A forecast in words: the sentences that `lineament forecast` prints. The counterpart of forecasting/words.py.
import { MATTERS } from "./paths.js";
import { three } from "./premises.js";

const SHOWN = 12;

/** The least share of what can be learnt that counts as having learnt anything. */
const LEARNS = 0.01;

/** A whole number with its thousands set apart; a dash for what does not happen. */
export const count = (x) => (Number.isFinite(x) ? even(x).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f") : "–");

/** A count with its noun, in the singular for one. The counterpart of core/words.py. */
const several = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Python's rounding: halves to the even number. */
const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

/** A share as a percentage, with one more digit where it would read 0 % or 100 % and is not. */
const part = (share) => percent(share, (0.0005 <= share && share < 0.005) || (0.995 <= share && share < 0.9995) ? 1 : 0);

/** A loss to three digits, in plain figures as long as there are few of them. */
const loss = (value) => (value >= 1000 && value < 1e6 ? count(Number(value.toPrecision(3))) : three(value));

export const kind = (made) => (made.whiten ? "mode" : "component");

/** The components that explain most, in the order in which they are half learnt. */
export function listed(made) {
  const most = [...made.components].sort((a, b) => b.explained - a.explained).slice(0, SHOWN);
  return most.sort((a, b) => (a.half === b.half ? a.number - b.number : a.half - b.half));
}

export const made_of = (pairs) => pairs.map(([name, weight]) => `${weight >= 0 ? "+" : "−"}${name}`).join(", ");

const matters = (made, each) => each.explained >= MATTERS * made.components.reduce((sum, c) => sum + c.explained, 0);

/** The step after which a share of what can be learnt is learnt; infinity if not in the range. */
export function step_when(made, share) {
  const { left, time } = made.path, i = left.findIndex((x) => 1 - x / left[0] >= share);
  return i < 0 ? Infinity : time[i] / made.step_size;
}

export function data(made) {
  const k = made.outputs.length, what = made.classes ? `${k} classes` : k === 1 ? "one target" : `${k} targets`;
  return `${count(made.rows)} examples, ${several(made.features.length, "feature")}, ${what}. A linear map can explain ${part(made.explained)} of the target's variance in these examples.`;
}

export function pace(made) {
  if (made.step_size > made.largest_stable_step_size) return beyond(made);
  const at = `At step size ${three(made.step_size)}`;
  if (made.learnt < LEARNS) return `${at} hardly anything is learnt in ${several(made.steps, "step")}.`;
  const half = step_when(made, 0.5), most = step_when(made, 0.99);
  const end = most < Infinity ? `99 % of the way by step ${count(most)}` : `${percent(made.learnt)} of the way by step ${count(made.steps)}`;
  return `${at} the training loss goes ${half < Infinity ? `half of the way by step ${count(half)} and ` : ""}${end} to the least that a linear map has.`;
}

export function first(made) {
  const all = listed(made);
  if (made.step_size > made.largest_stable_step_size) return "All times below are those of gradient flow, which descent does not follow at this step size.";
  if (all[0].half === Infinity) return `No ${kind(made)} is half learnt within this range.`;
  const each = all.find((c) => matters(made, c)) ?? all[0];
  if (each.half === Infinity) return `No ${kind(made)} that matters is half learnt within this range.`;
  return `First comes ${kind(made)} ${each.number} (${made_of(each.features)}), which explains ${percent(each.explained, 1)} of the target's variance: half learnt by step ${count(each.half_step)}.`;
}

export function order(made) {
  if (!made.phases.length) {
    if (made.components.every((each) => each.half === Infinity)) return "";
    const several_matter = made.components.filter((each) => matters(made, each)).length > 1;
    if (several_matter) return `No two ${kind(made)}s that matter are half learnt within this range: there are no phases to compare.`;
    return `Only one ${kind(made)} matters: there are no phases to tell apart.`;
  }
  const pairs = made.phases.length, apart = made.phases.filter((phase) => phase.separated).length;
  const strictly = "learnt strictly one after the other (90 % of the first before 10 % of the second)";
  if (pairs === 1) return `The two ${kind(made)}s that matter are ${apart ? "" : "not "}${strictly}.`;
  const number = apart === 0 ? "none is" : apart === 1 ? "one is" : apart === pairs ? "all are" : `${apart} are`;
  return `Of ${pairs} successive pairs of ${kind(made)}s that matter, ${number} ${strictly}.`;
}

/** What becomes of steps above the largest that the balanced optimum bears: the forecast of the flow ends there. */
function beyond(made) {
  const above = `The step size ${three(made.step_size)} is above ${three(made.largest_stable_step_size)}, the largest stable one`;
  if (made.depth === 1) return `${above}: descent diverges.`;
  return `${above} at the balanced optimum: the forecast ends there. Descent settles at a flatter, unbalanced optimum, ends in a cycle, or diverges; lineament forecast says which can be.`;
}

/** When to stop, by the theory of a fixed design: the page holds no rows out. */
export function stop(made) {
  const found = made.stopping, steps = (time) => count(time / made.step_size);
  if (!found) return "When to stop cannot be told: too few examples are left over to estimate the noise.";
  if (made.step_size > made.largest_stable_step_size) return "When to stop cannot be told: the forecast ends at this step size.";
  if (made.learnt < LEARNS) return "When to stop cannot be told: hardly anything is learnt within this range.";
  if (found.best === Infinity) return "Train to the end: the expected test loss never rises.";
  if (found.train_to_the_end) {
    return `Train to the end: stopping at the best step, ${steps(found.best)}, would save only ${percent(found.gain, 1)} of the expected test loss.`;
  }
  if (!found.within_range) return `The expected test loss still falls at step ${count(made.steps)}; it rises later, by ${percent(found.gain)}.`;
  const end = found.window[1] < Infinity ? `to ${steps(found.window[1])}` : "onwards";
  return `Stop near step ${steps(found.best)} (within 5 % of best: ${steps(found.window[0])} ${end}): it saves ${percent(found.gain)} of the expected test loss at the end of training.`;
}

/** What the loss on new labels of the table's own inputs will be; empty where nothing is said on stopping. */
function test_loss(made) {
  if (!made.stopping) return "";
  return `The test loss is expected to be ${loss(made.stopping.least)} at best, ${loss(made.stopping.final)} when everything is learnt, on new labels of the table's own inputs (a fixed design); on new rows it is higher: lineament forecast holds rows out and tells by how much.`;
}

export function step_size(made) {
  const share = Number((made.recommended_step_size / made.largest_stable_step_size).toPrecision(2));
  return `The largest stable step at the balanced optimum is ${three(made.largest_stable_step_size)}; recommended is ${three(made.recommended_step_size)}, ${share} of it, at which descent follows the forecast closely.`;
}

/** All that is to be said of a forecast. */
export const sentences = (made) => [data, step_size, pace, first, order, stop, test_loss].map((part) => part(made)).filter((told) => told);

/** What a reader should know about the data and the settings, in sentences. */
export function notices(made) {
  const told = [], columns = made.features.length, missing = made.rows_with_missing_values, constant = made.constant_columns;
  const [have, were] = missing === 1 ? ["has", "was"] : ["have", "were"];
  if (missing) told.push(`${missing} of ${made.rows + missing} rows ${have} a missing value and ${were} left out.`);
  if (constant.length) {
    told.push(`${several(constant.length, "constant column")} ${constant.length === 1 ? "was" : "were"} left out: ${constant.slice(0, 6).join(", ")}${constant.length > 6 ? ", …" : ""}.`);
  }
  if (made.few_values !== null) {
    told.push(`The target holds whole numbers with only ${made.few_values} values and was learnt as a number; if they name classes, say so (--classes).`);
  }
  if (!made.stopping) {
    told.push(`There are ${made.rows} rows for ${columns} columns: a linear map can fit them exactly, the noise cannot be estimated, and nothing is said on when to stop.`);
  }
  const unseen = columns - made.variances.length;
  const reason = made.variances.length === made.rows - 1 ? "there are fewer rows than columns" : "columns depend on each other";
  if (unseen) told.push(`${several(unseen, "direction")} of the inputs ${unseen === 1 ? "does" : "do"} not vary in the data beyond rounding: ${reason}. The network learns nothing there.`);
  if (made.step_size > made.largest_stable_step_size) {
    told.push(`The step size is ${three(made.step_size / made.largest_stable_step_size)} times the largest stable one. Recommended: ${three(made.recommended_step_size)}.`);
  } else if (made.step_size > 4 * made.recommended_step_size) {
    told.push(`The step size ${three(made.step_size)} is ${percent(made.step_size / made.largest_stable_step_size)} of the largest stable one: descent departs from the flow that is forecast here by up to about that share in time.`);
  }
  if (made.learnt < 0.999 - 1e-6 && made.step_size <= made.largest_stable_step_size) {
    told.push(`After ${several(made.steps, "step")} ${(100 * made.learnt).toFixed(1)} % of what can be learnt is learnt; the rest takes longer than this forecast looks ahead.`);
  }
  return told;
}
