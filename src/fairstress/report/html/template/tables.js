// ------------------------------------------------------------ tables that sort
function sortBy(table, column, up) {
  const key = (row) => {
    const cell = row.cells[column], data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent;
  };
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const x = key(a), y = key(b);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return up ? order : -order;
  });
  rows.forEach((row) => table.tBodies[0].appendChild(row));
}
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortBy(table, column, up);
    });
  });
}
// ------------------------------------------------------------ tables to take along
function save(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
// numbers in full; text in quotes, and none that a spreadsheet would run as a formula
function csvCell(cell) {
  const data = cell.querySelector("data"), text = cell.textContent.trim();
  if (data && data.textContent === text) return data.value;
  return '"' + (/^[=+\-@]/.test(text) ? "'" + text : text).replaceAll('"', '""') + '"';
}
const csv = (table) => [...table.rows].map((row) => [...row.cells].map(csvCell).join(",")).join("\r\n") + "\r\n";
document.querySelectorAll("table:not(.facts):not(#matrix):not(#moved)").forEach((table, i) => {
  const title = (table.caption ? table.caption.textContent : "").trim(), button = document.createElement("button");
  button.type = "button";
  button.className = "download";
  button.textContent = "CSV";
  button.setAttribute("aria-label", "Download as CSV: " + title);
  button.addEventListener("click", () => save(csv(table), "text/csv;charset=utf-8", `fairstress-table-${i + 1}.csv`));
  table.parentNode.after(button);
});
// what scrolls sideways can be reached by keyboard
function reachable() {
  document.querySelectorAll(".scroll, #graph").forEach((box) => {
    if (box.scrollWidth > box.clientWidth + 1) {
      const title = box.querySelector("caption");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", (box.id === "graph" ? "Graph that scrolls" : "Table that scrolls: " + (title ? title.textContent : "values")));
    } else ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
  });
}

// ------------------------------------------------------------ on paper everything is open
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", reachable));
