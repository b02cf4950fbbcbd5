// The page's parts, from what report_data() of sim/drawing gives.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const { result, explanation } = data;

// An element; children are texts, elements, or null for none.
const h = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat().filter((c) => c !== null));
  return element;
};
const counted = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

// Charts are drawn when the page stands, and again when its width changes.
const drawn = [];
const save = (name, href) => h("a", { href, download: name }).click();
const figure = (name, about, make) => {
  const at = h("div", { class: "chart" });
  const one = { name, about, make, at, view: null, width: 0 };
  drawn.push(one);
  const button = (kind, run) => {
    const b = h("button", { type: "button", "aria-label": `${name} as ${kind}` }, kind);
    b.addEventListener("click", run);
    return b;
  };
  return h("figure", { "aria-label": about },
    at,
    h("div", { class: "save" },
      button("SVG", async () => {
        const svg = new Blob([await one.view.toSVG()], { type: "image/svg+xml" });
        save(`${data.name}-${name}.svg`, URL.createObjectURL(svg));
      }),
      button("PNG", async () => save(`${data.name}-${name}.png`, await one.view.toImageURL("png", 2)))));
};
const draw = () => {
  for (const one of drawn) {
    const width = one.at.clientWidth;
    if (width === 0 || width === one.width) continue;
    one.width = width;
    if (one.view) one.view.finalize();
    one.at.replaceChildren();
    one.view = new vega.View(vega.parse({ description: one.about, ...one.make(width) }),
      { renderer: "svg", container: one.at, hover: true });
    one.view.runAsync();
  }
};

const section = (title, about, ...children) =>
  h("section", {}, h("h2", {}, title), about === "" ? null : h("p", { class: "soft" }, about), ...children);
const table = (columns, rows) => h("div", { class: "scroll" }, h("table", {},
  h("thead", {}, h("tr", {}, columns.map(([name, kind]) => h("th", kind ? { class: kind } : {}, name)))),
  h("tbody", {}, rows.map((row) => h("tr", {},
    row.map((cell, i) => h("td", columns[i][1] ? { class: columns[i][1], title: cell } : {}, cell)))))));
const folded = (title, ...children) => h("details", {}, h("summary", {}, title), ...children);

const kPhases = { forward: "#56b4e9", backward: "#0072b2", other: "#d55e00", sum: "#cc79a7", copy: "#009e73", host: "#8a949e" };
// What the time of a cause or a track is spent on.
const phaseOf = (text) =>
  /forward/.test(text) ? "forward" : /backward/.test(text) ? "backward"
  : /^(compute|recompute|logits)$/.test(text) ? "backward"  // both passes of a layout's rank
  : /sum|update|optimizer/.test(text) ? "sum" : /cop(y|ies)/i.test(text) ? "copy"
  : /thread|coordinator|wait|host|encoding|slower|bubble/.test(text) ? "host" : "other";

const tile = (name, value, note, kind = "") =>
  h("div", { class: "tile" }, h("div", { class: "name" }, name), h("div", { class: `value ${kind}` }, value),
    h("div", { class: "note" }, note));

const step = result.step_time_s;
const [low, high] = result.step_time_interval_s;
const { domain } = result;
const nodes = result.config.cluster.nodes ?? 1;
const perNode = result.config.cluster.gpus_per_node ?? 1;
// What is there several times over: GPUs with a whole model each, or groups of them.
const copies = (r) => Math.round(r.speedup / r.scaling_efficiency);
const copy = copies(result) < result.workers ? "replica" : "GPU";
const layout = result.config.strategy.layout;
const made = layout === undefined ? "" : `A replica is ${counted(result.workers / copies(result), "GPU")} (${
  ["tensor", "pipeline", "context"].map((kind) => `${kind} ${layout[kind] ?? 1}`).join(", ")})`;
const shared = result.config.workload.global_batch ?? 0;

// Of several jobs on one network: what `result` and `data` have of each.
const jobs = (result.jobs ?? []).map((job, i) => ({ ...job, ...data.jobs[i] }));

