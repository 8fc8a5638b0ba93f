// A text file as a table of numbers: separator, names, row names and missing values found as `lineament forecast` finds them.
// The counterpart of lineament.data.delimited and lineament.data.tables.
import { feature, holds_numbers, survey } from "./columns.js";
import { is_number, printable } from "./labels.js";

/** What pandas takes for a missing value, and what files write besides. */
const MISSING = new Set([
  "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
  "NaN", "None", "n/a", "nan", "null", "?",
]);
const SPACE = " "; // any white space
const COMMA = /^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$/, THOUSANDS = /^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$/, POINT = /^\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*$/;
const LOOKED_AT = 50; // lines in which a decimal comma is looked for
const MOST_CELLS = 1 << 20, MOST_COLUMNS = 5000;

/**
 * @typedef {object} Table
 * @property {string} name
 * @property {string[]} features
 * @property {string} target
 * @property {Float64Array[]} X rows of features, NaN where one is missing
 * @property {(string | null)[]} labels the target as written, null where it is missing
 * @property {boolean} words whether the target names classes
 * @property {string[]} names all columns that may be the target
 * @property {string[]} notices
 */

/**
 * Cells of a text, quotes undone, blanks after a separator skipped.
 * @param {string} text
 * @param {string} separator
 * @returns {string[][]}
 */
export function cells(text, separator) {
  const rows = [], blank = (c) => c === " " || (c === "\t" && separator === SPACE), space = separator === SPACE;
  let row = [], cell = "", quoted = false, begun = false; // begun: there is a cell, if an empty one in quotes
  const close = () => { row.push(cell); cell = ""; begun = false; };
  const line = () => {
    if (!space || begun) close();
    if (row.length > 1 || (row.length && row[0] !== "")) rows.push(row); // blank lines are skipped
    row = [];
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; } else quoted = false;
    } else if (c === '"' && !begun) quoted = begun = true;
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      line();
    } else if (space ? blank(c) : c === separator) {
      if (!space || begun) close();
    } else if (begun || !blank(c)) {
      cell += c;
      begun = true;
    }
  }
  line();
  return rows;
}

/**
 * Reads a table.
 * @param {string} text
 * @param {string} file its name
 * @param {{target?: string | null, classes?: boolean | null}} [options] the column to predict, by name or number, the last by
 *   default; and whether its values name classes
 * @returns {Table}
 */
export function read(text, file, { target = null, classes = null } = {}) {
  const name = printable(file), plain = text.replace(/^\uFEFF/, ""), first = plain.split(/\r\n|\r|\n/, 1)[0];
  if (!first.trim()) throw new RangeError(`'${name}' cannot be read as a table: it is empty, or its first line is`);
  if (plain.includes("\0")) throw new RangeError(`'${name}' must be a table of text to be read on this page; use the command: lineament forecast ${name}`);
  const sign = separator_of(first, plain.split(/\r\n|\r|\n/, 2)[1] ?? "");
  const rows = with_points(cells(plain, sign), sign, name), head = rows[0].map((cell) => cell.trim()), notices = [];
  const bare = head.every(is_number), body = bare ? rows : rows.slice(1);
  // R writes a name in front of every row and none over these; other programs end every line with a separator instead.
  const below = rows[1] ?? [], row_names = !bare && below.length === head.length + 1 && below[below.length - 1].trim() !== "";
  if (bare) notices.push("the first line holds only numbers, so it was read as an example, not as names");
  if (row_names || (!bare && head[0] === "")) notices.push("the first column has no name over it and numbers or names the rows; it was left out");
  const names = distinct(bare ? head.map((_, j) => String(j)) : head), shift = row_names ? 1 : 0;
  const used = names.map((_, j) => j).slice(!row_names && names[0] === "" ? 1 : 0);
  if (used.length < 2) throw new RangeError(`'${name}' must have at least two columns, features and a target; got ${used.map((j) => printable(names[j])).join(", ") || "none"}`);
  if (!body.length) throw new RangeError(`'${name}' must hold examples; got names of columns alone`);
  if (body.length * used.length > MOST_CELLS) throw new RangeError(`'${name}' must have at most a million cells to be read on this page; use the command, which reads tables of any length: lineament forecast ${name}`);
  const wide = body.findIndex((row) => row.slice(names.length + shift).some((cell) => cell !== ""));
  if (wide >= 0) throw new RangeError(`'${name}' cannot be read as a table: example ${wide + 1} has ${body[wide].length - shift} cells, ${names.length} expected`);
  const column = used[place(used.map((j) => names[j]), target, name)], chosen = used.filter((j) => j !== column);
  const texts = (j) => body.map((row) => (MISSING.has(row[j + shift] ?? "") ? null : row[j + shift]));
  const parts = chosen.map((j) => { const held = texts(j); return feature(survey(names[j], held), held, name); });
  const features = parts.flatMap((part) => part.names), columns = parts.flatMap((part) => part.columns), labels = texts(column);
  if (features.length > MOST_COLUMNS) throw new RangeError(`'${name}' must have at most ${MOST_COLUMNS} feature columns; got ${features.length}`);
  return {
    name, features, target: printable(names[column]), labels, names: used.map((j) => names[j]),
    X: body.map((_, i) => Float64Array.from(columns, (each) => each[i])),
    words: Boolean(classes) || !holds_numbers(survey(names[column], labels), name),
    notices: [...notices, ...parts.flatMap((part) => part.notice ?? [])],
  };
}

