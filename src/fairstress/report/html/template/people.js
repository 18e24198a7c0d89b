// ------------------------------------------------------------ who is affected
function drawSpread(box, width) {
  const groups = r.by_group.filter((g) => g.q50 !== null), left = Math.min(140, width * 0.3), right = width - 16, high = 46 * groups.length + 54;
  const svg = canvas(box, width, high, "img", "Spread of CFU by group; the table below has the values.");
  const largest = Math.max(...groups.map((g) => Math.max(g.q50, g.q75, g.q95)), 1e-300) * 1.05, S = scale(0, largest, left, right), foot = high - 42;
  for (const value of ticks(largest, Math.max(2, Math.floor((right - left) / 100)))) {
    make(svg, "line", { class: "gridline", x1: S(value), x2: S(value), y1: 0, y2: foot });
    make(svg, "text", { x: S(value), y: foot + 17, "text-anchor": "middle" }, shown(value, 2));
  }
  make(svg, "text", { x: (left + right) / 2, y: high - 6, "text-anchor": "middle" }, "CFU of a person");
  groups.forEach((g, i) => {
    const y = 24 + 46 * i, label = make(svg, "text", { x: left - 8, y: y + 5, "text-anchor": "end" }, short(g.group, Math.floor(left / 8)));
    make(label, "title", {}, visible(g.group));
    if (g.q5 !== null) make(svg, "line", { class: "axis", x1: S(g.q5), x2: S(g.q95), y1: y, y2: y });
    if (g.q25 !== null) make(svg, "rect", { class: "bar", x: S(g.q25), y: y - 10, width: Math.max(1, S(g.q75) - S(g.q25)), height: 20 });
    make(svg, "line", { class: "median", x1: S(g.q50), x2: S(g.q50), y1: y - 14, y2: y + 14 });
  });
}

// ------------------------------------------------------------ one pair at a time
function drawProfiles(box, width) {
  const widest = points[last].p_max, each = width < 600 ? Math.min(280, width) : Math.floor((width - 32) / 3), high = 190, left = 56, right = each - 10, top = 34, bottom = high - 40;
  const within = (profile, key) => (profile[key] || []).map((y, i) => [profile.correlation[i], y]).filter(([x]) => Math.abs(x) <= widest);
  const most = Math.max(...r.profiles.flatMap((p) => [...within(p, "cfu"), ...within(p, "cfu_unpenalised")].map(([, y]) => y)), noise, 1e-300) * 1.06;
  const X = scale(-widest, widest, left, right), Y = scale(0, most, bottom, top);
  for (const profile of r.profiles) {
    const name = profile.pair.map((one) => short(one, Math.floor(each / 20))).join(" ↔ ");
    const svg = canvas(box, each, high, "img", `CFU along the correlation of ${profile.pair.map(visible).join(" and ")}; the table below has the values.`);
    make(make(svg, "text", { x: 4, y: 14 }, name), "title", {}, profile.pair.map(visible).join(" ↔ "));
    for (const value of ticks(most, 4)) {
      make(svg, "line", { class: "gridline", x1: left, x2: right, y1: Y(value), y2: Y(value) });
      make(svg, "text", { x: left - 5, y: Y(value) + 4, "text-anchor": "end" }, shown(value, 2));
    }
    for (const value of [-widest, 0, widest]) make(svg, "text", { x: X(value), y: bottom + 17, "text-anchor": value > 0 ? "end" : value < 0 ? "start" : "middle" }, shown(value, 2));
    make(svg, "text", { x: (left + right) / 2, y: high - 6, "text-anchor": "middle" }, "correlation");
    for (const [key, kind] of [["cfu", "curve"], ["cfu_unpenalised", "without"]])
      make(svg, "path", { class: kind, d: within(profile, key).map(([x, y], i) => `${i ? "L" : "M"}${X(x)} ${Y(y)}`).join("") });
  }
}
