// The charts as Vega's specifications: each takes its data and a width in CSS pixels.
"use strict";

// Okabe and Ito's palette, which colour-blind readers can tell apart.
const kColours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5c1e", "#444444"];
const kFont = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const kInk = "#1c2733", kSoft = "#5a6877", kGround = "#edf0f3";

const digits = (value, n = 3) => {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3
    ? value.toPrecision(n)
    : Number(value.toPrecision(Math.max(n, Math.floor(Math.log10(size)) + 1))).toString();
};
const seconds = (s) => {
  const size = Math.abs(s);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${digits(s * 1e6, 4)} µs`;
  if (size < 1) return `${digits(s * 1e3, 4)} ms`;
  return `${digits(s, 4)} s`;
};
// What an axis of times up to `most` seconds is in.
const timeAxis = (most) => (most >= 10 ? { title: "s", factor: 1 } : most >= 1e-3 ? { title: "ms", factor: 1e3 }
  : { title: "µs", factor: 1e6 });
const bytes = (b) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (b >= 1000 && i + 1 < units.length) { b /= 1000; ++i; }
  return `${digits(b)} ${units[i]}`;
};
const percent = (share) => `${digits(share * 100)} %`;

const chart = (width, height, spec) => ({
  width, height,
  padding: { left: 2, right: 8, top: 6, bottom: 2 },
  autosize: { type: "fit", contains: "padding" },
  config: {
    axis: { labelFont: kFont, titleFont: kFont, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
      labelColor: kSoft, titleColor: kSoft, gridColor: "#e4e8ec", domainColor: "#9aa6b2", tickColor: "#9aa6b2",
      labelOverlap: true, titlePadding: 6 },
    legend: { labelFont: kFont, labelFontSize: 12, labelColor: kInk, titleFont: kFont, titleFontSize: 12,
      titleFontWeight: "normal", titleColor: kSoft },
    text: { font: kFont, fontSize: 12, fill: kInk },
  },
  ...spec,
});

// Rows with a name and a value above a bar each: {label, text, value, colour, tip, low, high}; low and
// high are the ends of an interval, `whole` is what a full bar stands for.
const bars = (rows, width, whole = 0) => {
  const row = 42;
  const reach = Math.max(whole, ...rows.map((r) => Math.max(r.value, r.high ?? r.value, 0)), 1e-300);
  const least = Math.min(0, ...rows.map((r) => r.value));
  const longest = Math.max(...rows.map((r) => r.text.length)) * 7 + 12;  // pixels of a value
  return chart(width, rows.length * row + 8, {
    data: [{ name: "rows", values: rows.map((r, i) => ({ ...r, i })) }],
    scales: [
      { name: "x", domain: [least, reach], range: "width" },
      { name: "y", type: "band", domain: rows.map((_, i) => i), range: "height" },
    ],
    marks: [
      { type: "text", from: { data: "rows" }, encode: { enter: {
        x: { value: 0 }, y: { scale: "y", field: "i", offset: 15 }, text: { field: "label" },
        limit: { signal: `width - ${longest}` }, tooltip: { field: "tip" } } } },
      { type: "text", from: { data: "rows" }, encode: { enter: {
        x: { signal: "width" }, y: { scale: "y", field: "i", offset: 15 }, align: { value: "right" },
        text: { field: "text" } } } },
      { type: "rect", from: { data: "rows" }, encode: { enter: {
        x: { value: 0 }, x2: { signal: "width" }, y: { scale: "y", field: "i", offset: 21 }, height: { value: 14 },
        fill: { value: kGround }, cornerRadius: { value: 3 } } } },
      { type: "rect", from: { data: "rows" }, encode: { enter: {
        x: { scale: "x", value: 0 }, x2: { scale: "x", field: "value" },
        y: { scale: "y", field: "i", offset: 21 }, height: { value: 14 },
        fill: { field: "colour" }, cornerRadius: { value: 3 }, tooltip: { field: "tip" } } } },
      { type: "rule", from: { data: "rows" }, encode: { enter: {
        x: { scale: "x", signal: "isValid(datum.low) ? datum.low : datum.value" },
        x2: { scale: "x", signal: "isValid(datum.high) ? datum.high : datum.value" },
        y: { scale: "y", field: "i", offset: 28 }, stroke: { value: kInk }, strokeWidth: { value: 1.5 } } } },
    ],
  });
};

// Above a chart, in as many columns as fit.
const columnsOf = (names, width) =>
  Math.max(1, Math.floor((width - 40) / (Math.max(...names.map((n) => n.length)) * 7 + 34)));
const legend = (names, width, spec) => ({ orient: "top", labelLimit: width - 100, columns: columnsOf(names, width), ...spec });
const legendHeight = (names, width) => Math.ceil(names.length / columnsOf(names, width)) * 16;

const ticksOf = (numbers, labels) => ({
  values: numbers,
  encode: { labels: { update: { text: { signal:
    `(${JSON.stringify(Object.fromEntries(numbers.map((n, i) => [n, labels[i]])))})[datum.value]` } } } },
});
const spread = (values) => Math.max(...values) / Math.min(...values);
const isLog = (values) => Math.min(...values) > 0 && spread(values) >= 8;

// So many places that each point's mark and line would cover its neighbours'.
const isDense = (numbers) => new Set(numbers).size > 25;

// Lines over an axis of numbers, `ticks` of which are named, or all: rows {x, y, low, high, series, tip}, which a line does not go through where y is null; `ideal`: rows {x, y} of a dashed line.
const lines = (rows, { x, y, series, ideal = [], mark }, width) => {
  const there = rows.filter((r) => r.y !== null);
  const all = there.flatMap((r) => [r.y, r.low ?? r.y, r.high ?? r.y]).concat(ideal.map((r) => r.y));
  const logY = y.log && Math.min(...all) > 0;
  const logX = isLog(x.numbers);
  const dense = isDense(x.numbers);
  const [least, most] = [Math.min(...all), Math.max(...all)].map((value) => Math.log10(value));
  const decades = !logY || most - least < 3 ? null : [...Array(Math.floor(most) - Math.ceil(least) + 1).keys()]
    .map((i) => 10 ** (Math.ceil(least) + i));
  const at = (field) => ({ scale: "y", field });
  const position = { x: { scale: "x", field: "x" } };
  return chart(width, 290 + legendHeight(series, width), {
    data: [
      { name: "rows", values: rows },
      { name: "there", values: there },
      { name: "known", source: "there", transform: [{ type: "filter", expr: "isValid(datum.low)" }] },
      { name: "ideal", values: ideal },
    ],
    scales: [
      { name: "x", type: logX ? "log" : "linear", base: 2, zero: false, range: "width", padding: 14,
        domain: [Math.min(...x.numbers), Math.max(...x.numbers)] },
      { name: "y", type: logY ? "log" : "linear", base: decades ? 10 : 2, zero: !logY, nice: !logY, range: "height",
        domain: [Math.min(...all) * (logY ? 0.9 : 1), Math.max(...all) * (logY ? 1.1 : 1)] },
      { name: "colour", type: "ordinal", domain: series, range: kColours },
      { name: "shape", type: "ordinal", domain: series,
        range: ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "stroke"] },
    ],
    axes: [
      { orient: "left", scale: "y", grid: true, title: y.title, tickCount: 6, domain: false, ticks: false,
        ...(logY ? { format: ",~f" } : {}), ...(decades ? { values: decades } : {}) },
      { orient: "bottom", scale: "x", title: x.title, labelFlush: true,
        ...(x.ticks ? ticksOf(x.ticks.map((t) => t[0]), x.ticks.map((t) => t[1])) : ticksOf(x.numbers, x.labels)) },
    ],
    legends: series.length > 1 || series[0] !== ""
      ? [legend(series, width, { stroke: "colour", shape: "shape", symbolStrokeWidth: 2, symbolFillColor: "#ffffff" })]
      : [],
    marks: [
      ...(dense || series.length === 1 ? [{ type: "group", from: { facet: { name: "held", data: "rows", groupby: "series" } },
        marks: [{ type: "area", from: { data: "held" }, encode: { enter: { ...position, y: at("low"), y2: at("high"), defined: { signal: "isValid(datum.low)" },
          fill: { scale: "colour", field: "series" }, fillOpacity: { value: series.length === 1 ? 0.14 : 0.07 } } } }] }] : []),
      { type: "group", from: { facet: { name: "one", data: "rows", groupby: "series" } },
        marks: [{ type: "line", from: { data: "one" }, encode: { enter: { ...position, y: at("y"), defined: { signal: "isValid(datum.y)" },
          stroke: { scale: "colour", field: "series" }, strokeWidth: { value: 2.2 } } } }] },
      { type: "line", from: { data: "ideal" }, encode: { enter: { ...position, y: at("y"),
        stroke: { value: "#8a949e" }, strokeDash: { value: [5, 4] }, strokeWidth: { value: 1.5 } } } },
      ...(dense ? [] : [{ type: "rule", from: { data: "known" }, encode: { enter: {
        x: { scale: "x", field: "x", offset: { field: "shift" } }, y: at("low"), y2: at("high"),
        stroke: { scale: "colour", field: "series" }, strokeOpacity: { value: 0.55 }, strokeWidth: { value: 1.4 } } } }]),
      { type: "symbol", from: { data: "there" }, encode: { enter: { ...position, y: at("y"),
        shape: { scale: "shape", field: "series" },
        size: { signal: `datum.x === ${mark ?? "null"} ? 150 : 55` }, stroke: { scale: "colour", field: "series" },
        fill: { signal: `datum.x === ${mark ?? "null"} ? scale('colour', datum.series) : '#ffffff'` },
        strokeWidth: { value: 2 }, opacity: { value: dense ? 0 : 1 }, tooltip: { field: "tip" } } } },
    ],
  });
};

// Bars in time, in ms: rows {row, from, to, colour, tip, text, left}, `left` where the text must end, in `names.length` rows with a name each, or none.
const strips = (rows, { names, end, marks = [], row = 24 }, width) => {
  const time = timeAxis(end / 1e3);
  const named = names.some((n) => n !== "");
  const each = row + (named ? 20 : 0);
  const inner = row - (row > 8 ? 3 : row > 4 ? 1 : 0);
  return chart(width, names.length * each + 66, {
    data: [
      { name: "rows", values: rows },
      { name: "names", values: names.map((name, i) => ({ name, i })) },
      { name: "marks", values: marks },
    ],
    scales: [
      { name: "x", domain: [0, end], range: "width" },
      { name: "time", domain: [0, end / 1e3 * time.factor], range: "width" },
      { name: "y", type: "band", domain: names.map((_, i) => i), range: "height" },
    ],
    axes: [{ orient: "bottom", scale: "time", title: time.title, grid: true, tickCount: Math.floor(width / 80) }],
    marks: [
      { type: "rect", from: { data: "marks" }, encode: { enter: {
        x: { scale: "x", field: "from" }, x2: { scale: "x", field: "to" }, y: { value: 0 }, y2: { signal: "height" },
        fill: { field: "colour" }, fillOpacity: { value: 0.09 } } } },
      { type: "text", from: { data: "marks" }, encode: { enter: {
        x: { scale: "x", field: "from", offset: 3 }, y: { value: -4 }, fill: { value: kSoft },
        text: { signal: "scale('x', datum.to) - scale('x', datum.from) < 56 ? '' : datum.name" } } } },
      ...(named ? [{ type: "text", from: { data: "names" }, encode: { enter: {
        x: { value: 0 }, y: { scale: "y", field: "i", offset: 14 }, text: { field: "name" } } } }] : []),
      { type: "rect", from: { data: "rows" }, clip: true, encode: { enter: {
        x: { scale: "x", field: "from" }, x2: { signal: "max(scale('x', datum.to), scale('x', datum.from) + 0.7)" },
        y: { scale: "y", field: "row", offset: named ? 20 : 0 }, height: { value: inner },
        fill: { field: "colour" }, tooltip: { field: "tip" } } } },
      { type: "text", from: { data: "rows" }, clip: true, encode: { enter: {
        x: { signal: "scale('x', datum.to) > width * 0.66 ? scale('x', isValid(datum.left) ? datum.left : datum.from) - 5 : scale('x', datum.to) + 5" },
        align: { signal: "scale('x', datum.to) > width * 0.66 ? 'right' : 'left'" },
        y: { scale: "y", field: "row", offset: inner / 2 }, baseline: { value: "middle" },
        fontSize: { value: 11 }, fill: { value: kSoft }, text: { field: "text" } } } },
    ],
  });
};

// A share of time as a colour: none, little, much.
const busyColour = (busy) => {
  if (busy <= 0) return "#c3cbd3";
  const from = [244, 190, 88], to = [190, 30, 45];
  const share = Math.min(1, busy);
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * share)).join(",")})`;
};
// What is not known link by link.
const kUnknownLoad = "#6c7a88";
// Light enough for a name to stand on it.
const tint = (colour) => `#${[1, 3, 5].map((at) => Math.round(255 - (255 - parseInt(colour.slice(at, at + 2), 16)) * 0.3)
  .toString(16).padStart(2, "0")).join("")}`;
