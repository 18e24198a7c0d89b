"use strict";
(function () {
  const r = JSON.parse(document.getElementById("results").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const find = (id) => document.getElementById(id);
  const noise = r.curve ? r.curve.negligible : 0;

  // ------------------------------------------------------------ numbers and names
  function shown(x, digits) {
    if (x === null || x === undefined) return "none";
    if (x === 0) return "0";
    const size = Math.abs(x), sign = x < 0 ? "−" : "";
    if (size >= 1e-4 && size < 1e6) return sign + Number(size.toPrecision(digits || 4)).toString();
    return sign + size.toExponential((digits || 4) - 1).replace(/\.?0+e/, "e").replace("-", "−");
  }
  const cfu = (x, digits) => shown(x !== null && Math.abs(x) <= noise ? 0 : x, digits);
  // control characters and those that reverse text are written out, as in the tables
  const visible = (text) => String(text).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, (c) => {
    const code = c.charCodeAt(0), letter = { "\n": "n", "\r": "r", "\t": "t" }[c];
    return "\\" + (letter || (code < 256 ? "x" + code.toString(16).padStart(2, "0") : "u" + code.toString(16).padStart(4, "0")));
  });
  function short(text, most) {
    const letters = [...visible(text)]; // by characters, so that none is cut in half
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
  }

  // ------------------------------------------------------------ elements; text only ever becomes text
  function make(parent, name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }
  function add(parent, name, attributes, text) {
    const node = document.createElement(name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }
  const canvas = (parent, width, height, role, label) =>
    make(parent, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role, "aria-label": label });
  const number = (parent, value, text) => add(parent, "data", { value: String(value) }, text);
  function caption(table, before, value, after) {
    const node = table.createCaption();
    node.append(before);
    number(node, value, shown(value));
    node.append(after || "");
  }

  // ------------------------------------------------------------ scales
  const scale = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);
  function ticks(high, about) {
    const raw = high / about, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((k) => k * power >= raw) * power, found = [];
    for (let i = 0; i * step <= high * 1.0001; i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  }
  function powers(low, high) {
    const found = [];
    for (let k = Math.ceil(Math.log10(low)); k <= Math.floor(Math.log10(high)); k++) found.push(10 ** k);
    return found;
  }

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
  // what scrolls sideways can be reached by keyboard
  function reachable() {
    document.querySelectorAll(".scroll").forEach((box) => {
      if (box.scrollWidth > box.clientWidth + 1) {
        const title = box.querySelector("caption");
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", "Table that scrolls: " + (title ? title.textContent : "values"));
      } else ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    });
  }

  // ------------------------------------------------------------ on paper everything is open
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", reachable));

  // ------------------------------------------------------------ the graph
  function layout(names, edges) {
    const depth = new Map(names.map((name) => [name, 0])), columns = new Map();
    for (let round = 0; round < names.length; round++)
      for (const e of edges) depth.set(e.to, Math.max(depth.get(e.to), depth.get(e.from) + 1));
    if (!edges.some((e) => e.to === r.graph.outcome)) depth.set(r.graph.outcome, Math.max(...depth.values()) + 1);
    names.forEach((name) => columns.set(depth.get(name), [...(columns.get(depth.get(name)) || []), name]));
    return { depth, columns, last: Math.max(...depth.values()) };
  }
  function arrowheads(svg) {
    const defs = make(svg, "defs", {}), colours = { arrow: "ink", "arrow-fair": "one", "arrow-pair": "two" };
    for (const id in colours) {
      const marker = make(defs, "marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
      make(marker, "path", { d: "M0 0L10 5L0 10z", fill: `var(--${colours[id]})` });
    }
  }
  function link(svg, p, q, half, bend, attributes) {
    const dx = q.x - p.x, dy = q.y - p.y, length = Math.hypot(dx, dy) || 1;
    const mx = (p.x + q.x) / 2 - (bend * dy) / length, my = (p.y + q.y) / 2 + (bend * dx) / length;
    const ends = [p, q].map((o) => {
      const ex = mx - o.x, ey = my - o.y; // to the border of the box, and a little on
      const t = Math.min((half + 3) / (Math.abs(ex) || 1e-9), 21 / (Math.abs(ey) || 1e-9));
      return `${o.x + ex * t} ${o.y + ey * t}`;
    });
    make(svg, "path", { d: `M${ends[0]}Q${mx} ${my} ${ends[1]}`, ...attributes });
  }
  function drawGraph(box, width) {
    const names = [r.graph.protected, ...r.graph.features, r.graph.outcome], { depth, columns, last } = layout(names, r.graph.edges);
    const wide = Math.max(width, 100 * (last + 1)), half = Math.min(65, wide / (last + 1) / 2 - 16);
    const tallest = Math.max(...[...columns.values()].map((c) => c.length)), high = Math.max(210, 100 * tallest + 60), place = new Map();
    const svg = canvas(box, wide, high, "img", "The causal graph; the table below says the same.");
    arrowheads(svg);
    for (const [level, column] of columns)
      column.forEach((name, i) =>
        place.set(name, { x: half + 4 + (wide - 2 * half - 8) * (last ? level / last : 0.5), y: (high * (i + 0.5)) / column.length + (level % 2) * 30 - 15 }));
    for (const e of r.graph.edges)
      link(svg, place.get(e.from), place.get(e.to), half, depth.get(e.to) - depth.get(e.from) > 1 ? 110 : 0, { class: e.fair ? "edge fair" : "edge", "marker-end": e.fair ? "url(#arrow-fair)" : "url(#arrow)" });
    for (const [a, b] of r.graph.pairs) {
      const [p, q] = place.get(a).x <= place.get(b).x ? [a, b] : [b, a]; // bends upwards
      link(svg, place.get(p), place.get(q), half, Math.abs(depth.get(a) - depth.get(b)) > 1 ? -120 : -70, { class: "pair", "marker-end": "url(#arrow-pair)", "marker-start": "url(#arrow-pair)" });
    }
    for (const name of names) {
      const { x, y } = place.get(name);
      make(svg, "rect", { class: name === r.graph.outcome ? "node outcome" : "node", x: x - half, y: y - 18, width: 2 * half, height: 36, rx: 14 });
      const label = make(svg, "text", { x, y: y + 4, "text-anchor": "middle" }, short(name, Math.max(4, Math.floor(half / 4.2))));
      make(label, "title", {}, visible(name));
    }
  }

  const drawn = [["graph", drawGraph]];
  if (r.curve) drawn.push(["curve", drawCurve], ["spread", drawSpread]);
  if (r.curve && find("profiles")) drawn.push(["profiles", drawProfiles]);

  // ------------------------------------------------------------ the curve
  const points = r.curve ? r.curve.points : [], last = points.length - 1;
  let current = r.agreed ? Math.max(0, points.findIndex((p) => p.p_max === r.agreed.p_max)) : 0;
  let showCurrent = () => {};

  function heights(isLog, top, bottom) {
    const values = points.flatMap((p) => [p.cfu, p.cfu_unpenalised]).filter((x) => x > noise);
    const highest = Math.max(...values, 1e-300), visibleLevels = r.levels.filter((level) => level.value <= 1.6 * highest);
    const most = Math.max(highest, ...visibleLevels.map((level) => level.value)) * (isLog ? 1.5 : 1.08);
    if (!isLog) return { Y: scale(0, most, bottom, top), at: ticks(most, 4), levels: visibleLevels, fits: () => true };
    const least = Math.min(...values, ...visibleLevels.map((level) => level.value), most / 10) / 1.5;
    const onLog = scale(Math.log10(least), Math.log10(most), bottom, top);
    return { Y: (x) => onLog(Math.log10(x)), at: powers(least, most), levels: visibleLevels, fits: (x) => x >= least };
  }
  function drawAxes(svg, frame, X, Y, at) {
    for (const value of at) {
      make(svg, "line", { class: "gridline", x1: frame.left, x2: frame.right, y1: Y(value), y2: Y(value) });
      make(svg, "text", { x: frame.left - 6, y: Y(value) + 4, "text-anchor": "end", "aria-hidden": true }, shown(value, 2));
    }
    for (const value of ticks(points[last].p_max || 1, Math.max(3, Math.floor((frame.right - frame.left) / 90))))
      make(svg, "text", { x: X(value), y: frame.bottom + 17, "text-anchor": "middle", "aria-hidden": true }, shown(value, 2));
    make(svg, "line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom });
    make(svg, "text", { x: (frame.left + frame.right) / 2, y: frame.height - 6, "text-anchor": "middle" }, "budget p_max");
    make(svg, "text", { x: 4, y: 13 }, "worst-case CFU");
  }
  function drawLevels(svg, frame, Y, levels) {
    let free = Infinity; // labels climb out of each other's way, from the lowest level up
    for (const level of [...levels].sort((a, b) => a.value - b.value)) {
      make(svg, "line", { class: "level", x1: frame.left, x2: frame.right, y1: Y(level.value), y2: Y(level.value) });
      const y = Math.min(Y(level.value) - 5, free - 16);
      const label = make(svg, "text", { class: "label", x: frame.left + 8, y }, short(level.name, Math.floor((frame.right - frame.left) / 9)));
      make(label, "title", {}, visible(level.name));
      free = y;
    }
  }
  const broken = (levels) => levels.filter((level) => level.breaking_point !== null && level.breaking_point <= points[last].p_max);
  function drawLine(svg, X, Y, levels, fits) {
    // the curve is known at the budgets, and where it reaches a level
    const known = [...points.map((p) => [p.p_max, p.cfu]), ...broken(levels).map((level) => [level.breaking_point, level.value])];
    const line = known.filter(([, y]) => fits(y)).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    make(svg, "path", { class: "curve", d: line.map(([x, y], i) => `${i ? "L" : "M"}${X(x)} ${Y(y)}`).join("") });
  }
  function drawBreaking(svg, X, Y, levels) {
    for (const level of broken(levels)) {
      const diamond = make(svg, "path", { class: "breaking", d: `M${X(level.breaking_point)} ${Y(level.value)}m0 -7l7 7l-7 7l-7 -7z`, "data-p-max": level.breaking_point });
      make(diamond, "title", {}, `${visible(level.name)}, CFU ${shown(level.value)}: reached from p_max ${shown(level.breaking_point)} on`);
    }
  }
  function drawMarks(svg, frame, X) {
    let taken = [-Infinity, -Infinity];
    for (const mark of r.marks || []) {
      const p = mark["p_max_" + r.agreed.budget];
      if (p === null || p > points[last].p_max) continue;
      const x = X(p), y = frame.bottom + 23, row = x - taken[0] >= 16 ? 0 : 1;
      taken[row] = x;
      make(svg, "path", { class: "mark", d: `M${x} ${y}l-5 9h10z`, "data-p-max": p });
      const label = make(svg, "text", { class: "label", x, y: y + 21 + 13 * row, "text-anchor": "middle" }, mark.mark);
      make(label, "title", {}, `${visible(mark.label)}: p_max ${shown(p)}`);
    }
  }
  function drawDots(svg, X, Y, fits) {
    const dots = points.map((point, i) => {
      const text = `p_max ${shown(point.p_max)}: CFU ${cfu(point.cfu)}`;
      const dot = make(svg, "g", { class: "point", tabindex: -1, role: "button", "aria-label": text, "data-p-max": point.p_max, "data-cfu": point.cfu });
      const at = { cx: X(point.p_max), cy: fits(point.cfu) ? Y(point.cfu) : Y.floor };
      make(dot, "circle", { class: "hit", ...at, r: 12 });
      make(dot, "circle", { class: "dot", ...at, r: 5.5 });
      if (point.cfu_unpenalised !== null && fits(point.cfu_unpenalised)) {
        const y = Y(point.cfu_unpenalised);
        make(dot, "line", { class: "bare", x1: at.cx - 10, x2: at.cx + 10, y1: y, y2: y });
      }
      make(dot, "title", {}, text);
      for (const event of ["mouseenter", "focus", "click"]) dot.addEventListener(event, () => show(i));
      dot.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        dots[Math.min(last, Math.max(0, i + step))].focus();
      });
      return dot;
    });
    return dots;
  }
  function drawCurve(box, width) {
    const height = 380, frame = { left: 66, right: width - 14, top: 26, bottom: height - (r.marks && r.marks.length ? 84 : 46), height };
    const { Y, at, levels, fits } = heights(find("log").checked, frame.top, frame.bottom);
    Y.floor = frame.bottom;
    const X = scale(0, points[last].p_max || 1, frame.left, frame.right);
    const svg = canvas(box, width, height, "group", "Worst-case CFU for each budget; the table below has the values.");
    drawAxes(svg, frame, X, Y, at);
    drawLine(svg, X, Y, levels, fits);
    const now = make(svg, "line", { class: "now", y1: frame.top, y2: frame.bottom });
    drawLevels(svg, frame, Y, levels);
    drawMarks(svg, frame, X);
    drawBreaking(svg, X, Y, levels);
    const dots = drawDots(svg, X, Y, fits);
    showCurrent = () => {
      ["x1", "x2"].forEach((end) => now.setAttribute(end, X(points[current].p_max)));
      dots.forEach((dot, i) => {
        dot.classList.toggle("here", i === current);
        dot.setAttribute("tabindex", i === current ? 0 : -1); // one stop for the tabulator, arrows for the rest
      });
    };
    showCurrent();
    const beyond = r.levels.filter((level) => !levels.includes(level)), note = find("beyond");
    note.textContent = beyond.length ? "Too far up to be drawn: " : "";
    beyond.forEach((level, i) => {
      add(note, "bdi", {}, (i ? ", " : "") + visible(level.name) + ", CFU ");
      number(note, level.value, shown(level.value));
    });
  }

  // ------------------------------------------------------------ what the slider shows
  function cell(row, tag, text, value) {
    const node = add(row, tag, tag === "th" ? { scope: row.parentNode.tagName === "THEAD" ? "col" : "row" } : {});
    if (value === undefined) add(node, "bdi", {}, text);
    else number(node, value, text);
    return node;
  }
  const strongest = Math.max(1e-9, ...points.flatMap((p) => p.correlation.flatMap((row, j) => row.filter((_, k) => k !== j).map(Math.abs))));
  function showMatrix(point) {
    const table = find("matrix");
    table.textContent = "";
    caption(table, "The correlation of the errors that is worst within p_max ", point.p_max);
    const head = table.createTHead().insertRow(), body = table.createTBody();
    add(head, "td", {}, "");
    r.graph.variables.forEach((name) => cell(head, "th", visible(name)));
    point.correlation.forEach((values, j) => {
      const row = body.insertRow();
      cell(row, "th", visible(r.graph.variables[j]));
      values.forEach((value, k) => {
        const node = j === k ? add(row, "td", {}, "1") : cell(row, "td", shown(value, 3), value);
        if (j === k || !value) return;
        node.className = value > 0 ? "pos" : "neg";
        node.style.setProperty("--w", 0.08 + (0.42 * Math.abs(value)) / strongest);
      });
    });
  }
  function showMoved(point) {
    const table = find("moved");
    table.textContent = "";
    caption(table, "Mean predictions in the worst case within p_max ", point.p_max);
    const head = table.createTHead().insertRow(), body = table.createTBody();
    ["group", "as they are", "in the other world", "difference"].forEach((name, i) => (cell(head, "th", name).className = i ? "n" : ""));
    for (const g of point.groups) {
      const row = body.insertRow();
      cell(row, "th", visible(g.group));
      for (const value of [g.factual, g.counterfactual, g.difference]) cell(row, "td", shown(Math.abs(value) < 1e-12 ? 0 : value), value).className = "n";
    }
  }
  function show(i) {
    const point = points[(current = i)], tip = find("tip"), slider = find("budget");
    slider.value = i;
    slider.setAttribute("aria-valuetext", `p_max ${shown(point.p_max)}`);
    tip.textContent = "";
    const say = (text, value, seen) => { tip.append(text); number(tip, value, seen); };
    say("Budget p_max ", point.p_max, shown(point.p_max));
    say(": worst-case CFU ", point.cfu, cfu(point.cfu));
    if (point.cfu_unpenalised !== null) say(", without structural penalty ", point.cfu_unpenalised, cfu(point.cfu_unpenalised));
    const drop = point.log_likelihood_drop;
    say("; the log likelihood is ", drop, shown(Math.abs(drop) < 0.005 ? 0 : Math.abs(drop), 3));
    tip.append(drop < 0 ? " above Model A's" : " below Model A's");
    say("; smallest eigenvalue ", point.min_eigenvalue, shown(point.min_eigenvalue, 3));
    tip.append(".");
    showMatrix(point);
    showMoved(point);
    showCurrent();
    reachable();
  }

  // ------------------------------------------------------------ who is affected
  function drawSpread(box, width) {
    const groups = r.by_group, left = Math.min(140, width * 0.3), right = width - 16, high = 46 * groups.length + 54;
    const svg = canvas(box, width, high, "img", "Spread of CFU by group; the table below has the values.");
    const largest = Math.max(...groups.map((g) => g.q95), 1e-300) * 1.05, S = scale(0, largest, left, right), foot = high - 42;
    for (const value of ticks(largest, Math.max(2, Math.floor((right - left) / 100)))) {
      make(svg, "line", { class: "gridline", x1: S(value), x2: S(value), y1: 0, y2: foot });
      make(svg, "text", { x: S(value), y: foot + 17, "text-anchor": "middle" }, shown(value, 2));
    }
    make(svg, "text", { x: (left + right) / 2, y: high - 6, "text-anchor": "middle" }, "CFU of a person");
    groups.forEach((g, i) => {
      const y = 24 + 46 * i, label = make(svg, "text", { x: left - 8, y: y + 5, "text-anchor": "end" }, short(g.group, Math.floor(left / 8)));
      make(label, "title", {}, visible(g.group));
      make(svg, "line", { class: "axis", x1: S(g.q5), x2: S(g.q95), y1: y, y2: y });
      make(svg, "rect", { class: "bar", x: S(g.q25), y: y - 10, width: Math.max(1, S(g.q75) - S(g.q25)), height: 20 });
      make(svg, "line", { class: "median", x1: S(g.q50), x2: S(g.q50), y1: y - 14, y2: y + 14 });
    });
  }

  // ------------------------------------------------------------ one pair at a time
  function drawProfiles(box, width) {
    const widest = points[last].p_max, each = Math.min(280, width), high = 190, left = 56, right = each - 10, top = 34, bottom = high - 40;
    const within = (profile, key) => (profile[key] || []).map((y, i) => [profile.correlation[i], y]).filter(([x]) => Math.abs(x) <= widest);
    const most = Math.max(...r.profiles.flatMap((p) => [...within(p, "cfu"), ...within(p, "cfu_unpenalised")].map(([, y]) => y)), noise, 1e-300) * 1.06;
    const X = scale(-widest, widest, left, right), Y = scale(0, most, bottom, top);
    for (const profile of r.profiles) {
      const name = profile.pair.map((one) => short(one, Math.floor(each / 20))).join(" ↔ ");
      const svg = canvas(box, each, high, "img", `CFU along the correlation of ${profile.pair.map(visible).join(" and ")}; the table below has the values.`);
      make(make(svg, "text", { x: 4, y: 14 }, name), "title", {}, profile.pair.map(visible).join(" ↔ "));
      for (const value of ticks(most, 3)) {
        make(svg, "line", { class: "gridline", x1: left, x2: right, y1: Y(value), y2: Y(value) });
        make(svg, "text", { x: left - 5, y: Y(value) + 4, "text-anchor": "end" }, shown(value, 2));
      }
      for (const value of [-widest, 0, widest]) make(svg, "text", { x: X(value), y: bottom + 17, "text-anchor": value > 0 ? "end" : value < 0 ? "start" : "middle" }, shown(value, 2));
      make(svg, "text", { x: (left + right) / 2, y: high - 6, "text-anchor": "middle" }, "correlation");
      for (const [key, kind] of [["cfu", "curve"], ["cfu_unpenalised", "without"]])
        make(svg, "path", { class: kind, d: within(profile, key).map(([x, y], i) => `${i ? "L" : "M"}${X(x)} ${Y(y)}`).join("") });
    }
  }

  // ------------------------------------------------------------ begin, and draw again when the window changes
  let width = 0;
  function draw() {
    const now = Math.max(280, Math.min(820, find("graph").clientWidth));
    if (now !== width)
      for (const [id, paint] of drawn) {
        find(id).textContent = "";
        paint(find(id), now);
      }
    width = now;
    reachable();
  }
  draw();
  window.addEventListener("resize", draw);
  find("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(r, null, 2)], { type: "application/json" }));
    link.download = "fairstress-results.json";
    link.click();
  });
  if (!r.curve) return;
  find("log").addEventListener("change", () => {
    width = 0;
    draw();
  });
  find("budget").max = last;
  find("budget").addEventListener("input", () => show(Number(find("budget").value)));
  show(current);
})();
