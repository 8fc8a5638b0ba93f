// Columns of a table as numbers: what each holds over the whole table, and the levels of its words.
// The counterpart of lineament.data.columns.
import { canonical, is_number, natural, printable } from "./labels.js";

const MOST_LEVELS = 100; // different words in a column; more are taken to be identifiers or free text
const NEVER_AGAIN = 10; // so many words of which none comes twice are names of rows
const MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
const DATE = new RegExp(`^(\\d{1,4}([-/.])\\d{1,2}\\2\\d{1,4}([ T].*)?|\\d{1,2}:\\d{2}(:\\d{2}(\\.\\d+)?)?|\\d{1,2}[ -]${MONTH}[ ,-]+\\d{2,4}|${MONTH} \\d{1,2},? \\d{4})$`, "i");
const DIGITS = "[+\\-\u2212]?(\\d[\\d.,]*|\\.\\d+)", SIGN = "[$\u20ac\u00a3\u00a5\u20b9]";
/** What is a number in the eyes of a reader, and would be a word to a program. */
const DRESSED = {
  "decimal comma": /^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$/,
  percentage: new RegExp(`^${DIGITS}\\s?[%\u2030]$`),
  "sum of money": new RegExp(`^([+\\-\u2212]?${SIGN}\\s?${DIGITS}|${DIGITS}\\s?${SIGN})$`),
  "number with gaps or a typeset minus": /^([+\-\u2212]?\d{1,3}([ '_\u00a0\u202f\u2019]\d{3})+(\.\d+)?|\u2212(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$/,
};
const REMEDIES = {
  date: "Turn it into numbers", "complex number": "Turn it into numbers", "decimal comma": "Write numbers with a point",
  percentage: "Write plain numbers", "sum of money": "Write plain numbers", "number with gaps or a typeset minus": "Write plain numbers",
};
const COMPLEX = /^\(?([+-]?[\d.]+([eE][+-]?\d+)?)?[+-]?[\d.]*([eE][+-]?\d+)?[ij]\)?$/;
const NUMERIC = ["number", "truth value", "infinite value"];

/**
 * @typedef {object} Survey what a column holds
 * @property {string} name
 * @property {number} numbers how many of its values are
 * @property {Map<string, number>} words how often each is there
 * @property {Record<string, {row: number, text: string}>} first of every kind
 */

/** What kind of value a text is. */
function kind_of(text) {
  const plain = text.trim();
  if (is_number(plain)) return "number";
  if (/^(true|false)$/i.test(plain)) return "truth value";
  if (DATE.test(plain)) return "date";
  for (const [kind, pattern] of Object.entries(DRESSED)) if (pattern.test(plain)) return kind;
  if (/[ij)]$/.test(plain) && /\d/.test(plain) && COMPLEX.test(plain)) return "complex number";
  return /^[+-]*(inf|infinity)$/i.test(plain) ? "infinite value" : "word";
}

/**
 * Looks at a column from the first row to the last.
 * @param {string} name
 * @param {(string | null)[]} cells null where a value is missing
 * @returns {Survey}
 */
export function survey(name, cells) {
  /** @type {Survey["first"]} */ const first = {};
  const words = new Map();
  let numbers = 0;
  cells.forEach((text, i) => {
    if (text === null) return;
    const kind = kind_of(text);
    first[kind] ??= { row: i + 1, text };
    if (NUMERIC.includes(kind)) numbers++;
    else words.set(canonical(text), (words.get(canonical(text)) ?? 0) + 1);
  });
  return { name, numbers, words, first };
}

/**
 * A column as features: itself, or one column for each word.
 * @param {Survey} seen
 * @param {(string | null)[]} cells
 * @param {string} source
 * @returns {{names: string[], columns: Float64Array[], notice: string | null}}
 */
export function feature(seen, cells, source) {
  const name = printable(seen.name), { words, first } = seen;
  refuse_dates(seen, source);
  const word = first_word(seen);
  if (words.size > MOST_LEVELS) {
    throw new RangeError(`column '${name}' of '${source}' must hold numbers, or at most ${MOST_LEVELS} different words; got more, such as '${word.text}'. Leave it out (lineament forecast --drop ${name})`);
  }
  if (words.size >= NEVER_AGAIN && [...words.values()].every((times) => times === 1)) {
    throw new RangeError(`column '${name}' of '${source}' must hold words that come more than once; got ${words.size} of them, such as '${word.text}', which name the rows. Leave it out (lineament forecast --drop ${name})`);
  }
  if (words.size && seen.numbers) {
    throw new RangeError(`column '${name}' of '${source}' must hold numbers, or words, not both; got '${first.number?.text ?? "numbers"}' and, in example ${word.row}, '${word.text}'. Mend it, or leave it out (lineament forecast --drop ${name})`);
  }
  if (!words.size) return { names: [name], columns: [Float64Array.from(cells, value)], notice: null };
  const levels = [...words.keys()].sort(natural), told = levels.slice(0, 6).map(printable).join(", ") + (levels.length > 6 ? ", …" : "");
  return {
    names: levels.map((level) => printable(`${seen.name}=${level}`)),
    columns: levels.map((level) => Float64Array.from(cells, (text) => (text === null ? NaN : canonical(text) === level ? 1 : 0))),
    notice: `column '${name}' holds words and became ${levels.length} columns of 0 and 1, one for each: ${told}`,
  };
}

/** Whether a column, as a target, holds numbers throughout; words and truth values name classes. */
export function holds_numbers(seen, source) {
  refuse_dates(seen, source);
  const { words, first } = seen, truths = "truth value" in first, besides = first_word(seen) ?? first["truth value"];
  if (besides && (truths ? "number" in first : seen.numbers)) {
    throw new RangeError(`the target '${printable(seen.name)}' of '${source}' must hold numbers, or names of classes, not both; got '${first.number?.text ?? "numbers"}' and, in example ${besides.row}, '${besides.text}'. Mend the table, or take all as classes`);
  }
  return !words.size && !truths;
}

/** The first value that is no number; undefined if all are. */
function first_word({ first }) {
  const others = Object.entries(first).filter(([kind]) => !NUMERIC.includes(kind)).map(([, found]) => found);
  return others.sort((a, b) => a.row - b.row)[0];
}

function refuse_dates({ name, first }, source) {
  for (const [kind, remedy] of Object.entries(REMEDIES)) {
    if (kind in first && Object.keys(first).every((other) => other === kind || other === "number")) {
      const { row, text } = first[kind];
      throw new RangeError(`column '${printable(name)}' of '${source}' must hold real numbers or words; got a ${kind}, '${text}', in example ${row}. ${remedy}, or leave it out (lineament forecast --drop ${printable(name)})`);
    }
  }
}

/** A cell as a number, truth values as 0 and 1; NaN where it is none. */
export function value(cell) {
  const plain = cell?.trim() ?? "";
  if (is_number(plain)) return Number(plain);
  if (/^(true|false)$/i.test(plain)) return plain.toLowerCase() === "true" ? 1 : 0;
  return /^[+-]?(inf|infinity)$/i.test(plain) ? (plain[0] === "-" ? -Infinity : Infinity) : NaN;
}
