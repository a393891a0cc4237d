// The roofline: what each op reached, by how many operations it does for each byte that it moves.
// The roof is the card's where sim stood in for one; else what the best of the ops reached, in
// operations and in bytes. No op is above it.

const PLOT = { width: innerWidth < 600 ? 420 : 720, height: 340, left: 70, right: 20, top: 22, bottom: 40 };
const NAMED = 20; // ops with a name beside their circle: those that took longest

const tick = v => scaled(v).replace(/\.00(?= )/, "").replace(/0 $/, v < 1 ? "" : "0 ");

// A scale of powers of ten over the values: {at(v), ticks}.
function logScale(values, from, to) {
    const lo = Math.floor(Math.log10(Math.min(...values))), hi = Math.max(lo + 1, Math.ceil(Math.log10(Math.max(...values))));
    const ticks = [];
    for (let k = lo; k <= hi; k++) ticks.push(10 ** k);
    return { at: v => from + (Math.log10(v) - lo) / (hi - lo) * (to - from), ticks };
}

function svg(tag, attributes, text) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text !== undefined) e.textContent = text;
    return e;
}

// A roof over the range of x: up the slope of `bandwidth`, then level at `rate`.
function roof(bandwidth, rate, x, y, style) {
    const from = Math.max(x.ticks[0], y.ticks[0] / bandwidth), bend = rate / bandwidth, to = x.ticks[x.ticks.length - 1], points = [];
    if (bend > from) points.push([from, from * bandwidth]);
    points.push([Math.min(to, Math.max(from, bend)), Math.min(rate, to * bandwidth)]);
    if (bend < to) points.push([to, rate]);
    const line = svg("polyline", { points: points.map(p => `${x.at(p[0])},${y.at(p[1])}`).join(" "), fill: "none", stroke: "var(--mark)", "stroke-width": 2, ...style });
    line.append(svg("title", {}, `${scaled(bandwidth)}B/s, ${scaled(rate)}FLOP/s`));
    return line;
}

// The roofs: {bandwidth, levels: [name, rate], text, style}.
function roofsOf(rows) {
    const card = data.card;
    if (!card) {
        const rate = Math.max(...rows.map(r => r.flops_per_second)), bandwidth = Math.max(...rows.map(r => r.bytes_per_second));
        return { bandwidth, levels: [["", rate]], style: { "stroke-dasharray": "6 4" },
            text: `The broken line is the best that these ops reached: ${scaled(bandwidth)}B/s and ${scaled(rate)}FLOP/s.` };
    }
    const levels = [["f32", card.f32], ["tf32 products", card.tf32], ["16-bit products", card.f16]].filter((l, i, all) => all.findIndex(k => k[1] === l[1]) === i);
    return { bandwidth: card.bandwidth, levels, style: {}, text: `The lines are the figures of the ${clean(card.name)}: ${scaled(card.bandwidth)}B/s, ${levels.map(l => `${scaled(l[1])}FLOP/s (${l[0]})`).join(", ")}.` };
}

// Writes texts where none is yet, and none of the lines: write(text, spots) takes the first free one
// of [x, y, anchor], and leaves a text out that has none.
function writer(plot, lines) {
    const taken = [];
    return (text, spots, attributes) => {
        const width = 6.8 * text.length;
        const boxes = spots.map(([x, y, anchor]) => ({ x, y, anchor, from: anchor === "end" ? x - width : x, to: anchor === "end" ? x : x + width }));
        const box = boxes.find(b => b.from >= PLOT.left && b.to <= PLOT.width && !lines.some(l => l.from < b.to && l.y > b.y - 10 && l.y < b.y + 3) && taken.every(t => b.from > t.to || b.to < t.from || Math.abs(b.y - t.y) > 12));
        if (!box) return;
        taken.push(box);
        plot.append(svg("text", { x: box.x, y: box.y, "text-anchor": box.anchor, ...attributes }, text));
    };
}

function showRoofline() {
    const rows = list(data.rows.op).filter(r => r.flops > 0 && r.bytes > 0 && r.flops_per_second > 0);
    if (!rows.length) return;
    const { width, height, left, right, top, bottom } = PLOT;
    const roofs = roofsOf(rows), rates = data.card ? roofs.levels.map(l => l[1]) : [];
    const x = logScale(rows.map(r => r.flops / r.bytes).concat(rates.map(v => v / roofs.bandwidth)), left, width - right);
    const y = logScale(rows.map(r => r.flops_per_second).concat(rates), height - bottom, top);
    const plot = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Roofline of the ops", style: "max-width:900px;width:100%" });
    for (const t of x.ticks) plot.append(svg("line", { x1: x.at(t), x2: x.at(t), y1: top, y2: height - bottom, stroke: "var(--line)" }), svg("text", { x: x.at(t), y: height - bottom + 16, "text-anchor": "middle" }, tick(t)));
    for (const t of y.ticks) plot.append(svg("line", { x1: left, x2: width - right, y1: y.at(t), y2: y.at(t), stroke: "var(--line)" }), svg("text", { x: left - 6, y: y.at(t) + 4, "text-anchor": "end" }, tick(t)));
    plot.append(svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "operations for each byte"), svg("text", { x: 12, y: height / 2, transform: `rotate(-90 12 ${height / 2})`, "text-anchor": "middle" }, "FLOP/s"));
    const end = width - right, write = writer(plot, roofs.levels.map(l => ({ from: x.at(l[1] / roofs.bandwidth), y: y.at(l[1]) })));
    for (const [name, rate] of roofs.levels) {
        plot.append(roof(roofs.bandwidth, rate, x, y, roofs.style));
        if (name) write(name, [[end, y.at(rate) - 4, "end"], [end, y.at(rate) + 14, "end"]], { class: "roof" });
    }
    const took = r => r.self_device_time_total || r.self_cpu_time_total, most = Math.max(...rows.map(took));
    rows.sort((a, b) => took(b) - took(a)).forEach((r, i) => {
        const at = [x.at(r.flops / r.bytes), y.at(r.flops_per_second)], share = took(r) / most;
        const dot = svg("circle", { cx: at[0], cy: at[1], r: 3 + 9 * Math.sqrt(Math.max(0, share)), fill: "var(--kernel)", "fill-opacity": .6 });
        dot.append(svg("title", {}, `${clean(r.name)}: ${scaled(r.flops_per_second)}FLOP/s, ${scaled(r.bytes_per_second)}B/s`));
        plot.append(dot);
        if (i < NAMED) write(shorten(clean(r.name), 24), [[at[0] + 8, at[1] - 6, "start"], [at[0] + 8, at[1] + 14, "start"], [at[0] - 8, at[1] - 6, "end"], [at[0] - 8, at[1] + 14, "end"]]);
    });
    byId("roofline").replaceChildren(make("h2", {}, "Roofline"), plot, make("p", { class: "small" }, `A circle is an op, as large as its time. ${roofs.text} Left of a bend memory is the limit, right of it arithmetic.`));
}
