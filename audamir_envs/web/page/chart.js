// Line charts as SVG: lines that differ by dash and by a mark, not by colour alone.

import { html, svg } from "./element.js";

const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4", "4 2 1 2", "1 4", "14 3 3 3"];
const WIDTH = 420;
const LEFT = 40;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24;

// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return `${+value.toPrecision(3)}`;
}

// series: [{name, points: [[x, y or null], ...], bands: [[x, low, high], ...]}]; `low`, `high` fix the y axis.
// onpick(x) makes it clickable; marks: [{x, y, text}]; at: x of the cursor.
export function chart({ title, series, low, high, height = 200, onpick, marks = [], at = null, legend = true }) {
  const points = series.flatMap((line) => line.points.filter(([, y]) => y !== null));
  const ranges = series.flatMap((line) => (line.bands ?? []).flatMap(([x, a, b]) => [[x, a], [x, b]]));
  const xs = points.map(([x]) => x);
  const ys = [...points, ...ranges].map(([, y]) => y);
  const span = (values, from, to) => {
    let [a, b] = [from ?? Infinity, to ?? -Infinity];
    for (const value of values) [a, b] = [Math.min(a, value), Math.max(b, value)];
    if (a > b) [a, b] = [0, 1];
    return a === b ? [a - (Math.abs(a) || 1) / 10, b + (Math.abs(b) || 1) / 10] : [a, b];
  };
  const [left, right] = span(xs);
  const [bottom, top] = span(ys, low, high);
  const px = (x) => LEFT + ((x - left) / (right - left)) * (WIDTH - LEFT - RIGHT);
  const py = (y) => height - BOTTOM - ((y - bottom) / (top - bottom)) * (height - TOP - BOTTOM);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": title });
  for (const y of ticks(bottom, top, height > 150 ? 4 : 2)) {
    picture.append(
      svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y), class: "grid" }),
      svg("text", { x: LEFT - 6, y: py(y) + 4, "text-anchor": "end" }, short(y)),
    );
  }
  for (const x of ticks(left, right, 6)) {
    if (right - left < 5 && x % 1) continue;
    picture.append(svg("text", { x: px(x), y: height - 6, "text-anchor": "middle" }, short(x)));
  }
  series.forEach((line, number) => {
    const style = { class: `line line${number % 8}`, "stroke-dasharray": DASHES[number % DASHES.length] };
    for (const [x, a, b] of line.bands ?? []) {
      picture.append(svg("line", { x1: px(x), x2: px(x), y1: py(a), y2: py(b), class: `band line${number % 8}` }));
    }
    let path = "";
    let open = false;
    for (const [x, y] of line.points) {
      if (y !== null) path += `${open ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
      open = y !== null;
    }
    picture.append(svg("path", { d: path, ...style }));
    if (line.points.length === 1 && open) {
      picture.append(svg("circle", { cx: px(line.points[0][0]), cy: py(line.points[0][1]), r: 3, class: `dot dot${number % 8}` }));
    }
  });
  for (const { x, y, text } of marks) {
    picture.append(
      svg("circle", { cx: px(x), cy: py(y), r: 5, class: "mark" }),
      svg("text", { x: px(x), y: py(y) > 24 ? py(y) - 9 : py(y) + 18, "text-anchor": "middle", class: "marktext" }, text),
    );
  }
  const cursor = svg("line", { y1: TOP, y2: height - BOTTOM, class: "cursor" });
  const move = (x) => {
    const shown = x !== null && x >= left && x <= right;
    cursor.style.display = shown ? "" : "none";
    if (shown) for (const name of ["x1", "x2"]) cursor.setAttribute(name, px(x));
  };
  picture.append(cursor);
  move(at);
  if (onpick) {
    picture.classList.add("pick");
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const x = left + (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * (right - left);
      onpick(Math.round(Math.max(left, Math.min(right, x))));
    });
  }
  const names = series.map((line, number) =>
    html("span", {}, svg("svg", { viewBox: "0 0 30 8", class: "sample", "aria-hidden": "true" },
      svg("line", { x1: 0, x2: 30, y1: 4, y2: 4, class: `line line${number % 8}`, "stroke-dasharray": DASHES[number % DASHES.length] })), line.name));
  const figure = html("figure", { className: "figure" }, html("figcaption", {}, title), picture,
    legend && series.length > 1 ? html("div", { className: "legend" }, names) : null);
  return { figure, move };
}
