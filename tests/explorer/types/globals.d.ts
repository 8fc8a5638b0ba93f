// What the page has beside its modules.
declare const d3: any; // scales, shapes and contours, vendored without types
interface Window { lineament: unknown }
