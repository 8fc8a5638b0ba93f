// Numbers as people read them: a few digits, powers of ten with a raised exponent, ∞.

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A whole number as an exponent. */
export const raised = (n) => String(n).replace(/./g, (c) => RAISED[c]);

/**
 * A number for a reader.
 * @param {number} x
 * @param {number} [digits]
 * @returns {string}
 */
export function pretty(x, digits = 3) {
  if (x === Infinity) return "∞";
  if (x === -Infinity) return "−∞";
  if (x !== x) return "–";
  if (x === 0) return "0";
  const power = Math.floor(Math.log10(Math.abs(x)));
  let text;
  if (power >= -3 && power < 5) text = String(Number(x.toPrecision(digits)));
  else {
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e"), short = String(Number(mantissa));
    text = `${short === "1" ? "" : short === "-1" ? "-" : `${short} × `}10${raised(Number(exponent))}`;
  }
  return text.replace("-", "−");
}

/** A power of ten from its natural logarithm, however small: a float need not hold it. */
export function pretty_log(log_x, digits = 2) {
  if (Math.abs(log_x) < 690) return pretty(Math.exp(log_x), digits);
  if (log_x === -Infinity) return "0";
  const tens = log_x / Math.LN10, power = Math.floor(tens);
  return `${(10 ** (tens - power)).toFixed(1)} × 10${raised(power)}`;
}

/**
 * What a reader typed, as a number: ∞ and a comma for a point are understood. NaN where it is none.
 * @param {string} text
 * @returns {number}
 */
export function parse(text) {
  const plain = text.trim().replace(",", ".").replace("−", "-").replace(/\s*[×x]\s*10\^?/, "e");
  if (/^(∞|inf|infinity)$/i.test(plain)) return Infinity;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return NaN;
  const x = Number(plain);
  // A float that has gone to zero or to infinity is not the number that was typed.
  const nothing = !/[1-9]/.test(plain.split(/e/i)[0]);
  return (x === 0 && !nothing) || Math.abs(x) === Infinity ? NaN : x;
}

/** A number in code: short, and read back as the same float. */
export const code = (x) => (x === Infinity ? "np.inf" : String(x));