const head = () => h("header", {},
  h("h1", {}, data.name),
  h("p", { class: "soft" }, data.workload + (data.description === "" ? "" : ` · ${data.description}`)),
  h("p", { class: "lede" }, `A step${jobs.length > 0 ? ` of ${jobs[0].name}` : ""} takes ${seconds(step)}. Bottleneck: ${explanation.bottleneck}.`),
  jobs.length < 2 ? null : h("p", { class: "soft" }, `What is not said of another job is said of the first one, ${jobs[0].name}.`));

const tiles = () => h("div", { class: "tiles" },
  tile("step time", seconds(step), `${seconds(low)} to ${seconds(high)} with 95\u00a0%`),
  tile("throughput", `${digits(result.throughput_samples_per_s, 4)}/s`, "samples, all workers"),
  tile("speedup", `${digits(result.speedup)}×`, `of ${counted(copies(result), copy === "GPU" ? "worker" : copy)}, ${percent(result.scaling_efficiency)} efficient`),
  tile("compute", seconds(result.compute_time_s), `${seconds(result.forward_time_s)} forward, ${seconds(result.backward_time_s)} backward`),
  tile("exposed communication", seconds(result.exposed_comm_s), `of ${seconds(result.comm_busy_s)} in ${counted(result.messages, "message")}`),
  tile("worth", domain.status, domain.n > 0
    ? `${counted(domain.n, "measurement")}, typically ${domain.typical_pct} % off`
    : "no measurement of its kind", domain.status));

const theJobs = () => {
  if (jobs.length === 0) return null;
  const most = 20;
  const rows = jobs.slice(0, most).flatMap((job, i) => [
    { label: `${job.name} beside the others`, value: job.step_time_s, text: `${seconds(job.step_time_s)}, ${digits(job.slowdown, 4)}× alone`,
      colour: jobColour(i), tip: `nodes ${job.nodes.join(", ")}` },
    { label: `${job.name} alone`, value: job.alone_step_time_s, text: seconds(job.alone_step_time_s), colour: "#9aa6b2",
      tip: `the same nodes, ${job.nodes.join(", ")}, without the other jobs` }]);
  return section("The jobs", `${counted(jobs.length, "job")} on one network. A step of each: beside the others, and on the same nodes without them.`,
    figure("jobs", "Steps of each job together and alone", (width) => bars(rows, width)),
    jobs.length > most ? h("p", { class: "soft" }, `The first ${most} of ${jobs.length} jobs; all are in the table.`) : null,
    table([["job"], ["trains", "long"], ["nodes", "long"], ["starts", "number"], ["step", "number"], ["alone", "number"], ["slowdown", "number"]],
      jobs.map((job) => [job.name, job.workload, job.nodes.join(", "), seconds(job.start_s), seconds(job.step_time_s),
        seconds(job.alone_step_time_s), `${digits(job.slowdown, 4)}×`])),
    jobs.length < 2 ? null : h("p", { class: "soft" }, "A timeline is drawn of the first job alone, and so is what explains a step: put another one first in /jobs to see its own."));
};

const causes = () => {
  const rows = (result.attribution ?? []).map((c) => ({
    label: `${c.cause} · ${c.resource}`, value: c.seconds, text: percent(c.seconds / step),
    colour: kPhases[phaseOf(c.cause)], tip: `${c.cause} (${c.resource}): ${seconds(c.seconds)}` }));
  if (rows.length === 0) return null;
  return section("Where the time goes", "Along the step's critical path; the parts add up to the step.",
    figure("attribution", "Parts of the critical path", (width) => bars(rows, width, step)));
};

