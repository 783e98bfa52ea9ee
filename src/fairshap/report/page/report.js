"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = (id) => JSON.parse(byId(id).textContent);
  const whole = new Intl.NumberFormat("en");

  function setUpSlider() {
    // A model that does not take the attribute has no risk to lower.
    if (!byId("sweep-data")) return;
    const sweep = data("sweep-data");
    const range = byId("threshold-range");
    const out = byId("threshold-out");
    const show = () => {
      const k = Number(range.value);
      const cells = whole.format(sweep.cells[k]);
      const rows = whole.format(sweep.rows[k]);
      const taken = k === sweep.chosen ? " (chosen)" : "";
      out.textContent =
        `${sweep.thresholds[k]}${taken}: ${cells} cells in ${rows} rows would be edited; ` +
        `mean risk ${sweep.risk[k].toFixed(4)}`;
      range.setAttribute("aria-valuetext", out.textContent);
    };
    range.addEventListener("input", show);
    byId("slider").hidden = false;
    show();
  }

  function setUpLedger() {
    const table = byId("ledger-table");
    if (!table) return;
    const { texts, lines, total } = data("ledger-data");
    const size = 50;
    // Where each field stands in a line; text fields are positions in texts.
    const place = new Map([["row", 0], ["column", 2], ["old", 3], ["new", 4], ["phi", 5], ["reference", 6]]);
    const isText = new Set(["column", "old", "new"]);
    const collator = new Intl.Collator("en", { numeric: true });
    const found = (line) => [line[0], texts[line[1]], texts[line[2]], texts[line[3]], texts[line[4]], line[6]];
    let shown = lines;
    let page = 0;
    let key = "phi";
    let sign = -1;
    let haystack = null;

    const body = table.tBodies[0];
    const status = byId("ledger-status");
    const printed = byId("ledger-printed");
    const rest = byId("ledger-rest");
    const previous = byId("ledger-previous");
    const next = byId("ledger-next");
    const keys = Array.from(table.tHead.rows[0].cells, (cell) => cell.dataset.key);

    function compare(a, b) {
      const k = place.get(key);
      if (!isText.has(key)) return a[k] - b[k];
      const left = texts[a[k]];
      const right = texts[b[k]];
      // Numbers by size, also negative ones; words by the alphabet.
      const difference = left !== "" && right !== "" ? Number(left) - Number(right) : NaN;
      return Number.isNaN(difference) ? collator.compare(left, right) : difference;
    }

    function cell(line, name) {
      const element = document.createElement(name === "column" ? "th" : "td");
      if (name === "column") element.scope = "row";
      if (!isText.has(name)) element.className = "n";
      const value = document.createElement("bdi");
      const raw = line[place.get(name)];
      value.textContent = isText.has(name) ? texts[raw] : name === "phi" ? raw.toFixed(4) : String(raw);
      element.append(value);
      if (name === "row" && texts[line[1]] !== "") {
        const label = document.createElement("small");
        label.textContent = ` ${texts[line[1]]}`;
        element.append(label);
      }
      return element;
    }

    function draw() {
      const pages = Math.max(1, Math.ceil(shown.length / size));
      page = Math.min(page, pages - 1);
      const rows = shown.slice(page * size, page * size + size).map((line) => {
        const row = document.createElement("tr");
        row.append(...keys.map((name) => cell(line, name)));
        return row;
      });
      body.replaceChildren(...rows);
      const what = `${whole.format(shown.length)} of ${whole.format(lines.length)} edits`;
      status.textContent = shown.length ? `${what}, page ${page + 1} of ${whole.format(pages)}` : "No edit matches.";
      previous.disabled = page === 0;
      next.disabled = page === pages - 1;
      sayWhatIsPrinted(rows.length);
    }

    // On paper there is one page of the table, as it stands on the screen, and no other to turn to.
    function sayWhatIsPrinted(count) {
      const some = `${whole.format(count)} of ${whole.format(total)} edits, as searched and sorted on the screen`;
      const areLargest = page === 0 && key === "phi" && sign < 0 && shown.length === lines.length;
      const largest = `The ${whole.format(count)} largest of ${whole.format(total)} edits`;
      printed.textContent = count === total ? "Every edit" : areLargest ? largest : some;
      rest.hidden = count === total;
    }

    function sort() {
      shown.sort((a, b) => sign * compare(a, b) || a[0] - b[0]);
      for (const head of table.tHead.rows[0].cells) {
        if (head.dataset.key === key) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      }
    }

    function search(wanted) {
      if (!haystack) haystack = lines.map((line) => found(line).join("\n").toLocaleLowerCase());
      const words = wanted.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      shown = lines.filter((_, k) => words.every((word) => haystack[k].includes(word)));
      page = 0;
      sort();
      draw();
    }

    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => {
        const name = head.dataset.key;
        sign = name === key ? -sign : isText.has(name) || name !== "phi" ? 1 : -1;
        key = name;
        page = 0;
        sort();
        draw();
      });
      head.replaceChildren(button);
    }
    let timer = 0;
    byId("ledger-search").addEventListener("input", (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => search(event.target.value), 120);
    });
    previous.addEventListener("click", () => { page -= 1; draw(); });
    next.addEventListener("click", () => { page += 1; draw(); });
    byId("ledger-tools").hidden = false;
    byId("ledger-pages").hidden = lines.length <= size;
    shown = lines.slice();
    draw();
  }

  setUpSlider();
  setUpLedger();
})();
