// What the page offers to the console, as window.lineament, under the package's names.
import { read } from "../table/csv.js";
import { forecast } from "../table/forecast.js";
import { check } from "../table/premises.js";
import * as certificates from "../theory/certificates.js";
import * as end_to_end from "../theory/end_to_end.js";
import * as lambda_modes from "../theory/lambda_modes.js";
import * as modes from "../theory/modes.js";
import * as phase_bounds from "../theory/phase_bounds.js";
import * as phases from "../theory/phases.js";
import { Generator } from "../theory/random.js";
import { elementwise } from "../theory/special.js";
import * as twin from "../theory/twin.js";
import * as two_layer from "../theory/two_layer.js";

const matrix = (A) => A.map((row) => Float64Array.from(row));
const plain = (A) => A.map((row) => Array.from(row));
const named = (matrices) => Object.fromEntries(Object.entries(matrices).map(([name, A]) => [name, plain(A)]));
const each = (module, names) => Object.fromEntries(names.map((name) => [name, elementwise(module[name])]));

/**
 * @param {() => import("./view.js").View} view the panel that is shown
 * @param {any} host
 */
export function api(view, host) {
  return Object.freeze({
    modes: each(modes, ["trajectory", "residual", "time_to"]),
    phases: each(phases, ["is_incremental", "threshold", "log_threshold", "timetable"]),
    phase_bounds: each(phase_bounds, ["log_bounds", "log_bounds_corrected", "descent_exponents", "largest_step", "log_bounds_descent"]),
    lambda_modes: { ...each(lambda_modes, ["trajectory", "residual", "time_to", "laziness"]), final_layer_singular_values: lambda_modes.final_layer_singular_values },
    two_layer: {
      balance: (W1, W2) => two_layer.balance(matrix(W1), matrix(W2)),
      trajectory: (t, W1, W2, target) => plain(two_layer.trajectory(t, matrix(W1), matrix(W2), matrix(target))),
      layers: (t, W1, W2, target) => named(two_layer.layers(t, matrix(W1), matrix(W2), matrix(target))),
      grams: (t, W1, W2, target) => named(two_layer.grams(t, matrix(W1), matrix(W2), matrix(target))),
    },
    end_to_end: {
      field: (W, grad, depth) => plain(end_to_end.field(matrix(W), matrix(grad), depth)),
      field_one_output: (w, grad, depth) => Array.from(end_to_end.field_one_output(w, grad, depth)),
    },
    certificates: {
      deficiency_margin: (W, target) => certificates.deficiency_margin(matrix(W), matrix(target)),
      distance_to_deficient: (W, delta) => certificates.distance_to_deficient(matrix(W), delta),
      margin_from_excess: (excess, minimiser, alpha) => certificates.margin_from_excess(excess, matrix(minimiser), alpha),
      guaranteed_rate: elementwise(certificates.guaranteed_rate),
      guaranteed_time: elementwise(certificates.guaranteed_time),
    },
    twin: {
      constants: twin.constants,
      feature_map: twin.feature_map,
      covariance_spread: (X) => twin.covariance_spread(matrix(X)),
      two_layer: (X, y, activation, first, second, spread) => twin.two_layer(matrix(X), y, activation, first, second, spread),
    },
    /** The comparisons of Assumption 3.1 of Hu et al. for inputs X. */
    assumptions: { check: (X) => check(matrix(X)) },
    /** As lineament.forecast, from the text of a CSV file. */
    forecast: (text, options = {}) => forecast(read(text, options.name ?? "table.csv", options), options),
    default_rng: (seed) => new Generator(seed),
    /** The panel that is shown: its values, its code, its frame drawn at once. */
    explorer: {
      get panel() { return view().panel.id; },
      get values() { return structuredClone(view().values); },
      set: (values) => view().set(values),
      render: () => view().render(),
      python: () => view().python(),
      /** The columns that "CSV" saves. */
      columns: () => view().columns(),
      presets: () => host.presets.map((preset) => preset.id),
    },
  });
}
