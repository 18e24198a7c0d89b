// ------------------------------------------------------------ the curve
const points = r.curve ? r.curve.points : [], last = points.length - 1;
let current = r.details ? Math.max(0, points.findIndex((p) => p.p_max === r.details.p_max)) : 0;
let showCurrent = () => {};
const hasBand = Boolean(r.bands), confidence = hasBand ? `${shown(100 * r.bands.level)} %` : "";

function heights(isLog, top, bottom) {
  const values = points.flatMap((p) => [p.cfu, p.cfu_unpenalised, hasBand ? p.upper : null]).filter((x) => x > noise);
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
    make(svg, "text", { x: frame.left - 14, y: Y(value) + 4, "text-anchor": "end", "aria-hidden": true }, shown(value, 2));
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
function drawBand(svg, X, Y, fits) {
  if (!hasBand) return;
  const at = (y) => (fits(y) ? Y(y) : Y.floor), there = [...points].reverse();
  const up = points.map((p, i) => `${i ? "L" : "M"}${X(p.p_max)} ${at(p.upper)}`), down = there.map((p) => `L${X(p.p_max)} ${at(p.cfu)}`);
  make(svg, "path", { class: "band", d: `${up.join("")}${down.join("")}z` });
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
    const p = mark["p_max_" + r.details.budget.kind];
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
  const height = 380, frame = { left: 72, right: width - 14, top: 26, bottom: height - (r.marks && r.marks.length ? 84 : 46), height };
  const { Y, at, levels, fits } = heights(find("log").checked, frame.top, frame.bottom);
  Y.floor = frame.bottom;
  const X = scale(0, points[last].p_max || 1, frame.left, frame.right);
  const svg = canvas(box, width, height, "group", "Worst-case CFU for each budget; the table below has the values.");
  drawAxes(svg, frame, X, Y, at);
  drawBand(svg, X, Y, fits);
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
    for (const value of [g.factual, g.counterfactual, g.difference])
      if (value === null) add(row, "td", { class: "n" }, "not shown");
      else cell(row, "td", shown(Math.abs(value) < 1e-12 ? 0 : value), value).className = "n";
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
  if (hasBand) say(`, with ${confidence} confidence at most `, point.upper, cfu(point.upper));
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
