// Names of classes and columns: one spelling for each. The counterpart of lineament.data.labels.

const LONGEST = 80; // characters of a name that are shown
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/;
const TRUTH = { true: "True", false: "False" };

/** Whether a text is a finite number, as files write them. */
export const is_number = (text) => NUMBER.test(text.trim());

/**
 * One spelling for labels that mean the same class: `1`, `1.0` and `01` are 1, `true` and `TRUE` are True.
 * @param {string} label
 * @returns {string}
 */
export function canonical(label) {
  const text = label.trim();
  return NUMBER.test(text) ? decimal(text) : (TRUTH[text.toLowerCase()] ?? text);
}

/** A number by its digits, however many: plainly up to sixteen places, with an exponent beyond. */
function decimal(text) {
  const [mantissa, power = "0"] = text.replace(/^[+-]/, "").split(/e/i), [whole, part = ""] = mantissa.split(".");
  const digits = (whole + part).replace(/^0+/, ""), kept = digits.replace(/0+$/, "");
  if (!kept) return "0";
  const sign = text[0] === "-" ? "-" : "", exponent = Number(power) - part.length + digits.length - kept.length, lead = exponent + kept.length - 1;
  if (Math.abs(lead) >= 16) return `${sign}${kept[0]}${kept.length > 1 ? `.${kept.slice(1)}` : ""}E${lead < 0 ? "-" : "+"}${Math.abs(lead)}`;
  if (exponent >= 0) return sign + kept + "0".repeat(exponent);
  const padded = kept.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

/** Sorts names that are numbers by their value, before the others. */
export function natural(a, b) {
  const [i, j] = [a, b].map((name) => (is_number(name) ? 0 : 1));
  return i - j || (i ? 0 : Number(a) - Number(b)) || (a < b ? -1 : a > b ? 1 : 0);
}

/** A name on one short line: control characters are written as escapes. */
export function printable(name) {
  const text = name.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) => {
    const plain = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[c], code = c.charCodeAt(0);
    return plain ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`);
  });
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}