const gains = () => {
  const signed = (pct) => `${pct < 0 ? "−" : "+"}${digits(Math.abs(pct))} %`;
  const limits = explanation.limits.map((l) => ({
    label: `without ${l.without}`, value: l.step_time_s, text: `−${percent(1 - l.step_time_s / step)}`,
    colour: "#009e73", tip: `${seconds(l.step_time_s)} instead of ${seconds(step)}` }));
  const most = 12;
  const elastic = explanation.elasticities.slice(0, most).map((e) => ({
    label: e.pointer, value: e.elasticity, text: signed(e.elasticity),
    colour: e.elasticity < 0 ? "#009e73" : "#d55e00", tip: `${e.pointer} is ${e.value}` }));
  const jumps = explanation.jumps.slice(0, most);
  if (limits.length + elastic.length + jumps.length === 0) return null;
  return section("What would make it shorter", "", h("div", { class: "pair" },
    limits.length === 0 ? null : h("div", {}, h("h3", {}, "The step if something cost nothing"),
      figure("limits", "Step times without a cost", (width) => bars(
        [{ label: "as it is", value: step, text: seconds(step), colour: "#0072b2", tip: "" }, ...limits], width))),
    elastic.length + jumps.length === 0 ? null : h("div", {}, h("h3", {}, "What 1 % more of a quantity does to the step"),
      elastic.length === 0 ? null
        : figure("elasticities", "Change of the step per per cent of a quantity", (width) => bars(elastic, width)),
      jumps.length === 0 ? null : h("p", { class: "soft" }, "Where the step jumps, as other messages are planned or something else turns:"),
      jumps.length === 0 ? null : table([["quantity"], ["1 % less", "number"], ["1 % more", "number"]],
        jumps.map((j) => [j.pointer, signed(j.less_pct), signed(j.more_pct)])))));
};

const plan = () => {
  const buckets = result.buckets ?? [];
  if (buckets.length === 0) return null;
  const f = result.forward_time_s * 1e3, c = result.compute_time_s * 1e3;
  const rows = buckets.flatMap((b, row) => {
    const size = `${bytes(b.bytes)}, ${counted(b.tensors.length, "tensor")}`;
    const tip = { bucket: String(row), size, first: b.tensors[0] ?? "", ready: seconds(b.ready_s), sent: seconds(b.start_s), done: seconds(b.end_s) };
    return [{ row, from: b.ready_s * 1e3, to: b.start_s * 1e3, colour: "#f0c8a0", tip },
      { row, from: b.start_s * 1e3, to: b.end_s * 1e3, colour: kPhases.other, tip, left: b.ready_s * 1e3, text: buckets.length <= 24 ? size : "" }];
  });
  const row = buckets.length <= 24 ? 24 : buckets.length <= 48 ? 12 : Math.max(1.5, 480 / buckets.length);
  const end = Math.max(step, ...buckets.map((b) => b.end_s)) * 1e3;
  const marks = [{ name: "forward", from: 0, to: f, colour: kPhases.forward }, { name: "backward", from: f, to: c, colour: kPhases.backward },
    { name: "exposed", from: c, to: step * 1e3, colour: kPhases.other }].filter((m) => m.to > m.from);
  return section("Bucket plan", `${counted(buckets.length, "bucket")} in the order in which they are sent, over the time of the step's passes.`,
    h("div", { class: "key" }, h("span", {}, h("i", { style: "background:#f0c8a0" }), "ready, waits"),
      h("span", {}, h("i", { style: `background:${kPhases.other}` }), "on its way")),
    figure("buckets", "Buckets over time", (width) => strips(rows, { names: buckets.map(() => ""), end, marks, row }, width)),
    folded("as a table", table([["bucket", "number"], ["bytes", "number"], ["tensors", "number"], ["ready", "number"], ["sent", "number"], ["done", "number"], ["of", "long"]],
      buckets.slice(0, 1000).map((b, i) => [String(i), String(b.bytes), String(b.tensors.length), seconds(b.ready_s), seconds(b.start_s), seconds(b.end_s), b.tensors.join(", ")]))));
};

