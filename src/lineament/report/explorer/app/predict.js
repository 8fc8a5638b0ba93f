// "Predict, then reveal": the curve is hidden until the student has drawn one over the axes, by hand or by keys.
import { pretty } from "../draw/numbers.js";
import { make } from "./dom.js";

const KEY_STEPS = 40; // arrow presses across the axes

/** A sketch over one figure. Points are kept in data coordinates, so that a resize does not move them. */
export class Sketch {
  /**
   * @param {import("./figure.js").Figure} figure its plot has x, y, invert_x, invert_y, box, and `truth(x)`
   * @param {() => void} redraw
   */
  constructor(figure, redraw) {
    this.figure = figure;
    this.redraw = redraw;
    /** @type {[number, number][]} */ this.points = [];
    this.revealed = false;
    this.on = false;
    this.pad = make("div", { class: "pad", tabindex: 0, role: "application", "aria-label": "Draw your prediction: drag, or use the arrow keys to move the pencil" });
    this.pad.addEventListener("pointerdown", (event) => this.begin(event));
    this.pad.addEventListener("keydown", (event) => this.key(event));
    this.says = make("p", { class: "verdict-line", "aria-live": "polite" });
    this.button = make("button", { type: "button", onclick: () => this.reveal(), disabled: true }, "Reveal");
    this.again = make("button", { type: "button", onclick: () => this.clear() }, "Draw again");
    this.bar = make("div", { class: "predict-bar", hidden: true }, this.says, this.button, this.again);
  }

  get hidden() {
    return this.on && !this.revealed;
  }

  start(on) {
    this.on = on;
    this.bar.hidden = !on;
    if (on) this.figure.stage.append(this.pad);
    else this.pad.remove();
    this.clear();
  }

  clear() {
    this.points = [];
    this.revealed = false;
    this.button.disabled = true;
    this.says.textContent = this.on ? `Draw ${this.figure.plot?.asked ?? "the curve"} over the axes, then reveal.` : "";
    if (this.on && !this.pad.isConnected) this.figure.stage.append(this.pad);
    this.redraw();
  }

  begin(event) {
    event.preventDefault();
    this.pad.setPointerCapture(event.pointerId);
    this.points = [];
    const add = (e) => {
      const box = this.figure.canvas.getBoundingClientRect();
      this.add(e.clientX - box.left, e.clientY - box.top);
    };
    const stop = () => { this.pad.removeEventListener("pointermove", add); this.pad.removeEventListener("pointerup", stop); };
    this.pad.addEventListener("pointermove", add);
    this.pad.addEventListener("pointerup", stop);
    add(event);
  }

  /** Only forward in time: a curve has one value at each time. */
  add(px, py) {
    const { plot } = this.figure;
    if (!plot) return;
    const { box } = plot, x = plot.invert_x(Math.min(Math.max(px, box.left), box.left + box.width));
    const y = plot.invert_y(Math.min(Math.max(py, box.top), box.top + box.height));
    while (this.points.length && this.points[this.points.length - 1][0] >= x) this.points.pop();
    this.points.push([x, y]);
    this.button.disabled = this.points.length < 2;
    this.redraw();
  }

  key(event) {
    const { plot } = this.figure, steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter" && this.points.length > 1) this.reveal();
    if (!steps || !plot) return;
    event.preventDefault();
    const { box } = plot, last = this.points[this.points.length - 1];
    const from = last ? [plot.x(last[0]), plot.y(last[1])] : [box.left, box.top + box.height];
    this.add(from[0] + (steps[0] * box.width) / KEY_STEPS, from[1] + (steps[1] * box.height) / KEY_STEPS);
  }

  reveal() {
    this.revealed = true;
    this.pad.remove();
    this.redraw();
    const { plot } = this.figure;
    if (!plot?.truth) return;
    const low = plot.y(plot.box_low ?? 0), high = plot.box.top;
    const gaps = this.points.map(([x, y]) => Math.abs(plot.y(plot.truth(x)) - plot.y(y)) / Math.abs(low - high || 1));
    const mean = gaps.reduce((a, b) => a + b, 0) / gaps.length;
    this.says.textContent = `Your curve is off by ${pretty(100 * mean, 2)} % of the height of the axes on average.`;
  }

  /** The sketch over the drawing. */
  draw(pen, theme) {
    const { plot } = this.figure;
    if (!this.on || !plot || !this.points.length) return;
    pen.line(this.points.map(([x]) => plot.x(x)), this.points.map(([, y]) => plot.y(y)), { colour: theme.ink, width: 3, dash: [7, 5] });
  }
}
