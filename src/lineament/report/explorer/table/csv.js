// A CSV file as a table of numbers: separator, names, missing values and classes read as `lineament forecast` reads them.

/** What pandas takes for a missing value. */
const MISSING = new Set([
  "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
  "NaN", "None", "n/a", "nan", "null",
]);
const NUMBER = /^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity)$/i;
const MOST_CELLS = 1 << 20;

/**
 * @typedef {object} Table
 * @property {string} name
 * @property {string[]} features
 * @property {string} target
 * @property {Float64Array[]} X rows of features, NaN where one is missing
 * @property {(string | null)[]} labels the target as written, null where it is missing
 * @property {"whole" | "real" | "words"} kind what the target holds
 * @property {string[]} names all columns that may be the target
 * @property {string[]} notices
 */

/**
 * Cells of a CSV text, quotes undone.
 * @param {string} text
 * @param {string} separator
 * @returns {string[][]}
 */
export function cells(text, separator) {
  const rows = [];
  let row = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; } else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === separator) { row.push(cell); cell = ""; } else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      row.push(cell);
      cell = "";
      if (row.length > 1 || row[0] !== "") rows.push(row); // pandas skips blank lines
      row = [];
    } else cell += c;
  }
  row.push(cell);
  if (row.length > 1 || row[0] !== "") rows.push(row);
  return rows;
}

/** A cell as a number; NaN where it is none. */
function number(cell) {
  const plain = cell.trim();
  if (!NUMBER.test(plain)) return NaN;
  return /inf/i.test(plain) ? (plain[0] === "-" ? -Infinity : Infinity) : Number(plain);
}

const truth = (cell) => (/^(true|TRUE|True)$/.test(cell) ? 1 : /^(false|FALSE|False)$/.test(cell) ? 0 : NaN);

/**
 * Reads a table.
 * @param {string} text
 * @param {string} name of the file
 * @param {string | null} [target] the column to predict, by name or number; the last by default
 * @returns {Table}
 */
export function read(text, name, target = null) {
  const plain = text.replace(/^\uFEFF/, ""), first = plain.split(/\r?\n/, 1)[0].trim();
  if (!first) throw new RangeError(`'${name}' cannot be read as CSV: it is empty, or its first line is`);
  const count = (sign) => first.split(sign).length;
  const separator = [",", ";", "\t"].reduce((best, sign) => (count(sign) > count(best) ? sign : best));
  const rows = cells(plain, separator), notices = [];
  const bare = first.split(separator).every((cell) => NUMBER.test(cell.trim().replace(/^"|"$/g, "")));
  if (bare) notices.push("the first line holds only numbers, so it was read as an example, not as names");
  const names = unique(bare ? rows[0].map((_, j) => String(j)) : rows[0].map((cell, j) => cell.trim() || `Unnamed: ${j}`));
  const body = bare ? rows : rows.slice(1);
  const numbered = names[0].startsWith("Unnamed: 0");
  if (numbered) notices.push("the first column has no name over it and numbers or names the rows; it was left out");
  const used = names.map((_, j) => j).slice(numbered ? 1 : 0);
  if (used.length < 2) throw new RangeError(`'${name}' has ${used.length} column(s); features and a target need at least two`);
  if (!body.length) throw new RangeError(`'${name}' names its columns but holds no examples`);
  if (body.length * used.length > MOST_CELLS) {
    throw new RangeError(`'${name}' has more than a million cells; use lineament forecast, which reads tables of any length`);
  }
  const wide = body.findIndex((row) => row.length > names.length && row.slice(names.length).some((cell) => cell !== ""));
  if (wide >= 0) throw new RangeError(`'${name}' cannot be read as CSV: example ${wide + 1} has ${body[wide].length} cells, ${names.length} expected`);
  const column = used[place(used.map((j) => names[j]), target, name)], features = used.filter((j) => j !== column);
  return {
    name, notices, names: used.map((j) => names[j]), features: features.map((j) => names[j]), target: names[column],
    X: matrix(body, features, names, name), ...labels(body, column),
  };
}

/** Repeated names told apart as pandas does. */
function unique(names) {
  const seen = new Map();
  return names.map((name) => {
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times ? `${name}.${times}` : name;
  });
}

function place(names, target, source) {
  if (target === null) return names.length - 1;
  if (names.includes(target)) return names.indexOf(target);
  if (/^-?\d+$/.test(target) && Number(target) >= -names.length && Number(target) < names.length) {
    return (Number(target) + names.length) % names.length;
  }
  throw new RangeError(`'${source}' has no column '${target}'. Its columns are ${names.slice(0, 12).join(", ")}`);
}

function matrix(body, features, names, source) {
  const X = body.map(() => new Float64Array(features.length));
  features.forEach((j, k) => {
    const told = body.map((row) => row[j] ?? "");
    const bits = told.every((cell) => truth(cell) === truth(cell)); // a column of truth values counts as 0 and 1
    told.forEach((cell, i) => {
      X[i][k] = bits ? truth(cell) : number(cell);
      if (X[i][k] !== X[i][k] && !MISSING.has(cell)) {
        throw new RangeError(
          `column '${names[j]}' of '${source}' must hold numbers; example ${i + 1} has '${cell}'. Encode the column as numbers, or drop it`,
        );
      }
    });
  });
  return X;
}

/** @returns {{labels: (string | null)[], kind: "whole" | "real" | "words"}} */
function labels(body, column) {
  const told = body.map((row) => (MISSING.has(row[column] ?? "") ? null : row[column]));
  const given = told.filter((cell) => cell !== null), complete = given.length === told.length;
  const whole = complete && given.every((cell) => /^\s*[+-]?\d+\s*$/.test(cell));
  const kind = whole ? "whole" : given.every((cell) => number(cell) === number(cell)) ? "real" : "words";
  return { labels: told, kind };
}

/** The target as numbers. */
export function numbers(table) {
  return Float64Array.from(table.labels, (cell) => (cell === null ? NaN : number(cell)));
}