const timeline = () => {
  const { tracks, spans, note } = data.timeline;
  const most = 14;
  const used = tracks.map((name, i) => ({ name, i })).filter((t) => spans.some((s) => s[0] === t.i)).slice(0, most);
  if (used.length === 0) return section("Timeline", note);
  const rowOf = new Map(used.map((t, row) => [t.i, row]));
  const rows = spans.filter((s) => rowOf.has(s[0])).map(([track, name, from, to, size, bucket]) => ({
    row: rowOf.get(track), from, to,
    colour: kPhases[phaseOf(/forward|backward/.test(name) ? name : tracks[track] === "compute" ? name : tracks[track])],
    tip: { what: name, from: `${digits(from, 6)} ms`, takes: seconds((to - from) / 1e3),
      ...(size === null ? {} : { size: bytes(size) }), ...(bucket === null ? {} : { bucket: String(bucket) }) } }));
  const end = Math.max(...rows.map((r) => r.to));
  return section("Timeline", `What rank 0${jobs.length > 1 ? ` of ${jobs[0].name}` : ""} does in its first step${note === "" ? "" : ` (${note})`}; steptime run --timeline shows all of it.`,
    h("div", { class: "key" }, [["forward", "forward"], ["backward", "backward"], ["other", "communication"], ["sum", "sums, updates"], ["copy", "copies"], ["host", "threads of the host"]]
      .filter(([kind]) => rows.some((r) => r.colour === kPhases[kind]))
      .map(([kind, name]) => h("span", {}, h("i", { style: `background:${kPhases[kind]}` }), name))),
    figure("timeline", "Spans of rank 0 over time", (width) => strips(rows, { names: used.map((t) => t.name), end, row: 26 }, width)));
};

const scaling = () => {
  const points = explanation.scaling;
  if (points.length < 2) return null;
  const numbers = points.map((p) => p.nodes);
  const x = { title: perNode > 1 ? `nodes (of ${perNode} GPUs each)` : "nodes", numbers, labels: numbers.map(String) };
  const mark = points.some((p) => p.nodes === nodes) ? nodes : null;
  const time = timeAxis(Math.max(...points.map((p) => p.step_time_interval_s[1])));
  const rows = (y) => points.map((p) => {
    const [least, most] = p.step_time_interval_s;
    const value = y === "speedup" ? p.speedup : p.step_time_s * time.factor;
    const ends = y === "speedup" ? [p.speedup * p.step_time_s / most, p.speedup * p.step_time_s / least]
      : [least * time.factor, most * time.factor];
    return { x: p.nodes, y: value, low: ends[0], high: ends[1], series: "", shift: 0,
      tip: { nodes: String(p.nodes), step: seconds(p.step_time_s), "with 95\u00a0%": `${seconds(least)} to ${seconds(most)}`,
        speedup: `${digits(p.speedup)}×`, efficiency: percent(p.scaling_efficiency) } };
  });
  const knee = explanation.knee_nodes;
  // As many samples as the step has, at the pace of one copy for each of them.
  const ideal = (p) => p.step_time_s * p.scaling_efficiency;
  return section("More and fewer nodes",
    (knee > 0 ? `From ${counted(knee, "node")} on, twice as many gain less than 1.5 times the speed. ` : "")
      + (copy === "replica" ? `${made}: more nodes are more replicas, and numbers of nodes that make no whole ones are left out. ` : "")
      + (shared > 0 ? `All ${copy}s share the ${shared} samples of a step, which gets shorter with each of them. `
        : `Each ${copy} has as many samples in a step on any number of nodes. `)
      + `Bands hold what would be measured with 95\u00a0%; the dashed line is perfect scaling, every ${copy} as fast as one alone; the filled point is this config.`,
    h("div", { class: "pair" },
      h("div", {}, h("h3", {}, `Speedup over one ${copy}`), figure("speedup", "Speedup over the number of nodes", (width) => lines(rows("speedup"),
        { x, y: { title: "times", log: true }, series: [""], mark, ideal: points.map((p) => ({ x: p.nodes, y: copies(p) })) }, width))),
      h("div", {}, h("h3", {}, "Step time"), figure("step-time", "Step time over the number of nodes", (width) => lines(rows("step"),
        { x, y: { title: time.title }, series: [""], mark, ideal: points.map((p) => ({ x: p.nodes, y: ideal(p) * time.factor })) }, width)))));
};

