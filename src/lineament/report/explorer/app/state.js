// What the page shows, as plain values, and the same in the address: a link reproduces the picture.

/** @typedef {Record<string, any>} Values */

/** A value as it stands in the address. */
export function write(value) {
  if (Array.isArray(value)) return value.map(write).join(",");
  if (typeof value === "boolean") return value ? "1" : "0";
  return value === Infinity ? "inf" : String(value);
}

/**
 * A value from the address, of the type that the default has; undefined where it cannot be read.
 * @param {string} text
 * @param {any} like
 */
export function read(text, like) {
  if (Array.isArray(like)) {
    const numbers = text.split(",").map(number);
    return text && numbers.every((x) => x === x) ? numbers : undefined;
  }
  if (typeof like === "boolean") return text === "1" ? true : text === "0" ? false : undefined;
  if (typeof like === "number") {
    const x = number(text);
    return x === x ? x : undefined;
  }
  return text;
}

function number(text) {
  return text === "inf" ? Infinity : /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
}

/**
 * The part of the address after #.
 * @param {string} panel
 * @param {Values} values
 * @param {string | null} preset
 */
export function to_hash(panel, values, preset) {
  const pairs = new URLSearchParams({ panel });
  if (preset) pairs.set("preset", preset);
  for (const [key, value] of Object.entries(values)) if (!key.startsWith("_")) pairs.set(key, write(value));
  return `#${pairs.toString().replaceAll("%2C", ",")}`;
}

/**
 * What an address asks for: a panel with values, or a preset by its id alone.
 * @param {string} hash
 * @param {Record<string, {defaults: Values, valid: (key: string, value: any) => boolean}>} panels
 * @returns {{panel: string | null, values: Values, preset: string | null, refused: string[]}}
 */
export function from_hash(hash, panels) {
  const text = hash.replace(/^#/, "");
  if (!text.includes("=")) return { panel: null, values: {}, preset: text || null, refused: [] };
  const given = new URLSearchParams(text), panel = given.get("panel"), refused = [], values = {};
  if (!panel || !Object.hasOwn(panels, panel)) return { panel: null, values, preset: given.get("preset"), refused: panel ? [`panel=${panel}`] : [] };
  const { defaults, valid } = panels[panel];
  for (const [key, like] of Object.entries(defaults)) {
    const told = given.get(key);
    if (told === null || key.startsWith("_")) continue;
    const value = read(told, like);
    if (value === undefined || !valid(key, value)) refused.push(`${key}=${told}`);
    else values[key] = value;
  }
  return { panel, values, preset: given.get("preset"), refused };
}
