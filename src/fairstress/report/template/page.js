"use strict";
(function () {
  const r = JSON.parse(document.getElementById("results").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const shown = (x, digits) => (x === null || x === undefined ? "none" : x === 0 ? "0" : Number(x.toPrecision(digits || 4)).toString());

  function make(parent, name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }
  function canvas(id, width, height, label) {
    const svg = make(document.getElementById(id), "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    return svg;
  }
  const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  // ------------------------------------------------------------ tables that sort
  for (const table of document.querySelectorAll("table.sorts")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", () => {
        const body = table.tBodies[0], up = head.getAttribute("aria-sort") !== "ascending";
        const key = (row) => {
          const cell = row.cells[column], data = cell.querySelector("data");
          return data ? Number(data.value) : cell.textContent;
        };
        const rows = [...body.rows].sort((a, b) => {
          const x = key(a), y = key(b);
          const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return up ? order : -order;
        });
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.forEach((row) => body.appendChild(row));
      });
    });
  }

  // ------------------------------------------------------------ on paper everything is open
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));

  // ------------------------------------------------------------ the graph
  (function graph() {
    const names = [r.graph.protected, ...r.graph.features, r.graph.outcome];
    const edges = r.graph.edges || [], depth = {};
    names.forEach((name) => (depth[name] = 0));
    for (let round = 0; round < names.length; round++)
      for (const e of edges) depth[e.to] = Math.max(depth[e.to], depth[e.from] + 1);
    if (!edges.some((e) => e.to === r.graph.outcome)) depth[r.graph.outcome] = Math.max(...names.map((n) => depth[n])) + 1;
    const columns = {};
    names.forEach((name) => (columns[depth[name]] = columns[depth[name]] || []).push(name));
    const wide = 640, tallest = Math.max(...Object.values(columns).map((c) => c.length)), high = Math.max(200, 95 * tallest + 60);
    const svg = canvas("graph", wide, high, "The causal graph; the table below says the same.");
    const defs = make(svg, "defs", {});
    for (const id of ["arrow", "arrow-fair", "arrow-pair"]) {
      const marker = make(defs, "marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
      make(marker, "path", { d: "M0 0L10 5L0 10z", fill: id === "arrow" ? "var(--ink)" : id === "arrow-fair" ? "var(--one)" : "var(--two)" });
    }
    const last = Math.max(...names.map((n) => depth[n])), place = {};
    for (const level in columns)
      columns[level].forEach((name, i) => {
        const shift = (Number(level) % 2) * 26;
        place[name] = { x: 80 + (wide - 160) * (last ? level / last : 0.5), y: (high * (i + 0.5)) / columns[level].length + shift - 13 };
      });
    const edge = (a, b, bend, attributes) => {
      const p = place[a], q = place[b], dx = q.x - p.x, dy = q.y - p.y, length = Math.hypot(dx, dy) || 1;
      const nx = -dy / length, ny = dx / length, mx = (p.x + q.x) / 2 + bend * nx, my = (p.y + q.y) / 2 + bend * ny;
      const ends = [[p, mx, my], [q, mx, my]].map(([o, tx, ty]) => {
        const ex = tx - o.x, ey = ty - o.y, el = Math.hypot(ex, ey) || 1;
        return `${o.x + (ex / el) * 34} ${o.y + (ey / el) * 24}`;
      });
      make(svg, "path", { d: `M${ends[0]}Q${mx} ${my} ${ends[1]}`, ...attributes });
    };
    for (const e of edges) edge(e.from, e.to, Math.abs(depth[e.to] - depth[e.from]) > 1 ? 120 : 0, { class: e.fair ? "edge fair" : "edge", "marker-end": e.fair ? "url(#arrow-fair)" : "url(#arrow)" });
    for (const [a, b] of r.graph.pairs) edge(a, b, -58, { class: "pair", "marker-end": "url(#arrow-pair)", "marker-start": "url(#arrow-pair)" });
    for (const name of names) {
      make(svg, "ellipse", { class: "node", cx: place[name].x, cy: place[name].y, rx: 34, ry: 22 });
      const label = make(svg, "text", { x: place[name].x, y: place[name].y + 4, "text-anchor": "middle" }, short(name, 9));
      make(label, "title", {}, name);
    }
  })();

  if (!r.curve) return;
  const points = r.curve.points, scale = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);

  // ------------------------------------------------------------ the curve, with a slider
  const width = 640, height = 330, left = 70, right = 20, top = 16, bottom = 46;
  const highest = Math.max(...points.map((p) => p.cfu), ...points.map((p) => p.cfu_unpenalised || 0), 1e-300);
  const visible = r.levels.filter((level) => level.value <= 1.6 * highest);
  const most = Math.max(highest, ...visible.map((level) => level.value)) * 1.06;
  const X = scale(0, points[points.length - 1].p_max || 1, left, width - right), Y = scale(0, most, height - bottom, top);
  const svg = canvas("curve", width, height, "Worst-case CFU for each budget; the table below has the values.");
  for (let i = 0; i <= 4; i++) {
    const y = Y((most * i) / 4), p = (points[points.length - 1].p_max * i) / 4;
    make(svg, "line", { class: "gridline", x1: left, x2: width - right, y1: y, y2: y });
    make(svg, "text", { x: left - 6, y: y + 4, "text-anchor": "end" }, shown((most * i) / 4, 2));
    make(svg, "text", { x: X(p), y: height - bottom + 18, "text-anchor": "middle" }, shown(p, 2));
  }
  make(svg, "text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "budget p_max");
  make(svg, "text", { x: left, y: 12, "text-anchor": "start" }, "worst-case CFU");
  const path = (key) => points.filter((p) => p[key] !== null).map((p, i) => `${i ? "L" : "M"}${X(p.p_max)} ${Y(p[key])}`).join("");
  make(svg, "path", { class: "without", d: path("cfu_unpenalised") });
  make(svg, "path", { class: "curve", d: path("cfu") });
  for (const level of visible) {
    make(svg, "line", { class: "level", x1: left, x2: width - right, y1: Y(level.value), y2: Y(level.value) });
    make(svg, "text", { x: width - right, y: Y(level.value) - 4, "text-anchor": "end" }, short(level.name, 40));
  }
  const now = make(svg, "line", { class: "now", y1: top, y2: height - bottom });
  const tip = document.getElementById("tip"), slider = document.getElementById("budget"), matrix = document.getElementById("matrix"), moved = document.getElementById("moved");
  points.forEach((point, i) => {
    const dot = make(svg, "circle", { class: "dot", cx: X(point.p_max), cy: Y(point.cfu), r: 5, tabindex: 0, role: "button", "aria-label": `budget ${shown(point.p_max)}, CFU ${shown(point.cfu)}` });
    make(dot, "title", {}, `p_max ${shown(point.p_max)}: CFU ${shown(point.cfu)}`);
    for (const event of ["mouseenter", "focus", "click"]) dot.addEventListener(event, () => show(i));
  });
  const cell = (row, tag, text, colour) => {
    const node = document.createElement(tag);
    node.textContent = text;
    if (tag === "th") node.scope = row.parentNode.tagName === "THEAD" ? "col" : "row";
    if (colour) node.style.background = colour;
    row.appendChild(node);
  };
  function show(i) {
    const point = points[i];
    slider.value = i;
    slider.setAttribute("aria-valuetext", `budget ${shown(point.p_max)}`);
    now.setAttribute("x1", X(point.p_max));
    now.setAttribute("x2", X(point.p_max));
    tip.textContent = `Budget p_max ${shown(point.p_max)}: worst-case CFU ${shown(point.cfu)}, without structural penalty ${shown(point.cfu_unpenalised)}; log likelihood ${shown(-point.log_likelihood_drop, 3)} against Model A; smallest eigenvalue ${shown(point.min_eigenvalue, 3)}.`;
    matrix.textContent = "";
    const caption = matrix.createCaption();
    caption.textContent = `The correlation of the errors that is worst within p_max ${shown(point.p_max)}`;
    const head = matrix.createTHead().insertRow();
    cell(head, "th", "");
    r.graph.variables.forEach((name) => cell(head, "th", name));
    const body = matrix.createTBody();
    point.correlation.forEach((values, j) => {
      const row = body.insertRow();
      cell(row, "th", r.graph.variables[j]);
      values.forEach((value, k) => cell(row, "td", j === k ? "1" : shown(value, 3), j === k ? "" : value > 0 ? `rgba(11,92,143,${0.45 * Math.abs(value)})` : `rgba(168,72,15,${0.45 * Math.abs(value)})`));
    });
    moved.textContent = "";
    moved.createCaption().textContent = `Mean predictions within p_max ${shown(point.p_max)}`;
    const names = moved.createTHead().insertRow();
    ["group", "as they are", "as counterfactual people", "change"].forEach((name) => cell(names, "th", name));
    const rows = moved.createTBody();
    for (const g of point.groups) {
      const row = rows.insertRow();
      cell(row, "th", g.group);
      [g.factual, g.counterfactual, g.counterfactual - g.factual].forEach((value) => cell(row, "td", shown(value, 4)));
    }
  }
  slider.max = points.length - 1;
  slider.addEventListener("input", () => show(Number(slider.value)));
  show(Math.max(0, points.findIndex((p) => p.p_max === r.agreed.p_max)));

  // ------------------------------------------------------------ who is affected
  (function spread() {
    const groups = r.by_group, wide = 640, high = 46 * groups.length + 44, svg2 = canvas("spread", wide, high, "Spread of CFU by group; the table below has the values.");
    const largest = Math.max(...groups.map((g) => g.q95), 1e-300), S = scale(0, largest * 1.05, 130, wide - 20);
    groups.forEach((g, i) => {
      const y = 22 + 46 * i;
      const label = make(svg2, "text", { x: 122, y: y + 5, "text-anchor": "end" }, short(g.group, 16));
      make(label, "title", {}, g.group);
      make(svg2, "line", { class: "axis", x1: S(g.q5), x2: S(g.q95), y1: y, y2: y });
      make(svg2, "rect", { class: "bar", x: S(g.q25), y: y - 10, width: Math.max(1, S(g.q75) - S(g.q25)), height: 20 });
      make(svg2, "line", { x1: S(g.q50), x2: S(g.q50), y1: y - 14, y2: y + 14, stroke: "var(--ink)", "stroke-width": 2.5 });
    });
    for (let i = 0; i <= 4; i++) make(svg2, "text", { x: S((largest * i) / 4), y: high - 6, "text-anchor": "middle" }, shown((largest * i) / 4, 2));
  })();

  // ------------------------------------------------------------ downloads
  document.getElementById("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(r, null, 2)], { type: "application/json" }));
    link.download = "fairstress-results.json";
    link.click();
  });
})();