const kKinds = { gpu: "#c8e6c9", "host-memory": "#eeeeee", socket: "#ffe0b2", "pcie-switch": "#bbdefb",
  "nvlink-switch": "#a5d6a7", nic: "#ffcdd2", node: "#c8e6c9", switch: "#bbdefb" };

// Pixels of a name of 11 pixels' height.
const widthOf = (text) => [...text].reduce((sum, c) => sum + (/[mwMW]/.test(c) ? 10.5 : 6.5), 0);
// What `picture` of sim/drawing gives; `round`: x and y are of one scale; `fill`: of a vertex, where not its kind's.
const topology = (picture, round, width, fill = () => undefined) => {
  const xs = picture.vertices.map((v) => v.x), ys = picture.vertices.map((v) => v.y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const label = (v) => (v.holds > 0 ? `${v.name}: ${v.holds} nodes` : v.name);
  // Where names would cover each other they have less room around them, or are numbers; what connects the
  // nodes has numbers of nodes, or nothing.
  const isFabric = picture.vertices.some((v) => "holds" in v);
  const texts = isFabric
    ? [label, (v) => (v.holds > 0 ? String(v.holds) : v.kind === "node" ? "" : v.name), (v) => (v.holds > 0 ? String(v.holds) : "")]
    : [label, (v) => /\d*$/.exec(v.name)[0], () => ""];
  const placed = (text, pad, stretch) => {
    const boxes = picture.vertices.map((v) => (text(v) === "" ? 9 : widthOf(text(v)) + pad));
    const margin = Math.max(...boxes) / 2 + 9;
    const kx = right > left ? Math.min(round ? 74 : 120, (width - 2 * margin) / (right - left)) : 0;
    const ky = round ? Math.min(74, kx * stretch) : 84;
    const indent = (width - (right - left) * kx) / 2;
    const vertices = picture.vertices.map((v, i) => ({ ...v, text: text(v), box: boxes[i], tall: text(v) === "" ? 9 : pad > 8 ? 22 : 18,
      px: indent + (v.x - left) * kx, py: 24 + (high - v.y) * ky }));
    const isCrowded = vertices.some((a, i) => vertices.some((b, k) => k < i
      && Math.abs(a.px - b.px) < (a.box + b.box) / 2 + 1 && Math.abs(a.py - b.py) < (a.tall + b.tall) / 2 + 1));
    return { vertices, kx, height: (high - low) * ky + 48, isCrowded };
  };
  const all = texts.flatMap((text, i) => (i === 0 ? [16, 6] : [8, 4])
    .flatMap((pad) => (round ? [1, 1.5] : [1]).map((stretch) => placed(text, pad, stretch))));
  const { kx, height, vertices } = all.find((one) => !one.isCrowded) ?? all[all.length - 1];
  for (const v of vertices) Object.assign(v, { fill: fill(v) ?? kKinds[v.kind] ?? "#ffffff", tip: `${label(v)} (${v.kind})` });
  const isKnown = picture.links.some((l) => l.there > 0 || l.back > 0);
  const links = picture.links.map((l) => {
    const a = vertices[l.first], b = vertices[l.second];
    const busy = Math.max(l.there ?? 0, l.back ?? 0);
    return { x1: a.px, y1: a.py, x2: b.px, y2: b.py, colour: isKnown ? busyColour(busy) : kUnknownLoad,
      thick: 1.4 + Math.min(4, Math.log2(l.count)) * 0.8 + 3 * busy,
      text: busy > 0 && kx > 60 ? `${Math.round(busy * 100)} %` : "",
      tip: { from: a.name, to: b.name, kind: l.kind ?? "", "GB/s": digits(l.GBps) + (l.count > 1 ? ` x ${l.count}` : ""),
        ...(busy > 0 ? { "busy there": percent(l.there), "busy back": percent(l.back) } : {}) } };
  });
  return chart(width, height, {
    autosize: "none", padding: 0,  // which would come on top of the width
    data: [{ name: "vertices", values: vertices }, { name: "links", values: links }],
    marks: [
      { type: "rule", from: { data: "links" }, encode: { enter: {
        x: { field: "x1" }, y: { field: "y1" }, x2: { field: "x2" }, y2: { field: "y2" },
        stroke: { field: "colour" }, strokeWidth: { field: "thick" }, tooltip: { field: "tip" } } } },
      ...["#ffffff", kInk].map((colour) => ({ type: "text", from: { data: "links" }, encode: { enter: {
        x: { signal: "datum.x1 * 0.42 + datum.x2 * 0.58" }, y: { signal: "datum.y1 * 0.42 + datum.y2 * 0.58" },
        align: { value: "center" }, baseline: { value: "middle" }, fontSize: { value: 11 }, text: { field: "text" },
        ...(colour === kInk ? { fill: { value: kInk } }
          : { fill: { value: colour }, stroke: { value: colour }, strokeWidth: { value: 4 } }) } } })),
      { type: "rect", from: { data: "vertices" }, encode: { enter: {
        xc: { field: "px" }, yc: { field: "py" }, width: { field: "box" }, height: { field: "tall" }, fill: { field: "fill" }, stroke: { value: "#6c7a88" },
        cornerRadius: { value: 4 }, tooltip: { field: "tip" } } } },
      { type: "text", from: { data: "vertices" }, interactive: false, encode: { enter: {
        x: { field: "px" }, y: { field: "py" }, align: { value: "center" }, baseline: { value: "middle" },
        fontSize: { value: 11 }, text: { field: "text" } } } },
    ],
  });
};

// Errors of published steps beside their simulation, over communication's share; `now`: this step's
// share and the ends of its interval in per cent.
const record = (rows, now, width) => chart(width, 280, {
  data: [{ name: "rows", values: rows }],
  scales: [
    { name: "x", domain: [0, Math.max(now.share, ...rows.map((r) => r.share)) * 1.05 + 0.02], range: "width", nice: true },
    { name: "y", domain: [Math.min(now.low, ...rows.map((r) => r.error)), Math.max(now.high, ...rows.map((r) => r.error))],
      range: "height", nice: true },
    { name: "colour", type: "ordinal", domain: [...new Set(rows.map((r) => r.testbed))], range: kColours },
  ],
  axes: [
    { orient: "left", scale: "y", grid: true, title: "measured beside simulated step, %", tickCount: 6, domain: false },
    { orient: "bottom", scale: "x", title: "communication's share in the step" },
  ],
  legends: [legend(rows.map((r) => r.testbed), width, { fill: "colour", symbolType: "circle" })],
  marks: [
    { type: "rule", encode: { enter: { x: { value: 0 }, x2: { signal: "width" }, y: { scale: "y", value: 0 },
      stroke: { value: "#8a949e" } } } },
    { type: "rule", encode: { enter: { x: { scale: "x", value: now.share }, y: { scale: "y", value: now.low },
      y2: { scale: "y", value: now.high }, stroke: { value: kInk }, strokeWidth: { value: 7 }, strokeOpacity: { value: 0.25 },
      strokeCap: { value: "round" },
      tooltip: { value: "this step's interval" } } } },
    { type: "symbol", encode: { enter: { x: { scale: "x", value: now.share }, y: { scale: "y", value: 0 },
      size: { value: 110 }, fill: { value: kInk }, shape: { value: "diamond" }, tooltip: { value: "this step" } } } },
    { type: "symbol", from: { data: "rows" }, encode: { enter: { x: { scale: "x", field: "share" },
      y: { scale: "y", field: "error" }, size: { value: 60 }, fill: { scale: "colour", field: "testbed" },
      fillOpacity: { value: 0.75 }, tooltip: { field: "tip" } } } },
  ],
});