/**
 * What separates values: what all values of the first line are numbers by, or what both lines have equally often.
 * @param {string} first
 * @param {string} second
 */
function separator_of(first, second) {
  for (const sign of [";", "\t", SPACE]) {
    const parts = (sign === SPACE ? first.trim().split(/\s+/) : first.split(sign)).map((part) => part.trim());
    if (parts.length > 1 && parts.every((part) => is_number(part) || COMMA.test(part))) return sign;
  }
  const width = (line, sign) => cells(line, sign)[0]?.length ?? 0, count = (sign) => first.split(sign).length;
  const likely = [",", ";", "\t"].filter((sign) => first.includes(sign)), alike = likely.filter((sign) => [0, 1].includes(width(second, sign) - width(first, sign)));
  const best = alike.length ? alike : likely;
  return best.length ? best.reduce((most, sign) => (count(sign) > count(most) ? sign : most)) : SPACE;
}

/** Rows whose numbers have points, where those of the first lines have decimal commas. */
function with_points(rows, sign, source) {
  const some = rows.slice(0, LOOKED_AT).flat(), commas = some.filter((cell) => COMMA.test(cell));
  if (sign === "," || !commas.length || some.some((cell) => POINT.test(cell)) || (sign !== ";" && commas.every((cell) => THOUSANDS.test(cell)))) return rows;
  const odd = rows.flat().find((cell) => POINT.test(cell));
  if (odd !== undefined) throw new RangeError(`'${source}' must hold numbers with decimal commas, as its first lines do; got '${odd.trim()}', whose point may mark thousands: write plain numbers`);
  return rows.map((row) => row.map((cell) => cell.replace(COMMA, "$1.$2")));
}

/** Names without repeats: the second `a` becomes `a.1`. */
function distinct(names) {
  const seen = new Map();
  return names.map((name) => {
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times ? `${name}.${times}` : name;
  });
}

function place(names, target, source) {
  if (target === null) return names.length - 1;
  for (const spelt of [names, names.map(printable)]) if (spelt.includes(target)) return spelt.indexOf(target);
  if (/^-?\d+$/.test(target) && Number(target) >= -names.length && Number(target) < names.length) {
    return (Number(target) + names.length) % names.length;
  }
  throw new RangeError(`'${source}' has no column '${printable(target)}'; Its columns are ${names.slice(0, 12).map(printable).join(", ")}`);
}
