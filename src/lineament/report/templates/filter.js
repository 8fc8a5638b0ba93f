// Filters the table of claims; the address keeps the filter, so that it can be bookmarked and shared.
(() => {
  const form = document.getElementById("filter");
  const rows = [...document.querySelectorAll("table.claims tbody tr")];
  const count = document.getElementById("filter-count");
  const none = document.getElementById("none");

  function apply() {
    const { paper, verdict, words } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (paper && row.dataset.paper !== paper)
        || (verdict && !row.dataset.verdicts.split("|").includes(verdict))
        || !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
    none.hidden = shown > 0;
  }

  function read() {
    if (location.hash === "#main") return; // the link that skips to the content, not a filter
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const name of ["paper", "verdict", "words"]) form.elements[name].value = kept.get(name) ?? "";
    // A value that no option has leaves a list blank: show all instead.
    for (const list of form.querySelectorAll("select")) if (list.selectedIndex < 0) list.value = "";
    apply();
  }

  function write() {
    const kept = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `#${kept}`);
    apply();
  }

  form.addEventListener("input", write);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(write));
  window.addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
