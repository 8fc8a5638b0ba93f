// Draws a sweep: a heat map over two axes, or curves over one with a second as colour; the rest is averaged or held.
(() => {
  const { axes, variables } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const H = 440, BOX = { l: 86, r: 128, t: 18, b: 62 };
  let W = 820; // narrower on a phone, so that letters stay large enough to read
  const MEAN = "mean";
  let shown = [];

  const number = (v) => v === null || !Number.isFinite(v) ? "–"
    : v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? power(v) : String(+v.toPrecision(4));
  const power = (v) => {
    const [digits, exponent] = v.toExponential(1).split("e");
    return `${digits === "1.0" ? "" : `${+digits}·`}10${[...String(+exponent)].map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`;
  };
  const word = (v) => typeof v === "number" ? number(v) : String(v);
  const el = (name, attributes, ...inside) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    for (const one of inside) node.append(one);
    return node;
  };
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (t) => {
    const x = Math.min(Math.max(t, 0), 1) * (VIRIDIS.length - 1), i = Math.min(Math.floor(x), VIRIDIS.length - 2);
    const mix = (k) => Math.round(parseInt(VIRIDIS[i].slice(k, k + 2), 16) * (1 - x + i) + parseInt(VIRIDIS[i + 1].slice(k, k + 2), 16) * (x - i));
    return `rgb(${mix(1)},${mix(3)},${mix(5)})`;
  };

  const form = $("controls");
  function select(name, label, options) {
    const list = document.createElement("select");
    list.name = name;
    for (const [value, text] of options) list.add(new Option(text, value));
    const box = document.createElement("label");
    box.append(label, list);
    form.append(box);
    return list;
  }
  const chosen = (name) => form.elements[name]?.value;
  const dims = (name) => variables.find((v) => v.name === name).dims;
  const axis = (name) => axes.find((a) => a.name === name);

  function build(keep = {}) {
    form.replaceChildren();
    select("value", "Value", variables.map((v) => [v.name, v.name]));
    if (keep.value) form.elements.value.value = keep.value;
    const names = dims(chosen("value"));
    const long = [...names].sort((a, b) => axis(b).values.length - axis(a).values.length);
    select("x", "Across", names.map((n) => [n, n]));
    form.elements.x.value = names.includes(keep.x) ? keep.x : axis(names.at(-1)).own ? names.at(-1) : long[0];
    const rest = names.filter((n) => n !== chosen("x"));
    if (rest.length) {
      select("y", "Up, or as colour", rest.map((n) => [n, n]));
      form.elements.y.value = rest.includes(keep.y) ? keep.y : [...rest].sort((a, b) => axis(b).values.length - axis(a).values.length)[0];
      select("as", "Drawn as", [["map", "heat map"], ["curves", "curves"]]);
      form.elements.as.value = keep.as ?? (axis(chosen("x")).own ? "curves" : "map");
    }
    select("scale", "Scale of values", [["linear", "linear"], ["log", "logarithmic"]]);
    form.elements.scale.value = keep.scale ?? (spread(chosen("value")) ? "log" : "linear");
    for (const n of rest.filter((n) => n !== chosen("y"))) {
      select(`at-${n}`, n, [[MEAN, "mean of all"], ...axis(n).values.map((v, i) => [String(i), word(v)])]);
      form.elements[`at-${n}`].value = keep[`at-${n}`] ?? (axis(n).own ? String(axis(n).values.length - 1) : MEAN);
    }
    draw();
  }
  function spread(name) {
    const all = variables.find((v) => v.name === name).values.filter((v) => v !== null);
    let low = Infinity, high = 0;
    for (const v of all) { if (v <= 0) return false; low = Math.min(low, v); high = Math.max(high, v); }
    return high / low > 50;
  }

  // The mean over all that is neither across, up nor held; failed points are left out of it.
  function table() {
    const name = chosen("value"), { values } = variables.find((v) => v.name === name), names = dims(name);
    const x = chosen("x"), y = chosen("y");
    const nx = axis(x).values.length, ny = y ? axis(y).values.length : 1;
    const sum = new Float64Array(nx * ny), count = new Uint32Array(nx * ny);
    const sizes = names.map((n) => axis(n).values.length);
    const held = names.map((n) => { const at = chosen(`at-${n}`); return at === undefined || at === MEAN ? -1 : +at; });
    const place = new Array(names.length).fill(0), ix = names.indexOf(x), iy = names.indexOf(y);
    for (let i = 0; i < values.length; i++) {
      if (values[i] !== null && held.every((h, k) => h < 0 || h === place[k])) {
        const at = place[ix] * ny + (iy < 0 ? 0 : place[iy]);
        sum[at] += values[i]; count[at]++;
      }
      for (let k = names.length - 1; k >= 0 && ++place[k] === sizes[k]; k--) place[k] = 0;
    }
    return Array.from(sum, (s, i) => count[i] ? s / count[i] : null);
  }

  function ticks(low, high, log) {
    if (log) {
      const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), step = Math.max(1, Math.ceil((last - first + 1) / 6));
      const found = [];
      for (let k = first; k <= last; k += step) found.push(10 ** k);
      return found.length > 1 ? found : ticks(low, high, false).filter((v) => v > 0);
    }
    const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough), found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
    return found;
  }
  const logAxis = (values) => values.every((v) => typeof v === "number" && v > 0) && values.length > 2
    && Math.max(...values) / Math.min(...values) >= 50;

  function draw() {
    const log = chosen("scale") === "log", x = axis(chosen("x")), y = chosen("y") ? axis(chosen("y")) : null;
    const all = table(), ny = y ? y.values.length : 1, ink = style("--ink"), grid = style("--grid") || style("--line"), soft = style("--soft");
    const good = all.filter((v) => v !== null && (!log || v > 0));
    let low = Math.min(...good), high = Math.max(...good);
    if (!good.length) { low = 0; high = 1; } else if (low === high) { low -= Math.abs(low) / 10 || 1; high += Math.abs(high) / 10 || 1; }
    const f = log ? Math.log : (v) => v, share = (v) => (f(v) - f(low)) / (f(high) - f(low));
    W = $("drawing").clientWidth < 560 ? 520 : 820;
    const svg = el("svg", { viewBox: `0 0 ${W} ${H}`, xmlns: "http://www.w3.org/2000/svg", "font-size": 13, "font-family": "sans-serif", fill: ink });
    const wide = W - BOX.l - BOX.r, tall = H - BOX.t - BOX.b, map = y && chosen("as") === "map";
    const text = (tx, ty, words, more = {}) => svg.append(el("text", { x: tx, y: ty, fill: ink, ...more }, words));
    shown = [];
    if (map) {
      const cw = wide / x.values.length, ch = tall / ny;
      for (let i = 0; i < x.values.length; i++) for (let j = 0; j < ny; j++) {
        const v = all[i * ny + j], empty = v === null || (log && v <= 0);
        svg.append(el("rect", { x: BOX.l + i * cw, y: BOX.t + tall - (j + 1) * ch, width: cw + .3, height: ch + .3, fill: empty ? "none" : colour(share(v)), stroke: empty ? grid : "none", "stroke-width": .4 }));
        shown.push([x.values[i], y.values[j], v]);
      }
      names(x, (i) => BOX.l + (i + .5) * cw, true); names(y, (j) => BOX.t + tall - (j + .5) * ch, false);
      for (let k = 0; k < 60; k++) svg.append(el("rect", { x: W - BOX.r + 24, y: BOX.t + tall * (1 - (k + 1) / 60), width: 14, height: tall / 60 + .4, fill: colour((k + .5) / 60) }));
      for (const t of ticks(low, high, log)) text(W - BOX.r + 44, BOX.t + tall * (1 - share(t)) + 4, number(t));
      text(W - BOX.r + 24, H - BOX.b + 24, chosen("value"), { "font-size": 12, fill: soft });
    } else {
      const lx = logAxis(x.values), numeric = x.values.every((v) => typeof v === "number");
      const g = lx ? Math.log : (v) => v, at = (i) => numeric ? g(x.values[i]) : i, first = at(0), last = at(x.values.length - 1);
      const px = (i) => BOX.l + (last === first ? .5 : (at(i) - first) / (last - first)) * wide, py = (v) => BOX.t + tall * (1 - share(v));
      for (const t of ticks(low, high, log)) {
        svg.append(el("line", { x1: BOX.l, x2: W - BOX.r, y1: py(t), y2: py(t), stroke: grid }));
        text(BOX.l - 8, py(t) + 4, number(t), { "text-anchor": "end" });
      }
      names(x, px, true);
      text(BOX.l - 70, BOX.t + tall / 2, chosen("value"), { "text-anchor": "middle", transform: `rotate(-90 ${BOX.l - 70} ${BOX.t + tall / 2})` });
      for (let j = 0; j < ny; j++) {
        let path = "";
        for (let i = 0; i < x.values.length; i++) {
          const v = all[i * ny + j];
          if (v === null || (log && v <= 0)) { path += " "; continue; }
          path += `${path.endsWith(" ") || !path ? "M" : "L"}${px(i).toFixed(1)},${py(v).toFixed(1)}`;
        }
        const stroke = ny === 1 ? style("--c0") || colour(.3) : colour(.08 + .8 * j / (ny - 1));
        svg.append(el("path", { d: path.trim(), fill: "none", stroke, "stroke-width": 2, "stroke-linejoin": "round" }));
        for (let i = 0; i < x.values.length; i++) shown.push([x.values[i], ...(y ? [y.values[j]] : []), all[i * ny + j]]);
        if (y && (ny <= 14 || j % Math.ceil(ny / 14) === 0)) {
          const line = BOX.t + 24 + 18 * Math.floor(j / Math.ceil(ny / 14));
          svg.append(el("line", { x1: W - BOX.r + 18, x2: W - BOX.r + 38, y1: line, y2: line, stroke, "stroke-width": 2 }));
          text(W - BOX.r + 44, line + 4, word(y.values[j]));
        }
      }
      if (y) text(W - BOX.r + 18, BOX.t + 6, y.name, { "font-size": 12, fill: soft });
    }
    const mark = el("rect", { width: 0, height: 0, fill: "none", stroke: ink, "stroke-width": 1.5, "pointer-events": "none" });
    svg.append(mark);

    function names(a, where, across) {
      const every = Math.ceil(a.values.length / (across ? W / 105 : 14));
      for (let i = 0; i < a.values.length; i += every) {
        if (across) text(where(i), H - BOX.b + 18, word(a.values[i]), { "text-anchor": "middle" });
        else text(BOX.l - 8, where(i) + 4, word(a.values[i]), { "text-anchor": "end" });
      }
      if (across) text(BOX.l + wide / 2, H - BOX.b + 44, a.name, { "text-anchor": "middle" });
      else text(BOX.l - 70, BOX.t + tall / 2, a.name, { "text-anchor": "middle", transform: `rotate(-90 ${BOX.l - 70} ${BOX.t + tall / 2})` });
    }
    function point(event) {
      const box = svg.getBoundingClientRect(), mx = (event.clientX - box.left) / box.width * W, my = (event.clientY - box.top) / box.height * H;
      if (mx < BOX.l || mx > W - BOX.r || my < BOX.t || my > H - BOX.b) return;
      let i, j = 0;
      if (map) {
        i = Math.min(Math.floor((mx - BOX.l) / wide * x.values.length), x.values.length - 1);
        j = Math.min(Math.floor((H - BOX.b - my) / tall * ny), ny - 1);
        const cw = wide / x.values.length, ch = tall / ny;
        Object.entries({ x: BOX.l + i * cw, y: BOX.t + tall - (j + 1) * ch, width: cw, height: ch }).forEach(([k, v]) => mark.setAttribute(k, v));
      } else {
        const lx = logAxis(x.values), numeric = x.values.every((v) => typeof v === "number"), g = lx ? Math.log : (v) => v;
        const at = (k) => numeric ? g(x.values[k]) : k, first = at(0), last = at(x.values.length - 1);
        const px = (k) => BOX.l + (last === first ? .5 : (at(k) - first) / (last - first)) * wide;
        i = x.values.reduce((best, _, k) => Math.abs(px(k) - mx) < Math.abs(px(best) - mx) ? k : best, 0);
        let near = Infinity;
        for (let k = 0; k < ny; k++) {
          const v = all[i * ny + k];
          const away = v === null || (log && v <= 0) ? Infinity : Math.abs(BOX.t + tall * (1 - share(v)) - my);
          if (away < near) { near = away; j = k; }
        }
        const v = all[i * ny + j];
        if (v !== null && near < Infinity) Object.entries({ x: px(i) - 4, y: BOX.t + tall * (1 - share(v)) - 4, width: 8, height: 8 }).forEach(([k, w]) => mark.setAttribute(k, w));
      }
      const v = all[i * ny + j];
      $("told").textContent = `${x.name} ${word(x.values[i])}${y ? `, ${y.name} ${word(y.values[j])}` : ""}: ${chosen("value")} ${v === null ? "not there (failed or not run)" : number(v)}`;
    }
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    $("drawing").replaceChildren(svg);
    $("drawing").setAttribute("aria-label", `${chosen("value")} over ${x.name}${y ? ` and ${y.name}` : ""}, from ${number(low)} to ${number(high)}`);
  }

  function save(name, kind, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const file = (end) => `${[chosen("value"), chosen("x"), chosen("y")].filter(Boolean).join("-")}.${end}`;
  const cell = (v) => v === null ? "" : typeof v === "number" ? String(v) : `"${String(v).replaceAll('"', '""')}"`;
  $("csv").addEventListener("click", () => save(file("csv"), "text/csv",
    [[chosen("x"), chosen("y"), chosen("value")].filter(Boolean), ...shown].map((row) => row.map(cell).join(",")).join("\n") + "\n"));
  $("svg").addEventListener("click", () => save(file("svg"), "image/svg+xml", new XMLSerializer().serializeToString($("drawing").firstChild)));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const keep = Object.fromEntries(new FormData(form));
    if (event.target.name === "value") for (const name of ["scale", "as", "x", "y"]) delete keep[name];
    build(keep);
  });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  build();
})();
