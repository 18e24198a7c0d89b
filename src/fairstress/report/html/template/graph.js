// ------------------------------------------------------------ the graph
function layers(names, edges) {
  const depth = new Map(names.map((name) => [name, 0]));
  for (let round = 0; round < names.length; round++)
    for (const e of edges) depth.set(e.to, Math.max(depth.get(e.to), depth.get(e.from) + 1));
  if (!edges.some((e) => e.to === r.graph.outcome)) depth.set(r.graph.outcome, Math.max(...depth.values()) + 1);
  return depth;
}
function places(names, depth, wide, half) {
  const columns = new Map(), last = Math.max(...depth.values());
  names.forEach((name) => columns.set(depth.get(name), [...(columns.get(depth.get(name)) || []), name]));
  const place = new Map();
  for (const [level, column] of columns)
    column.forEach((name, i) =>
      place.set(name, { x: half + 4 + (wide - 2 * half - 8) * (last ? level / last : 0.5), y: 100 * (i - (column.length - 1) / 2) + (level % 2) * 30 }));
  return place;
}
function arrowheads(svg) {
  const defs = make(svg, "defs", {}), colours = { arrow: "ink", "arrow-fair": "one", "arrow-pair": "two" };
  for (const id in colours) {
    const marker = make(defs, "marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
    make(marker, "path", { d: "M0 0L10 5L0 10z", fill: `var(--${colours[id]})` });
  }
}
// a line from box to box, whose middle stands off by half the bend
function arc(p, q, half, bend) {
  const dx = q.x - p.x, dy = q.y - p.y, length = Math.hypot(dx, dy) || 1;
  const m = { x: (p.x + q.x) / 2 - (bend * dy) / length, y: (p.y + q.y) / 2 + (bend * dx) / length };
  const [start, end] = [p, q].map((o) => {
    const ex = m.x - o.x, ey = m.y - o.y; // to the border of the box, and a little on
    const t = Math.min((half + 3) / (Math.abs(ex) || 1e-9), 21 / (Math.abs(ey) || 1e-9));
    return { x: o.x + ex * t, y: o.y + ey * t };
  });
  const on = (t) => ({ x: (1 - t) ** 2 * start.x + 2 * t * (1 - t) * m.x + t * t * end.x, y: (1 - t) ** 2 * start.y + 2 * t * (1 - t) * m.y + t * t * end.y });
  return { d: `M${start.x} ${start.y}Q${m.x} ${m.y} ${end.x} ${end.y}`, points: Array.from({ length: 21 }, (_, i) => on(i / 20)) };
}
// the first bend that keeps clear of other boxes, or that touches the fewest
function route(a, b, place, half, bends) {
  const others = [...place].filter(([name]) => name !== a && name !== b).map(([, where]) => where);
  const touched = (line) => others.filter((o) => line.points.some((p) => Math.abs(p.x - o.x) < half + 5 && Math.abs(p.y - o.y) < 23)).length;
  const lines = bends.map((bend) => arc(place.get(a), place.get(b), half, bend)), least = Math.min(...lines.map(touched));
  return lines.find((line) => touched(line) === least);
}
function drawGraph(box, width) {
  const names = [r.graph.protected, ...r.graph.features, r.graph.outcome], depth = layers(names, r.graph.edges), last = Math.max(...depth.values());
  const wide = Math.max(width, (width < 500 ? 84 : 105) * (last + 1)), half = Math.min(65, wide / (last + 1) / 2 - 16), place = places(names, depth, wide, half);
  const span = (a, b) => Math.abs(depth.get(a) - depth.get(b));
  const edges = r.graph.edges.map((e) => {
    const far = 55 * span(e.from, e.to), bends = [far, -far, 1.6 * far, -1.6 * far];
    return [route(e.from, e.to, place, half, span(e.from, e.to) > 1 ? [...bends, 0] : [0, ...bends]), e.fair ? { class: "edge fair", "marker-end": "url(#arrow-fair)" } : { class: "edge", "marker-end": "url(#arrow)" }];
  });
  const pairs = r.graph.pairs.map(([a, b]) => {
    const [p, q] = place.get(a).x <= place.get(b).x ? [a, b] : [b, a], far = 35 + 35 * Math.max(1, span(a, b)); // bends upwards first
    return [route(p, q, place, half, [-far, far, -1.6 * far, 1.6 * far]), { class: "pair", "marker-end": "url(#arrow-pair)", "marker-start": "url(#arrow-pair)" }];
  });
  const heights = [...[...place.values()].flatMap(({ y }) => [y - 18, y + 18]), ...[...edges, ...pairs].flatMap(([line]) => line.points.map((p) => p.y))];
  const top = Math.min(...heights) - 10, high = Math.max(...heights) + 10 - top;
  const svg = canvas(box, wide, high, "img", "The causal graph; the table below says the same.");
  svg.setAttribute("viewBox", `0 ${top} ${wide} ${high}`);
  arrowheads(svg);
  for (const [line, look] of [...edges, ...pairs]) make(svg, "path", { d: line.d, ...look });
  for (const name of names) {
    const { x, y } = place.get(name);
    make(svg, "rect", { class: name === r.graph.outcome ? "node outcome" : "node", x: x - half, y: y - 18, width: 2 * half, height: 36, rx: 14 });
    const label = make(svg, "text", { x, y: y + 4, "text-anchor": "middle" }, short(name, Math.max(4, Math.floor(half / 4.2))));
    make(label, "title", {}, visible(name));
  }
}