const sweep = () => {
  if (data.sweep === null) return null;
  const { axes, rows } = data.sweep;
  const good = rows.filter((r) => r.error === undefined);
  const failed = rows.length - good.length;
  // Along the axis of numbers with most places that a point did not fail at; the others are told apart by colour.
  const placesOf = ({ axis, i }) => [...new Set(good.map((r) => axis.numbers[r.at[i]]))];
  const numeric = axes.map((axis, i) => ({ axis, i })).filter((one) => one.axis.numbers !== null && placesOf(one).length > 1)
    .sort((a, b) => (b.axis.name === "nodes") - (a.axis.name === "nodes") || placesOf(b).length - placesOf(a).length)[0];
  const nameOf = (row, without) => axes.map((axis, i) => (i === without ? null
    : axis.numbers === null ? axis.labels[row.at[i]] : `${axis.name} ${axis.labels[row.at[i]]}`)).filter((t) => t !== null).join(", ");
  const all = [...new Set(good.map((r) => nameOf(r, numeric?.i)))];
  const series = numeric ? all.slice(0, kColours.length) : all;
  const charts = [];
  const held = numeric && isDense(placesOf(numeric)) ? "Bands" : "Thin lines";
  let about = `${held} hold what would be measured with 95\u00a0%.`;
  if (good.length > 0 && numeric) {
    const { axis, i } = numeric;
    // The axis spans the places of points that did not fail.
    const there = [...new Set(good.map((r) => r.at[i]))].sort((a, b) => a - b);
    const numbers = there.map((at) => axis.numbers[at]);
    const ticks = axis.ticks?.filter(([n]) => n >= Math.min(...numbers) && n <= Math.max(...numbers));
    const x = { title: axis.name, numbers, labels: there.map((at) => axis.labels[at]), ticks: ticks?.length > 1 ? ticks : null };
    const shift = new Map(series.map((name, k) => [name, (k - (series.length - 1) / 2) * 3]));
    const byNodes = axis.name === "nodes";
    const time = timeAxis(Math.max(...good.map((r) => r.step_time_interval_s[1])));
    const chartRows = (y) => rows.filter((r) => shift.has(nameOf(r, i))).map((r) => {
      const name = nameOf(r, i);
      if (r.error !== undefined) return { x: axis.numbers[r.at[i]], y: null, series: name };
      const [least, most] = r.step_time_interval_s;
      const value = y === "speedup" ? r.speedup : r.step_time_s * time.factor;
      const ends = y === "speedup" ? [value * r.step_time_s / most, value * r.step_time_s / least]
        : [least * time.factor, most * time.factor];
      return { x: axis.numbers[r.at[i]], y: value, low: ends[0], high: ends[1], series: name, shift: shift.get(name),
        tip: { point: `${axis.name} ${axis.labels[r.at[i]]}${name === "" ? "" : `, ${name}`}`, step: seconds(r.step_time_s),
          "with 95\u00a0%": `${seconds(least)} to ${seconds(most)}`, speedup: `${digits(r.speedup)}×`, worth: r.domain } };
    }).sort((a, b) => a.x - b.x);
    const steps = chartRows("step"), speedups = chartRows("speedup");
    const spreadOf = (of) => spread(of.filter((r) => r.y !== null).map((r) => r.y));
    const log = spreadOf(steps) >= 8;
    // None where points of as many nodes are cut into other numbers of replicas.
    const most = new Map(good.map((r) => [axis.numbers[r.at[i]], copies(r)]));
    const hasIdeal = byNodes && good.every((r) => most.get(axis.numbers[r.at[i]]) === copies(r));
    if (hasIdeal) about = `${held} hold what would be measured with 95\u00a0%; the dashed one is perfect scaling, every ${copy} as fast as one alone.`;
    charts.push(h("div", {}, h("h3", {}, "Step time"), figure("sweep-step-time", "Step time of each point", (width) => lines(steps,
      { x, y: { title: time.title, log }, series }, width))));
    charts.push(h("div", {}, h("h3", {}, `Speedup over one ${copy}`), figure("sweep-speedup", "Speedup of each point", (width) => lines(speedups,
      { x, y: { title: "times", log: byNodes || spreadOf(speedups) >= 8 }, series,
        ideal: hasIdeal ? [...most].sort((a, b) => a[0] - b[0]).map(([n, c]) => ({ x: n, y: c })) : [] }, width))));
  } else if (good.length > 0) {
    const most = 60;
    charts.push(figure("sweep-step-time", "Step time of each point", (width) => bars(good.slice(0, most).map((r) => ({
      label: nameOf(r, -1), value: r.step_time_s, text: seconds(r.step_time_s), colour: kColours[(axes.length > 1 ? r.at[0] : 0) % kColours.length],
      low: r.step_time_interval_s[0], high: r.step_time_interval_s[1],
      tip: { step: seconds(r.step_time_s), speedup: `${digits(r.speedup)}×`, worth: r.domain } })), width)));
    if (good.length > most) charts.push(h("p", { class: "soft" }, `The first ${most} of ${good.length} points; all are in the table.`));
  }
  return section("The sweep", `${counted(rows.length, "point")} over ${axes.map((a) => a.name).join(" and ")}${failed > 0 ? `, ${failed} of them failed` : ""}. `
      + about
      + (series.length < all.length ? ` The charts show ${series.length} of ${all.length} combinations.` : ""),
    numeric ? h("div", { class: "pair" }, charts) : charts,
    folded("as a table", table([...axes.map((a) => [a.name]), ["step", "number"], ["with 95\u00a0%", "number"], ["exposed", "number"], ["speedup", "number"], ["efficiency", "number"], ["worth", "long"]],
      rows.map((r) => [...axes.map((a, k) => a.labels[r.at[k]]), ...(r.error === undefined
        ? [seconds(r.step_time_s), `${seconds(r.step_time_interval_s[0])} to ${seconds(r.step_time_interval_s[1])}`, seconds(r.exposed_comm_s),
          `${digits(r.speedup)}×`, percent(r.scaling_efficiency), r.domain]
        : ["failed", "", "", "", "", r.error])]))));
};

