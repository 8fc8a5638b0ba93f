// Two pens with the same strokes: one draws on a canvas, for the screen and for PNG, the other writes SVG.
// Both take their shapes from D3's line and area generators, so that what is saved is what is seen.

/**
 * @typedef {object} Stroke
 * @property {string} [colour]
 * @property {number} [width]
 * @property {number[]} [dash]
 * @property {number} [alpha]
 * @property {string} [fill]
 */
/**
 * @typedef {object} Lettering
 * @property {string} [colour]
 * @property {number} [size]
 * @property {"start" | "middle" | "end"} [anchor]
 * @property {"top" | "middle" | "bottom"} [base]
 * @property {number} [turn] degrees
 * @property {boolean} [bold]
 * @property {boolean} [italic]
 * @property {string} [halo] colour of an outline that sets the text off from what is behind it
 */

const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif';
const font = (o) => `${o.italic ? "italic " : ""}${o.bold ? "600 " : ""}${o.size ?? 12}px ${FAMILY}`;
const SOLID = [];
/** @type {Record<string, CanvasTextBaseline>} */
const BASES = { top: "top", middle: "middle", bottom: "alphabetic" };

/** Draws on a canvas. */
export class CanvasPen {
  /** @param {CanvasRenderingContext2D} context scaled so that units are CSS pixels */
  constructor(context) {
    this.context = context;
    this.font = "";
  }

  /** @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {Stroke} o */
  line(xs, ys, o) {
    const c = this.context;
    this.begin(o);
    c.beginPath();
    // A plain loop: two thousand points a curve, and twenty curves, leave no time for accessors.
    let down = false;
    for (let i = 0; i < xs.length; i++) {
      const x = xs[i], y = ys[i];
      if (x !== x || y !== y) down = false;
      else if (down) c.lineTo(x, y);
      else { c.moveTo(x, y); down = true; }
    }
    this.end(o);
  }

  /** A function of x: points that lie on a line already drawn, to a tenth of a pixel, are passed over. */
  curve(xs, ys, o) {
    const c = this.context;
    this.begin(o);
    c.beginPath();
    const corners = swing(xs, ys);
    for (let i = 0; i < corners.length; i++) {
      const k = corners[i];
      if (i) c.lineTo(xs[k], ys[k]);
      else c.moveTo(xs[k], ys[k]);
    }
    this.end(o);
  }

  /** @param {string} path in SVG's notation */
  path(path, o) {
    this.begin(o);
    const shape = new Path2D(path);
    if (o.fill) { this.context.fillStyle = o.fill; this.context.fill(shape); }
    if (o.colour) this.context.stroke(shape);
  }

  rect(x, y, w, h, o) {
    this.begin(o);
    this.context.beginPath();
    this.context.rect(x, y, w, h);
    this.end(o);
  }

  circle(x, y, r, o) {
    this.begin(o);
    this.context.beginPath();
    this.context.arc(x, y, r, 0, 2 * Math.PI);
    this.end(o);
  }

  /** @param {string} text @param {number} x @param {number} y @param {Lettering} o */
  text(text, x, y, o) {
    const c = this.context, wanted = font(o);
    if (this.font !== wanted) c.font = this.font = wanted; // to be parsed takes long
    c.globalAlpha = 1;
    c.textAlign = o.anchor === "middle" ? "center" : (o.anchor ?? "start");
    c.textBaseline = BASES[o.base ?? "bottom"];
    const turn = ((o.turn ?? 0) * Math.PI) / 180, left = turn ? 0 : x, top = turn ? 0 : y;
    if (turn) {
      c.translate(x, y);
      c.rotate(turn);
    }
    if (o.halo) {
      c.strokeStyle = o.halo;
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.setLineDash(SOLID);
      c.strokeText(text, left, top);
    }
    c.fillStyle = o.colour ?? "black";
    c.fillText(text, left, top);
    if (turn) {
      c.rotate(-turn);
      c.translate(-x, -y);
    }
  }

  image(canvas, x, y, w, h) {
    this.context.globalAlpha = 1;
    this.context.drawImage(canvas, x, y, w, h);
  }

