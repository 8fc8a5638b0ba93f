// Downloads: the drawings as SVG and PNG, the numbers as CSV, the code to the clipboard. Nothing leaves the browser.
import { tell } from "./dom.js";

/** @param {string} name @param {Blob} blob */
export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * All figures of a panel below each other in one SVG.
 * @param {{width: number, height: number, text: string}[]} drawn
 * @param {string} paper
 */
export function joined(drawn, paper) {
  const width = Math.max(...drawn.map((d) => d.width)), height = drawn.reduce((sum, d) => sum + d.height, 0);
  let top = 0;
  const parts = drawn.map((d, i) => {
    // Names of clips must differ between figures.
    const text = d.text.replaceAll("clip-", `clip-${i}-`).replace("<svg ", `<svg y="${top}" `);
    top += d.height;
    return text;
  });
  return { width, height, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="${paper}"/>${parts.join("")}</svg>\n` };
}

/** The same as a picture of twice the size. */
export async function to_png({ width, height, text }) {
  const image = new Image(), url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = url; });
    const canvas = document.createElement("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Columns as CSV text.
 * @param {Record<string, ArrayLike<number | string>>} columns
 */
export function to_csv(columns) {
  const names = Object.keys(columns), rows = Math.max(...names.map((name) => columns[name].length));
  const cell = (x) => (x === undefined || x !== x ? "" : /[",\n]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
  const lines = [names.map(cell).join(",")];
  for (let i = 0; i < rows; i++) lines.push(names.map((name) => cell(columns[name][i])).join(","));
  return `${lines.join("\n")}\n`;
}

/** @param {string} text @param {string} what */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // From disk some browsers give no clipboard: the older way still works.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  tell(`${what} copied.`);
}
