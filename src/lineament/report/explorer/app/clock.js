// The time cursor that every course of learning shares: a place in [0, 1] along what is shown.

/**
 * A cursor over a plot of time, with a handle.
 * @param {import("./figure.js").Drawing} drawing
 * @param {any} plot
 * @param {number} time at the cursor
 * @param {string} text its value in words
 * @param {(now: number) => void} set
 */
export function cursor({ pen, theme, handle, values }, plot, time, text, set) {
  const { box } = plot, px = plot.x(time);
  pen.line([px, px], [box.top, box.top + box.height], { colour: theme.ink, width: 1.2 });
  handle({
    key: "now", name: "Time", text, now: values.now, range: [0, 1], x: px, y: box.top + box.height, along: "x",
    drag: (x) => set((x - box.left) / box.width),
    nudge: (dx, dy, fine) => set(values.now + (dx + dy) * (fine ? 0.002 : 0.01)),
  });
}

/** The time at a place in [0, 1] of a plot, which may be logarithmic. */
export function at_place(now, [first, last], kind) {
  return kind === "log" ? first * (last / first) ** now : first + now * (last - first);
}
