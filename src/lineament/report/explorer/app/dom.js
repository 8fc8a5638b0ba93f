// Making elements. Text always goes in as text: nothing from a file or an address is ever read as markup.

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on…` are listeners; false and null are left out
 * @param {...(Node | string | number | null)} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/**
 * Tells a screen reader, and everyone else for a moment, what has happened.
 * @param {string} message
 */
export function tell(message) {
  const box = document.getElementById("told");
  box.textContent = message;
  box.classList.add("shown");
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => box.classList.remove("shown"), 2600));
}
