// ------------------------------------------------------------ the picture: typical change for each strength
const verdict = r.conclusion;
const labelled = (name) => visible((r.wording.labels || {})[name] || name);
function lines() {
  const after = (p) => p.p_max <= reach() + 1e-12, compared = verdict.compared.filter(after);
  const own = points.filter(after).map((p) => [p.p_max, p.typical]);
  const found = [{ who: "audited", text: "this predictor", line: own }];
  const others = [["blind", `leaving ${labelled(r.graph.protected)} out`], ["unconstrained", "using everything"]];
  for (const [who, text] of others)
    if (compared.length > 1 && compared[0][who]) found.push({ who, text, line: compared.map((row) => [row.p_max, row[who].typical]) });
  return found;
}
// as far as matters: well beyond the crossing, or all
function reach() {
  const wanted = Math.max(0.3, 1.8 * (verdict.p_max || 0));
  const known = verdict.compared.length > 1 ? verdict.compared : points; // no line ends before the others
  const enough = verdict.p_max === null ? undefined : known.find((p) => p.p_max >= wanted);
  return (enough || points[last]).p_max;
}
function upwards(all, frame) {
  const values = all.flatMap((one) => one.line.map(([, y]) => y)), most = Math.max(...values, 1e-300) * 1.06;
  const matters = verdict.crossing && verdict.p_max ? verdict.crossing.typical : all[0].line[all[0].line.length - 1][1];
  if (!(matters > 0) || most / matters < 25) return { Y: scale(0, most, frame.bottom, frame.top), at: ticks(most, 4), least: 0 };
  const least = matters / 30, onLog = scale(Math.log10(least), Math.log10(most), frame.bottom, frame.top);
  return { Y: (y) => onLog(Math.log10(Math.max(y, least))), at: powers(least, most), least };
}
const path = (line, X, Y) => line.map(([x, y], i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("");
function pictureAxes(svg, frame, X, Y, at) {
  const own = { squared: "typical change of a prediction", absolute: "average change of a prediction", max: "largest change of a prediction" }[r.settings.measure || "squared"];
  const logOdds = r.settings.predictor_scale === "log-odds", percent = r.data.outcome_levels && own && !logOdds ? 100 : 1;
  const unit = !own ? "" : percent > 1 ? "percentage points" : logOdds ? "log-odds" : visible((r.wording.units || {})[r.graph.outcome] || "");
  for (const value of at) {
    make(svg, "line", { class: "gridline", x1: frame.left, x2: frame.right, y1: Y(value), y2: Y(value) });
    make(svg, "text", { x: frame.left - 8, y: Y(value) + 4, "text-anchor": "end" }, shown(percent * value, 2));
  }
  for (const value of ticks(reach(), Math.max(3, Math.floor((frame.right - frame.left) / 110))))
    make(svg, "text", { x: X(value), y: frame.bottom + 17, "text-anchor": "middle" }, shown(value, 2));
  make(svg, "line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom });
  make(svg, "text", { x: 2, y: 14 }, short(`${own || "change of predictions"}${unit ? `, ${unit}` : ""}`, Math.floor(frame.right / 7)));
  make(svg, "text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 37, "text-anchor": "middle" }, `strength of hidden causes (${r.details.budget.kind === "single cause" ? "share explained" : "correlation"})`);
}
// how high a line stands at some place of the picture; undefined beyond its ends
function height(line, x) {
  const i = line.findIndex(([right]) => right >= x);
  if (i < 1) return i ? undefined : line[0][1];
  const [[x0, y0], [x1, y1]] = line.slice(i - 1, i + 1);
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}
// the place nearest to a point, above it or below, that no other words take and, where there is one, no line runs through
function freePlace(label, y, frame, taken, drawn) {
  const own = label.getBBox(), wide = (b) => b.x < own.x + own.width + 4 && own.x < b.x + b.width + 4;
  const along = Array.from({ length: 9 }, (_, i) => own.x + (own.width * i) / 8);
  const inside = (at) => at > frame.top + 10 && at < frame.bottom - 4;
  const apart = (at) => inside(at) && !taken.some((b) => wide(b) && at - own.height < b.y + b.height && b.y < at + 4);
  const clear = (at) => apart(at) && !drawn.some((line) => along.some((x) => at - own.height < height(line, x) && height(line, x) < at + 5));
  const places = Array.from({ length: 12 }, (_, i) => [y - 10 - 4 * i, y + 18 + 4 * i]).flat();
  return places.slice(0, 18).find(clear) || places.find(apart) || y - 16;
}
// labels at the right end, the highest first
function lineLabels(svg, frame, all, drawn) {
  const taken = [], last = (i) => drawn[i][drawn[i].length - 1], end = (i) => last(i)[1];
  for (const i of all.map((_, k) => k).sort((a, b) => end(a) - end(b))) {
    const label = make(svg, "text", { class: `label who who-${all[i].who}`, x: last(i)[0] - 2, y: end(i), "text-anchor": "end" }, short(all[i].text, Math.floor((frame.right - frame.left) / 9)));
    label.setAttribute("y", freePlace(label, end(i), frame, taken, drawn));
    taken.push(label.getBBox());
  }
  return taken;
}
function pictureBand(svg, X, Y) {
  const some = points.filter((p) => p.p_max <= reach() + 1e-12);
  if (!hasBand) return;
  const up = some.map((p) => [p.p_max, p.typical_upper]), down = some.map((p) => [p.p_max, p.typical]).reverse();
  make(svg, "path", { class: "band", d: `${path(up, X, Y)}${path(down, X, Y).replace("M", "L")}z` });
}
function crossing(svg, frame, X, Y, taken, drawn) {
  if (!verdict.p_max || !verdict.crossing) return;
  const x = X(verdict.p_max), y = Y(verdict.crossing.typical), middle = Math.min(Math.max(x, frame.left + 75), frame.right - 75);
  make(svg, "line", { class: "drop", x1: x, x2: x, y1: y, y2: frame.bottom });
  make(svg, "path", { class: "breaking", d: `M${x} ${y}m0 -7l7 7l-7 7l-7 -7z`, "data-p-max": verdict.p_max });
  const label = make(svg, "text", { class: "label", x: middle, y: y - 16, "text-anchor": "middle" }, `equally unfair at ${shown(verdict.p_max, 2)}`);
  label.setAttribute("y", freePlace(label, y, frame, taken, drawn));
}
// the three strongest of what was measured: more would only be read in the table
function strongest3(kind) {
  const own = (m) => m["p_max_" + kind], known = (r.marks || []).filter((m) => own(m) !== null && own(m) !== undefined);
  const names = known.filter((m) => m.multiple === 1).sort((a, b) => own(b) - own(a)).slice(0, 3).map((m) => m.benchmark);
  return known.filter((m) => names.includes(m.benchmark) && (m.multiple === 1 || m.multiple === 3)).sort((a, b) => own(a) - own(b));
}
// what was measured, as marks in words below the axis, in as many rows as keep them apart
function marksInWords(width, X) {
  const kind = r.details.budget.kind, rows = [], seen = new Set();
  for (const mark of strongest3(kind)) {
    const p = mark["p_max_" + kind], text = `${mark.multiple === 1 ? "as strong as " : "3 × "}${labelled(mark.benchmark)}`, key = `${text} ${shown(p, 2)}`;
    if (p === null || p === undefined || p > reach() || seen.has(key)) continue;
    seen.add(key);
    const wide = 7.2 * Math.min(text.length, 32) + 12, x = X(p), from = Math.min(Math.max(x - wide / 2, 0), width - wide);
    let row = rows.findIndex((taken) => taken.every(([a, b]) => from > b || from + wide < a));
    if (row < 0 && rows.length < 4) row = rows.push([]) - 1;
    if (row < 0) continue; // the table has it
    rows[row].push([from, from + wide, { p, x, text, middle: from + wide / 2 }]);
  }
  return rows;
}
function drawPicture(box, width) {
  const frame = { left: 48, right: width - 10, top: 28 }, X = scale(0, reach() || 1, frame.left, frame.right);
  const rows = marksInWords(width, X);
  frame.bottom = 300;
  frame.height = frame.bottom + 44 + (rows.length ? 6 + 17 * rows.length : 0);
  const all = lines(), { Y, at } = upwards(all, frame);
  const svg = canvas(box, width, frame.height, "img", "Typical change of a prediction for each strength of hidden causes; tables below have the values.");
  pictureAxes(svg, frame, X, Y, at);
  pictureBand(svg, X, Y);
  for (const one of [...all].reverse()) make(svg, "path", { class: one.who === "audited" ? "curve" : one.who, d: path(one.line, X, Y) });
  const drawn = all.map((one) => one.line.map(([x, y]) => [X(x), Y(y)]));
  crossing(svg, frame, X, Y, lineLabels(svg, frame, all, drawn), drawn);
  rows.forEach((row, i) => {
    for (const [, , mark] of row) {
      make(svg, "path", { class: "mark", d: `M${mark.x} ${frame.bottom + 2}l-4 8h8z`, "data-p-max": mark.p });
      make(svg, "text", { class: "label", x: mark.middle, y: frame.bottom + 58 + 17 * i, "text-anchor": "middle" }, short(mark.text, 32));
    }
  });
}
