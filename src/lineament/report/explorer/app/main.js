// The page: six panels as tabs, one state, and that state in the address.
import { panel as lazy_rich } from "../panels/lazy_rich.js";
import { panel as modes } from "../panels/modes.js";
import { panel as phases } from "../panels/phases.js";
import { panel as preconditioner } from "../panels/preconditioner.js";
import { panel as table } from "../panels/table.js";
import { panel as twin } from "../panels/twin.js";
import { theme, watch } from "../draw/theme.js";
import { api } from "./api.js";
import { make, tell } from "./dom.js";
import { from_hash, read, to_hash } from "./state.js";
import { valid, View } from "./view.js";

const PANELS = [modes, phases, lazy_rich, preconditioner, twin, table];
const LINGER = 250; // milliseconds after the last change until the address follows

const given = JSON.parse(document.getElementById("explorer-data").textContent);
const known = Object.fromEntries(PANELS.map((panel) => [panel.id, { defaults: panel.defaults, valid: (key, value) => valid(panel, key, value) }]));
let current = PANELS[0].id, timer = 0, settled = "";

const host = {
  samples: given.samples,
  presets: given.presets,
  settle: () => settle(),
  changed() {
    clearTimeout(timer);
    timer = window.setTimeout(settle, LINGER);
  },
  /** Takes a setting into another panel; the browser's way back returns to this one. */
  take(id, values) {
    settle();
    views[id].preset = null;
    open(id, { ...structuredClone(views[id].panel.defaults), ...values });
    history.pushState(null, "", address());
    settled = location.hash;
    tell(`Taken into ${views[id].panel.title}.`);
  },
  show_preset(id) {
    const chosen = given.presets.find((each) => each.id === id);
    if (!chosen) return false;
    const { defaults } = views[chosen.panel].panel, values = structuredClone(defaults);
    for (const [key, text] of Object.entries(chosen.values)) values[key] = read(String(text), defaults[key]);
    views[chosen.panel].preset = id;
    open(chosen.panel, values);
    settle();
    return true;
  },
};
/** @type {Record<string, View>} */
const views = Object.fromEntries(PANELS.map((panel) => [panel.id, new View(panel, host)]));

function address() {
  return to_hash(current, views[current].values, views[current].preset);
}

/** Writes the state into the address at once. */
function settle() {
  clearTimeout(timer);
  settled = address();
  if (location.hash !== settled) history.replaceState(null, "", settled);
}

/** Shows a panel, with new values if there are any. */
function open(id, values = null) {
  if (id !== current) views[current].halt();
  current = id;
  for (const panel of PANELS) {
    const chosen = panel.id === id, tab = document.getElementById(`tab-${panel.id}`);
    views[panel.id].element.hidden = !chosen;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  const view = views[id];
  view.figures.forEach((figure) => { figure.measured = 0; });
  if (values) { view.values = values; view.sketches.forEach((sketch) => sketch.on && sketch.clear()); }
  reveal_tab(document.getElementById(`tab-${id}`));
  view.stale ||= Boolean(values) || !view.model;
  view.render();
}

/** On a narrow screen the tabs scroll: the chosen one, and a little of its neighbour, come into sight. */
function reveal_tab(tab) {
  const list = tab.parentElement, left = tab.offsetLeft - list.offsetLeft;
  if (left < list.scrollLeft || left + tab.offsetWidth > list.scrollLeft + list.clientWidth) list.scrollLeft = left - 40;
}

function follow() {
  if (location.hash === "#main" || (settled && location.hash === settled)) return; // the link that skips to the content
  const asked = from_hash(location.hash, known);
  if (!asked.panel) {
    const named = asked.preset ?? given.preset;
    if (named && host.show_preset(named)) return window.scrollTo({ top: 0, behavior: "instant" });
    if (named) tell(`There is no preset ${named}.`);
    return open(current);
  }
  views[asked.panel].preset = given.presets.some((each) => each.id === asked.preset) ? asked.preset : null;
  open(asked.panel, { ...structuredClone(views[asked.panel].panel.defaults), ...asked.values });
  if (asked.refused.length) views[asked.panel].refuse(`the address holds values that are not allowed here: ${asked.refused.join(", ")}`);
  return undefined;
}

function tabs() {
  const list = document.getElementById("tabs");
  PANELS.forEach((panel, i) => {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`, onclick: () => { open(panel.id); host.changed(); } }, make("span", { class: "number" }, `${i + 1}`), ` ${panel.title}`);
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -i, End: PANELS.length - 1 - i }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const next = PANELS[(i + by + PANELS.length) % PANELS.length].id;
      open(next);
      host.changed();
      document.getElementById(`tab-${next}`).focus();
    });
    list.append(tab);
  });
}

tabs();
document.getElementById("main").append(...PANELS.map((panel) => views[panel.id].element));
window.lineament = api(() => views[current], host);
window.addEventListener("hashchange", follow);
watch(() => {
  for (const view of Object.values(views)) view.theme = theme();
  views[current].draw();
});
new ResizeObserver(() => views[current].resize()).observe(document.getElementById("main"));
follow();
