// Sliders, lists and switches, each with a name, a value one can type, and keys.
import { parse, pretty } from "../draw/numbers.js";
import { make } from "./dom.js";

/**
 * @typedef {object} Control
 * @property {string} key
 * @property {"linear" | "log" | "depth" | "whole" | "choice" | "switch"} kind
 * @property {string} label
 * @property {string} [symbol]
 * @property {number} [min]
 * @property {number} [max]
 * @property {[string, string][]} [options] value and words
 * @property {string} [hint]
 * @property {(values: any) => boolean} [when] whether the control has a meaning now
 */

const STEPS = 1000;

/** From the place of a slider in [0, 1] to a value, and back. Depth runs evenly in 1 − 1/N, from 1 to ∞. */
export const TRACKS = {
  linear: { value: (u, c) => round(c.min + u * (c.max - c.min)), place: (x, c) => (x - c.min) / (c.max - c.min) },
  whole: { value: (u, c) => Math.round(c.min + u * (c.max - c.min)), place: (x, c) => (x - c.min) / (c.max - c.min) },
  log: {
    value: (u, c) => round(c.min * (c.max / c.min) ** u),
    place: (x, c) => Math.log(x / c.min) / Math.log(c.max / c.min),
  },
  depth: {
    value: (u, c, by_hand = false) => {
      if (u >= 1) return Infinity;
      const depth = 1 / (1 - u), whole = Math.round(depth);
      return by_hand && whole <= 12 && Math.abs(1 - 1 / whole - u) < 0.008 ? whole : round(depth); // whole depths are easy to hit
    },
    place: (x) => 1 - 1 / x,
  },
};

/** Four digits are enough for a hand. */
export const round = (x) => Number(x.toPrecision(4));

/**
 * Whether a control may take a value.
 * @param {Control} control
 * @param {any} value
 */
export function allowed(control, value) {
  if (control.kind === "choice") return control.options.some(([name]) => name === value);
  if (control.kind === "switch") return typeof value === "boolean";
  const whole = control.kind !== "whole" || Number.isInteger(value);
  return typeof value === "number" && whole && value >= control.min && value <= control.max;
}

/**
 * A control as elements.
 * @param {Control} control
 * @param {(value: any) => void} change
 * @param {(message: string) => void} refuse
 * @param {string} panel
 * @returns {{element: HTMLElement, show: (value: any) => void}}
 */
export function control(control, change, refuse, panel) {
  if (control.kind === "choice") return choice(control, change, panel);
  if (control.kind === "switch") return toggle(control, change);
  const track = TRACKS[control.kind], id = `${panel}-${control.key}`, name = control.label;
  const steps = control.kind === "whole" ? control.max - control.min : STEPS;
  let by_hand = false; // a key must move the slider, however small its step: it would stay caught at whole depths
  const slider = make("input", {
    type: "range", id, min: 0, max: steps, step: 1, "aria-label": name, onpointerdown: () => { by_hand = true; }, onkeydown: () => { by_hand = false; },
    oninput: () => change(track.value(Number(slider.value) / steps, control, by_hand)),
  });
  const entry = make("input", { type: "text", inputmode: "decimal", class: "entry", "aria-label": `${name}, value`, autocomplete: "off", spellcheck: "false" });
  const commit = () => {
    const typed = parse(entry.value);
    if (allowed(control, typed)) change(typed);
    else {
      refuse(`${name} must be ${control.kind === "whole" ? "a whole number" : "a number"} from ${pretty(control.min)} to ${pretty(control.max)} that a float can hold; got ${entry.value}`);
      show(last, true);
    }
  };
  entry.addEventListener("change", commit);
  entry.addEventListener("blur", () => show(last, true)); // while it had the focus it was left alone
  entry.addEventListener("keydown", (event) => { if (event.key === "Enter") commit(); });
  let last = NaN;
  const show = (value, again = false) => {
    if (value === last && !again) return; // a slider must not make the page write what stands there already
    last = value;
    slider.value = String(Math.round(track.place(value, control) * steps));
    slider.setAttribute("aria-valuetext", pretty(value, 4));
    if (document.activeElement !== entry) entry.value = plain(value);
  };
  const caption = make("label", { for: id }, `${name} `, control.symbol ? make("var", {}, control.symbol) : null);
  const element = make("div", { class: "control", "data-key": control.key }, caption, make("div", { class: "pair" }, slider, entry), control.hint ? make("p", { class: "hint" }, control.hint) : null);
  return { element, show };
}

/** A value as it can be typed back. */
const plain = (x) => (x === Infinity ? "∞" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6 ? String(Number(x.toPrecision(6))) : x === 0 ? "0" : x.toExponential().replace("e+", "e"));

function choice(control, change, panel) {
  const id = `${panel}-${control.key}`;
  const select = make("select", { id, onchange: () => change(select.value) }, ...control.options.map(([value, words]) => make("option", { value }, words)));
  return { element: make("div", { class: "control", "data-key": control.key }, make("label", { for: id }, control.label), select), show: (value) => { if (select.value !== value) select.value = value; } };
}

function toggle(control, change) {
  const box = make("input", { type: "checkbox", onchange: () => change(box.checked) });
  return { element: make("div", { class: "control", "data-key": control.key }, make("label", { class: "switch" }, box, ` ${control.label}`)), show: (value) => { box.checked = value; } };
}
