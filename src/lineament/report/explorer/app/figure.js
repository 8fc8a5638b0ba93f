// One drawing on the page: a canvas, and over it handles that can be dragged or moved by keys.
import { CanvasPen, SvgPen } from "../draw/pen.js";
import { make } from "./dom.js";

/**
 * @typedef {object} Handle something on a drawing that can be moved
 * @property {string} key
 * @property {string} name what a screen reader says
 * @property {string} text its value in words
 * @property {number} [now] its value
 * @property {[number, number]} [range] the least and the largest
 * @property {number} x in pixels of the drawing
 * @property {number} y
 * @property {number} [width] of what is grabbed; a round knob if not given
 * @property {number} [height]
 * @property {string} [colour]
 * @property {"x" | "y" | "both"} along
 * @property {(px: number, py: number) => void} drag
 * @property {(dx: number, dy: number, fine: boolean) => void} nudge by keys: whole steps to the right and up
 */
/**
 * @typedef {object} Drawing what a figure's `draw` is given
 * @property {any} pen
 * @property {import("../draw/theme.js").Theme} theme
 * @property {number} width
 * @property {number} height
 * @property {any} values
 * @property {any} model
 * @property {boolean} hidden whether the answer is still to be predicted
 * @property {(handle: Handle) => void} handle
 */

/** A figure of a panel. */
export class Figure {
  /**
   * @param {any} spec name, title, caption, height(width), draw(drawing) → plot, and `press` for a click on the drawing
   * @param {() => any} look values, model, theme and what is hidden, now
   */
  constructor(spec, look) {
    this.spec = spec;
    this.look = look;
    this.canvas = make("canvas", { role: "img" });
    this.layer = make("div", { class: "handles" });
    this.stage = make("div", { class: "stage" }, this.canvas, this.layer);
    this.caption = make("figcaption");
    this.element = make("figure", { class: `picture ${spec.wide ? "wide" : ""}`, "data-figure": spec.name }, this.stage, this.caption);
    /** @type {Map<string, HTMLElement>} */ this.knobs = new Map();
    /** @type {any} */ this.plot = null;
    this.measured = 0;
    if (spec.press) this.listen();
  }

  /** A click on the drawing itself, not a drag that began on a handle. */
  listen() {
    this.canvas.classList.add("pressable");
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      if (this.plot) this.spec.press(this.plot, event.clientX - box.left, event.clientY - box.top);
    });
  }

  /** The width there is, measured once until the page says that it has changed: asking makes the browser lay out. */
  width() {
    if (!this.measured) this.measured = Math.max(220, Math.round(this.stage.clientWidth || 600));
    return this.measured;
  }

  /** Draws on the screen. */
  draw() {
    const look = this.look(), width = this.width(), height = Math.round(this.spec.height(width));
    const ratio = window.devicePixelRatio || 1, wide = Math.round(width * ratio), high = Math.round(height * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d"), handles = [];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.plot = this.paint(new CanvasPen(context), width, height, look, (handle) => handles.push(handle));
    this.place(handles);
    const told = this.spec.caption?.(look) ?? "";
    if (this.caption.textContent !== told) this.caption.textContent = told;
    const name = `${this.spec.title}. ${told}`;
    if (this.canvas.getAttribute("aria-label") !== name) this.canvas.setAttribute("aria-label", name);
  }

  paint(pen, width, height, look, handle) {
    if (!look.model) {
      pen.text("Refused: see the reason given.", 16, 28, { colour: look.theme.soft, size: 13 });
      return null;
    }
    return this.spec.draw({ pen, width, height, handle, ...look });
  }

  /** The figure as SVG, of the size it has on the screen. */
  svg(theme) {
    const pen = new SvgPen(), width = this.width(), height = Math.round(this.spec.height(width));
    const look = { ...this.look(), theme };
    this.paint(pen, width, height, look, () => {});
    return { width, height, title: this.spec.title, text: pen.document(width, height, theme.paper, this.spec.title) };
  }

  /** Puts the handles where the drawing says; elements are kept, so that the one in hand is not lost. */
  place(handles) {
    const keys = new Set(handles.map((h) => h.key));
    for (const [key, knob] of this.knobs) if (!keys.has(key)) { knob.remove(); this.knobs.delete(key); }
    for (const handle of handles) {
      let knob = this.knobs.get(handle.key);
      if (!knob) {
        knob = this.knob(handle.key);
        this.knobs.set(handle.key, knob);
        this.layer.append(knob);
      }
      /** @type {any} */ (knob).handle = handle;
      const w = handle.width ?? 26, h = handle.height ?? 26;
      const wanted = {
        style: `transform: translate(${handle.x - w / 2}px, ${handle.y - h / 2}px); width: ${w}px; height: ${h}px; --knob: ${handle.colour ?? "var(--ink)"}`,
        class: `knob along-${handle.along} ${handle.width ? "area" : "round"}`, "aria-label": handle.name, "aria-valuetext": handle.text,
        "aria-valuenow": String(handle.now ?? 0), "aria-valuemin": String(handle.range?.[0] ?? handle.now ?? 0), "aria-valuemax": String(handle.range?.[1] ?? handle.now ?? 0), "aria-orientation": handle.along === "y" ? "vertical" : "horizontal",
      };
      for (const [name, value] of Object.entries(wanted)) if (knob.getAttribute(name) !== value) knob.setAttribute(name, value);
    }
  }

  knob(key) {
    const knob = make("button", { type: "button", role: "slider", "data-handle": key });
    knob.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      knob.setPointerCapture(event.pointerId);
      knob.focus({ preventScroll: true });
      const box = this.canvas.getBoundingClientRect(), { handle } = knob;
      // What was grabbed off its centre stays off its centre.
      const off = { x: event.clientX - box.left - handle.x, y: event.clientY - box.top - handle.y };
      const move = (e) => {
        const now = this.canvas.getBoundingClientRect();
        knob.handle.drag(e.clientX - now.left - off.x, e.clientY - now.top - off.y);
      };
      const stop = () => {
        knob.removeEventListener("pointermove", move);
        knob.removeEventListener("pointerup", stop);
        knob.removeEventListener("pointercancel", stop);
      };
      knob.addEventListener("pointermove", move);
      knob.addEventListener("pointerup", stop);
      knob.addEventListener("pointercancel", stop);
    });
    knob.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [0, 10], PageDown: [0, -10] }[event.key];
      if (!by) return;
      event.preventDefault();
      knob.handle.nudge(by[0], by[1], event.shiftKey);
    });
    return knob;
  }
}
