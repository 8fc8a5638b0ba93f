// Colours: those of the atlas, read from the page's own variables, so that light and dark follow the reader's setting.

const PLASMA = ["#0d0887", "#46039f", "#7201a8", "#9c179e", "#bd3786", "#d8576b", "#ed7953", "#fb9f3a", "#fdca26", "#f0f921"];
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DARK = "(prefers-color-scheme: dark)";

/**
 * @typedef {object} Theme
 * @property {boolean} dark
 * @property {string} ink
 * @property {string} paper
 * @property {string} grid
 * @property {string} guide
 * @property {string} soft
 * @property {string} faint
 * @property {string} warn
 * @property {string[]} palette
 */

/** @returns {Theme} */
export function theme() {
  const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim();
  return {
    dark: matchMedia(DARK).matches,
    ink: read("--ink"), paper: read("--paper"), grid: read("--grid"), guide: read("--guide"), soft: read("--soft"),
    faint: read("--faint"), warn: read("--fails-ink"),
    palette: [0, 1, 2, 3, 4, 5].map((i) => read(`--mark-${i}`)),
  };
}

/** Calls back when the reader turns to light or dark. */
export function watch(changed) {
  matchMedia(DARK).addEventListener("change", changed);
}

/** The colour of one of so many modes: the palette while it lasts, then a whole spectrum. */
export function mode_colour(theme, index, count) {
  if (count <= theme.palette.length) return theme.palette[index];
  const key = `${theme.dark}:${index}:${count}`, x = index / (count - 1);
  if (!mixed.has(key)) mixed.set(key, plasma(theme.dark ? 0.3 + 0.7 * x : 0.85 * x));
  return mixed.get(key);
}
const plasma = d3.interpolateRgbBasis(PLASMA), mixed = new Map(); // a colour is mixed once, not in every frame

/** The colour of a value in [0, 1] on a map. */
export const heat = d3.interpolateRgbBasis(VIRIDIS);
export const HEAT_INK = "#0e0e11"; // lines over a map stay dark in both themes, because the map does not change
export const HEAT_HALO = "#fefefd";
