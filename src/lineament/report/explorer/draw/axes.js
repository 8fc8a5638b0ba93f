// A pair of axes in a box: D3's scales and ticks, the atlas's grid and lettering.
import { pretty, raised } from "./numbers.js";

/**
 * @typedef {object} Axis
 * @property {string} label
 * @property {[number, number]} domain
 * @property {"linear" | "log"} [kind]
 * @property {number} [ticks] about how many
 * @property {(x: number) => string} [format]
 */
/**
 * @typedef {object} Plot
 * @property {(x: number) => number} x from data to pixels
 * @property {(y: number) => number} y
 * @property {{left: number, top: number, width: number, height: number}} box
 */

/**
 * Draws axes and returns their scales.
 * @param {any} pen
 * @param {import("./theme.js").Theme} theme
 * @param {{left: number, top: number, width: number, height: number}} frame all of the space, labels included
 * @param {{x: Axis, y: Axis, title?: string, bare?: boolean}} options
 * @returns {Plot & {invert_x: (px: number) => number, invert_y: (py: number) => number}}
 */
export function axes(pen, theme, frame, { x, y, title = "", bare = false }) {
  const small = frame.width < 300;
  const left = frame.left + (y.label || !bare ? (small ? 40 : 50) : 12), top = frame.top + (title ? 26 : 12);
  const box = { left, top, width: frame.left + frame.width - left - 12, height: frame.top + frame.height - top - 40 };
  const across = scale(x, [box.left, box.left + box.width]), up = scale(y, [box.top + box.height, box.top]);
  for (const tick of ticks(across, x, box.width / 70)) {
    const px = across(tick);
    pen.line([px, px], [box.top, box.top + box.height], { colour: theme.grid, width: 1 });
    pen.text(label_of(x, tick), px, box.top + box.height + 6, { anchor: "middle", base: "top", size: 11, colour: theme.soft });
  }
  for (const tick of ticks(up, y, box.height / 40)) {
    const py = up(tick);
    pen.line([box.left, box.left + box.width], [py, py], { colour: theme.grid, width: 1 });
    pen.text(label_of(y, tick), box.left - 6, py, { anchor: "end", base: "middle", size: 11, colour: theme.soft });
  }
  pen.line([box.left, box.left, box.left + box.width], [box.top, box.top + box.height, box.top + box.height], { colour: theme.ink, width: 1 });
  if (x.label) pen.text(x.label, box.left + box.width, box.top + box.height + 34, { anchor: "end", size: 12, colour: theme.ink });
  if (y.label) {
    pen.text(y.label, frame.left + 12, box.top + box.height / 2, { anchor: "middle", turn: -90, size: 12, colour: theme.ink });
  }
  if (title) pen.text(title, box.left, frame.top + 16, { size: 13, bold: true, colour: theme.ink });
  return { x: across, y: up, box, invert_x: across.invert, invert_y: up.invert };
}

function scale({ kind = "linear", domain }, range) {
  return (kind === "log" ? d3.scaleLog() : d3.scaleLinear()).domain(domain).range(range);
}

function ticks(scale, axis, room) {
  const wanted = Math.max(2, Math.min(axis.ticks ?? 8, Math.floor(room)));
  if (axis.kind !== "log") return scale.ticks(wanted);
  const [low, high] = axis.domain.map(Math.log10), first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
  if (last - first < 1) return scale.ticks(wanted).filter((_, i, all) => i % Math.ceil(all.length / wanted) === 0);
  const stride = Math.ceil((last - first + 1) / wanted);
  return d3.range(first, last + 1).filter((power) => (power - first) % stride === 0).map((power) => 10 ** power);
}

function label_of(axis, tick) {
  if (axis.format) return axis.format(tick);
  const power = Math.log10(tick);
  if (axis.kind === "log" && Math.abs(power - Math.round(power)) < 1e-9 && Math.abs(power) > 2.5) return `10${raised(Math.round(power))}`;
  return pretty(tick, 4);
}

/**
 * Places direct labels beside the ends of curves, none over another.
 * @param {{text: string, y: number, colour: string}[]} labels
 * @param {number} low top of the space
 * @param {number} high bottom of it
 * @param {number} [gap]
 */
export function apart(labels, low, high, gap = 14) {
  const sorted = [...labels].sort((a, b) => a.y - b.y), room = Math.max(high - low, 1);
  const step = Math.min(gap, room / Math.max(sorted.length - 1, 1));
  sorted.forEach((label, i) => { label.y = Math.max(label.y, i ? sorted[i - 1].y + step : low); });
  for (let i = sorted.length - 1; i >= 0; i--) {
    sorted[i].y = Math.min(sorted[i].y, i === sorted.length - 1 ? high : sorted[i + 1].y - step);
  }
  return sorted;
}
