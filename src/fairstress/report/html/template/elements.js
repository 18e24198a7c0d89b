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
  return sign + size.toExponential((digits || 4) - 1).replace(/\.?0+e/, "e").replace(/e(.)(\d)$/, "e$10$2").replace("-", "−"); // two digits, as in the tables
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