const kNames = { gpu: "GPU", "host-memory": "memory", socket: "CPU", "pcie-switch": "switch", "nvlink-switch": "NVLink switch", nic: "adapter" };
// Of the kinds of what is inside a node.
const kinds = (picture) => h("div", { class: "key" }, Object.keys(kNames).filter((kind) => picture.vertices.some((v) => v.kind === kind))
  .map((kind) => h("span", {}, h("i", { style: `background:${kKinds[kind]};outline:1px solid #6c7a88` }), kNames[kind])));
const machine = () => {
  const { node, fabric, links } = data;
  const busiest = links.slice(0, 8).map((l) => ({
    label: l.from === "network" ? "the network's busiest link" : `${l.from} to ${l.to}${l.kind === "" ? "" : ` (${l.kind})`}`,
    value: l.busy, text: percent(l.busy), colour: busyColour(l.busy), tip: `${bytes(l.bytes)} a step over ${digits(l.bandwidth_GBps)} GB/s` }));
  if (node === null && fabric === null && data.topology_note === "") return null;
  const between = links.find((l) => l.from === "network");
  const ofFabric = (fabric === null ? "" : widths(fabric))
    + (between === undefined ? `What ${fabric?.links.length > 0 ? "they" : "its links"} carry is not known link by link.`
    : `Of these the load of the busiest is known: ${bytes(between.bytes)} a step keep it at work for ${percent(between.busy)} of the time.`);
  return section("The machine", data.topology_note === "" ? "" : `${data.topology_note[0].toUpperCase()}${data.topology_note.slice(1)}.`,
    links.length === 0 ? null : h("div", { class: "key" }, [0, 0.05, 0.5, 1].map((busy) => h("span", {},
      h("i", { style: `background:${busyColour(busy)}` }), busy === 0 ? "carries nothing" : busy === 0.05 ? "a little" : busy === 0.5 ? "half the time" : "always busy"))),
    h("div", { class: "pair" },
      node === null ? null : h("div", {}, h("h3", {}, `A node of ${counted(perNode, "GPU")}`),
        figure("node", "The inside of a node with the load of its links", (width) => topology(node, true, width)),
        kinds(node)),
      fabric === null ? null : h("div", {}, h("h3", {}, `Between ${counted(nodes, "node")}${onEach(fabric)}`),
        owners(fabric),
        figure("fabric", "What connects the nodes", (width) => topology(fabric, isRound(fabric), width, ownerColour)),
        h("p", { class: "soft" }, ofFabric)),
      busiest.length === 0 ? null : h("div", {}, h("h3", {}, "Busiest links, share of the step"),
        figure("links", "Load of the busiest links", (width) => bars(busiest, width, 1)))));
};
// "8 links of 12.5 GB/s and 1 of 3 GB/s. "
const widths = (picture) => {
  const where = picture.vertices.some((v) => v.holds > 0) ? " between switches" : "";
  const counts = new Map();
  for (const l of picture.links) counts.set(l.GBps, (counts.get(l.GBps) ?? 0) + l.count);
  const kinds = [...counts].map(([width, count], i) => `${i === 0 ? counted(count, "link") + where : count} of ${digits(width)} GB/s`);
  return kinds.length === 0 ? "" : `${kinds.slice(0, -1).join(", ")}${kinds.length > 1 ? " and " : ""}${kinds[kinds.length - 1]}. `;
};
// Whose nodes they are: of jobs that share the network.
const jobColour = (i) => (i < kColours.length - 1 ? kColours[i] : "#c3cbd3");
const ownerOf = new Map(jobs.flatMap((job, i) => job.nodes.map((n) => [`node${n}`, i])));
const ownerColour = (vertex) => (ownerOf.has(vertex.name) ? tint(jobColour(ownerOf.get(vertex.name)))
  : jobs.length > 0 && vertex.kind === "node" ? "#ffffff" : undefined);