  clip(x, y, w, h, draw) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(x, y, w, h);
    c.clip();
    draw();
    c.restore();
    this.font = "";
  }

  /** Every stroke sets all that it needs: to save and restore the whole state each time takes longer. */
  begin(o) {
    const c = this.context;
    c.globalAlpha = o.alpha ?? 1;
    c.strokeStyle = o.colour ?? "transparent";
    c.lineWidth = o.width ?? 1;
    c.lineJoin = "round";
    c.setLineDash(o.dash ?? SOLID);
  }

  end(o) {
    if (o.fill) { this.context.fillStyle = o.fill; this.context.fill(); }
    if (o.colour) this.context.stroke();
  }
}

const TOLERANCE = 0.1; // pixels

let kept = new Int32Array(0);

/**
 * The corners of a polyline over rising x that stays within a tolerance of all its points (Bristol's swinging door), by their
 * indices. They are overwritten by the next call.
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} ys
 * @returns {Int32Array}
 */
function swing(xs, ys) {
  const n = xs.length;
  if (kept.length < n) kept = new Int32Array(n);
  let count = 0, last = 0, low = -Infinity, high = Infinity;
  if (n) kept[count++] = 0;
  for (let i = 1; i < n; i++) {
    const dx = xs[i] - xs[last], dy = ys[i] - ys[last], flat = dx > 0 ? 1 / dx : 0;
    const slope = dy * flat;
    if (i > last + 1 && (slope < low || slope > high || flat === 0)) {
      last = i - 1;
      kept[count++] = last;
      const step = xs[i] - xs[last], rise = ys[i] - ys[last], over = step > 0 ? 1 / step : 0;
      low = (rise - TOLERANCE) * over;
      high = (rise + TOLERANCE) * over;
    } else {
      low = Math.max(low, (dy - TOLERANCE) * flat);
      high = Math.min(high, (dy + TOLERANCE) * flat);
    }
  }
  if (n > 1) kept[count++] = n - 1;
  return kept.subarray(0, count);
}

const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (x) => (Math.round(x * 100) / 100).toString();

/** Writes SVG. */
export class SvgPen {
  constructor() {
    /** @type {string[]} */ this.parts = [];
    this.clips = 0;
  }

  line(xs, ys, o) {
    const path = d3.line((i) => xs[i], (i) => ys[i]).defined((i) => xs[i] === xs[i] && ys[i] === ys[i]).digits(2);
    this.path(path(d3.range(xs.length)) ?? "", o);
  }

  curve(xs, ys, o) {
    const corners = Array.from(swing(xs, ys));
    this.line(corners.map((i) => xs[i]), corners.map((i) => ys[i]), o);
  }

  path(path, o) {
    this.parts.push(`<path d="${path}"${this.style(o)}/>`);
  }

  rect(x, y, w, h, o) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"${this.style(o)}/>`);
  }

  circle(x, y, r, o) {
    this.parts.push(`<circle cx="${short(x)}" cy="${short(y)}" r="${short(r)}"${this.style(o)}/>`);
  }

  text(text, x, y, o) {
    const base = { top: "0.78em", middle: "0.35em", bottom: "0" }[o.base ?? "bottom"];
    const turn = o.turn ? ` rotate(${o.turn})` : "";
    const halo = o.halo ? ` stroke="${o.halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : "";
    this.parts.push(
      `<text transform="translate(${short(x)} ${short(y)})${turn}" dy="${base}" font-size="${o.size ?? 12}"`
      + `${o.bold ? ' font-weight="600"' : ""}${o.italic ? ' font-style="italic"' : ""} text-anchor="${o.anchor ?? "start"}"`
      + ` fill="${o.colour ?? "black"}"${halo}>${escape(text)}</text>`,
    );
  }

  image(canvas, x, y, w, h) {
    this.parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`);
  }

  clip(x, y, w, h, draw) {
    const id = `clip-${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  style(o) {
    return ` fill="${o.fill ?? "none"}"${o.colour ? ` stroke="${o.colour}" stroke-width="${o.width ?? 1}" stroke-linejoin="round"` : ""}`
      + `${o.dash ? ` stroke-dasharray="${o.dash.join(" ")}"` : ""}${o.alpha !== undefined ? ` opacity="${o.alpha}"` : ""}`;
  }

  /** The whole picture. */
  document(width, height, paper, title) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" `
      + `font-family='${FAMILY}' role="img"><title>${escape(title)}</title><rect width="100%" height="100%" fill="${paper}"/>`
      + `${this.parts.join("\n")}</svg>\n`;
  }
}