const owners = (fabric) => jobs.length === 0 || !fabric.vertices.some((v) => v.kind === "node") ? null
  : h("div", { class: "key" }, jobs.slice(0, kColours.length - 1).map((job, i) => h("span", {},
    h("i", { style: `background:${tint(jobColour(i))};outline:1px solid #6c7a88` }), job.name)));
// How many nodes hang on a switch, where they are left out of the picture.
const onEach = (picture) => {
  const held = picture.vertices.map((v) => v.holds).filter((n) => n > 0);
  if (held.length === 0) return "";
  const [least, most] = [Math.min(...held), Math.max(...held)];
  return `, ${least === most ? most : `${least} to ${most}`} on a switch`;
};
// Rows of switches have whole heights; rings have not.
const isRound = (picture) => picture.vertices.some((v) => !Number.isInteger(v.y));

const worth = () => {
  const rows = data.record.map((r) => ({ share: r.share, error: r.error_pct, testbed: r.testbed,
    tip: { row: r.id, testbed: r.testbed, workers: String(r.workers), "measured beside simulated": `${digits(r.error_pct)} %` } }));
  const now = { share: data.share, low: (low / step - 1) * 100, high: (high / step - 1) * 100 };
  return section("How much it is worth", "",
    h("p", {}, h("strong", { class: domain.status }, domain.status), ` as a prediction of ${data.kind}. The step time's interval, `
      + `${seconds(low)} to ${seconds(high)}, holds what would be measured with 95\u00a0%.`),
    domain.beyond.length === 0 ? null : h("ul", {}, domain.beyond.map((reason) => h("li", {}, reason))),
    rows.length === 0 || result.workers === 1 ? null : h("div", {},
      h("h3", {}, "Published steps of this kind beside their simulation, none of them fitted; the diamond is this step, the bar its interval"),
      figure("record", "Errors of predictions of this kind", (width) => record(rows, now, width))));
};

const config = () => section("The config", "With every default written out; its quantities can be changed by --set /pointer=value.",
  folded("show", h("pre", {}, JSON.stringify(result.config, null, 2))));

document.title = `${data.name} · Steptime`;
document.getElementById("page").replaceChildren(...[head(), tiles(), theJobs(), causes(), gains(), sweep(), scaling(), plan(), timeline(), machine(), worth(), config(),
  h("footer", {}, `Steptime ${result.version}, fingerprint ${result.fingerprint}, result format ${result.format_version}. This page is one file and needs no network.`)]
  .filter((part) => part !== null));
draw();
new ResizeObserver(draw).observe(document.getElementById("page"));
