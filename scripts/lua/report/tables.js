// Tables: a head sorts by its column, and reverses the order at the second click.

const SHOWN = 20; // rows at first
const PRINTED = 100; // rows on paper, where no button shows the rest

// Columns are {head, value(row), text(row), words}: words ("text", or "short" for those of a few
// letters) are sorted by letter and left-aligned. A text may be an element.
function table(columns, rows, caption, name) {
    const body = make("tbody"), more = make("button", { type: "button", onclick: () => { all = true; fill(); } });
    let sorted = NONE, down = true, all = false, paper = false;
    const heads = columns.map((column, i) => make("th", { scope: "col", class: column.words || "" },
        make("button", { type: "button", onclick: () => sort(i) }, column.head), make("b", { class: "printed" }, column.head)));
    function sort(i) {
        down = sorted === i ? !down : !columns[i].words;
        sorted = i;
        const { value, words } = columns[i], sign = down ? -1 : 1;
        rows = rows.map((row, order) => [value(row), row, order])
            .sort((a, b) => sign * (words ? String(a[0]).localeCompare(String(b[0]), "en", { numeric: true }) : a[0] - b[0]) || a[2] - b[2]).map(x => x[1]);
        heads.forEach((head, k) => head.setAttribute("aria-sort", k !== i ? "none" : down ? "descending" : "ascending"));
        heads.forEach((head, k) => { head.firstChild.textContent = columns[k].head + (k !== i ? "" : down ? " ▾" : " ▴"); });
        fill();
    }
    function fill() {
        const most = all ? rows.length : paper ? PRINTED : SHOWN;
        body.replaceChildren(...rows.slice(0, most).map(row =>
            make("tr", {}, columns.map(c => make("td", { class: c.words || "", "data-head": c.head }, c.text(row))))));
        more.hidden = rows.length <= most;
        more.textContent = paper ? `and ${count(rows.length - most)} more rows` : `show all ${count(rows.length)} rows`;
    }
    fill();
    return make("div", { class: "table", print: on => { paper = on; fill(); } }, caption ? make("p", { class: "small" }, caption) : null, make("div", { class: "scroll" }, make("table", { class: name || "" }, make("thead", {}, make("tr", {}, heads)), body)), more);
}

const rate = unit => v => v ? scaled(v) + unit : ""; // an op that computes nothing has none
const numbers = (head, field, text, of) => ({ head, value: row => (of ? of(row) : row[field]) || 0, text: row => text((of ? of(row) : row[field]) || 0) });

// The time of which the rows are shares: the wall time, or that of the threads of several ranks.
function hostTime() {
    const ranks = new Set(list(data.record.tracks).map(t => t.rank).filter(r => r !== undefined));
    return ranks.size < 2 ? data.wall : list(data.rows.op).reduce((sum, r) => sum + r.self_cpu_time_total, 0);
}

// A name that filters the timeline when it is pressed; more: what stands below it.
function pressable(name, more, does) {
    const shown = does ? make("button", { type: "button", onclick: does, title: "show only this in the timeline" }, clean(name)) : make("bdi", { class: "name" }, clean(name));
    return more ? [shown, make("span", { class: "more" }, clean(more))] : [shown];
}

// ---- waits ----

// The waits of a record by rank, line and cause.
function waitsByLine(record) {
    const lines = new Map();
    for (const e of waitsOf(record)) {
        const c = record.classOf(e), rank = record.rankOf(e), key = [rank, c.where, c.why].join("\n");
        if (!lines.has(key)) lines.set(key, { where: c.where || "?", line: c.where || "?", rank: rank || undefined, why: c.why, device: clean(c.device), times: 0, ns: 0, most: 0 });
        const line = lines.get(key), ns = record.length(e);
        line.times++;
        line.ns += ns;
        line.most = Math.max(line.most, ns);
    }
    return [...lines.values()].sort((a, b) => b.ns - a.ns);
}

// Where a row of waits is: its line or region, and its rank where there are several.
const placeOf = row => (row.rank === undefined ? "" : `rank ${row.rank}: `) + clean(row.line);

// The waits of another program's trace, or of several ranks, or what would wait on a card: what they cost was counted where the page was written.
function showCountedWaits(rows, costs) {
    const line = place => /^in |^\?$/.test(place) ? null : () => setFilter({ line: clean(place) });
    byId("waits").replaceChildren(rows.length ? table([
        { head: "line or region", words: "text", value: placeOf, text: r => pressable(placeOf(r), sourceOf(clean(r.line)), line(r.line)) },
        { head: "why", words: "short", value: r => r.why, text: r => clean(r.why === r.what ? r.why : `${r.why}: ${r.what}`) },
        ...costs,
        { head: "instead", words: "text", value: r => r.advice, text: r => clean(r.advice) }], rows) : "The host waited for nothing.");
}

function showForeignWaits(rows) {
    showCountedWaits(rows, [{ head: "device", words: "short", value: r => r.device, text: r => clean(r.device) },
        numbers("times", "times", count), numbers("the host waited", "ns", time), numbers("the device then idled", "idle", time)]);
}

function showWaits(record) {
    if (data.reads) {
        byId("waits-head").textContent = "Where the host would wait on a card";
        showCountedWaits(list(data.reads.rows), [numbers("times", "times", count)]);
        return;
    }
    if (data.waits) { showForeignWaits(list(data.waits)); return; }
    const rows = waitsByLine(record), saving = new Map(list(data.savings).map(s => [`${clean(s.file)}:${lineText(s.line)}`, s.saves]));
    const saved = row => saving.get(row.where) || 0;
    const columns = [
        { head: "line", words: "text", value: placeOf, text: r => pressable(placeOf(r), sourceOf(r.where), () => setFilter({ line: r.where })) },
        { head: "why", words: "short", value: r => r.why, text: r => r.why },
        { head: "device", words: "short", value: r => r.device, text: r => r.device },
        numbers("times", "times", count), numbers("the host waited", "ns", time), numbers("longest", "most", time)];
    if (rows.some(r => saving.has(r.where))) columns.push(numbers("its line saves, predicted", "", time, saved));
    if (rows.some(adviceOf)) columns.push({ head: "instead", words: "text", value: adviceOf, text: adviceOf });
    byId("waits").replaceChildren(rows.length ? table(columns, rows) : "The host waited for nothing.");
}

function showSteps(view) {
    const { record, steps } = view.timeline;
    if (!steps.length) return;
    const named = e => (record.rankOf(e) ? `rank ${record.rankOf(e)}: ` : "") + stepName(record, e);
    const rows = steps.map(e => ({ e, name: named(e), rank: record.rankOf(e), ns: record.length(e), waits: 0, waited: 0 }));
    for (const w of view.timeline.waits) {
        const row = rows.find(r => record.rankOf(w) === r.rank && record.start[w] >= record.start[r.e] && record.start[w] < record.stop[r.e]);
        if (row) { row.waits++; row.waited += record.length(w); }
    }
    const most = Math.max(...rows.map(r => r.ns));
    byId("steps").replaceChildren(make("h2", {}, "Steps"), table([
        { head: "step", words: "text", value: r => r.name, text: r => pressable(r.name, "", () => { view.zoomTo(r.e); view.choose(r.e); }) },
        { head: "time", value: r => r.ns, text: r => [make("span", { class: "share", style: `width:${60 * r.ns / most}px` }), time(r.ns)] },
        numbers("waits", "waits", count), numbers("the host waited", "waited", time)], rows));
}

// ---- rows by op, region, … ----

const GROUPS = ["op", "kernel", "region", "module", "line", "shape", "stack", "rank"];

// What a row of the table is called when the timeline is filtered by it.
function filterBy(group, row) {
    if (row.name.startsWith("[")) return null;
    if (group === "line") return () => setFilter({ line: clean(row.name) });
    return group === "op" || group === "shape" || group === "stack" ? () => setFilter({ op: clean(row.name) }) : () => setFilter({ words: clean(row.name) });
}

// What is known of kernels' runs and launches: of the longest run, but blocks and occupancy, which are means by time.
function launched(has) {
    const known = (head, field, text) => has(field) ? [numbers(head, field, v => v ? text(v) : "")] : [];
    const words = (head, field, text) => has(field) ? [{ head, words: "short", value: r => r[field] || "", text: r => r[field] ? text(r[field]) : "" }] : [];
    return [].concat(known("shortest", "device_time_min", time), known("longest", "device_time_max", time), known("blocks per SM", "blocks_per_sm", v => String(Number(v.toPrecision(3)))),
        known("est. occupancy", "occupancy", v => percent(v, 1)), words("grid", "grid", String), words("block", "block", String), known("registers", "registers", count),
        known("shared memory", "shared_memory", bytes), words("tensor cores, by name", "tensor_cores", () => "yes"));
}

function rowColumns(group, rows) {
    const has = field => rows.some(r => r[field]), wall = hostTime(), busy = rows.reduce((sum, r) => sum + r.self_device_time_total, 0);
    const columns = [{ head: group, words: "text", value: r => r.name, text: r => pressable(r.name, r.more, filterBy(group, r)) }, numbers("calls", "count", count)];
    if (group === "kernel") return columns.concat([numbers("device time", "self_device_time_total", time), numbers("share of device time", "self_device_time_total", v => percent(v, busy)),
        numbers("each", "", time, r => r.count ? r.self_device_time_total / r.count : 0)], launched(has));
    columns.push(
        { head: "self host time", value: r => r.self_cpu_time_total, text: r => [make("span", { class: "share", style: `width:${Math.max(0, 50 * r.self_cpu_time_total / wall)}px` }), time(r.self_cpu_time_total)] },
        numbers("share", "self_cpu_time_total", v => percent(v, wall)), numbers("host time", "cpu_time_total", time));
    if (has("device_time_total")) columns.push(numbers("self device time", "self_device_time_total", time), numbers("device time", "device_time_total", time));
    if (has("self_cpu_memory_usage")) columns.push(numbers("own host memory", "self_cpu_memory_usage", bytes));
    if (has("self_device_memory_usage")) columns.push(numbers("own device memory", "self_device_memory_usage", bytes));
    if (has("flops")) columns.push(numbers("operations", "flops", rate("")), numbers("rate", "flops_per_second", rate("FLOP/s")));
    if (has("bytes")) columns.push(numbers("bytes moved", "bytes", bytes), numbers("bandwidth", "bytes_per_second", rate("B/s")));
    return columns;
}

// The columns with which a prediction is compared with what was measured.
function measuredColumns(rows) {
    const measured = new Map(list(data.measured.op).map(r => [r.name, r])), of = (r, f) => (measured.get(r.name) || {})[f] || 0;
    const columns = [numbers("measured: self host", "", time, r => of(r, "self_cpu_time_total"))];
    if (rows.some(r => r.device_time_total)) columns.push(numbers("measured: self device", "", time, r => of(r, "self_device_time_total")));
    columns.push(numbers("change of self host", "", v => (v > 0 ? "+" : "") + time(v), r => r.self_cpu_time_total - of(r, "self_cpu_time_total")));
    return columns;
}

// Rows of what was measured and is gone in the prediction come with zeros.
function withGone(rows) {
    const there = new Set(rows.map(r => r.name));
    return rows.concat(list(data.measured.op).filter(r => !there.has(r.name)).map(r => ({ name: r.name, count: 0, self_cpu_time_total: 0, cpu_time_total: 0 })));
}

function showRows(group) {
    for (const b of byId("groups").children) b.setAttribute("aria-pressed", String(b.dataset.group === group));
    let rows = list(data.rows[group]);
    const compared = group === "op" && data.measured;
    if (compared) rows = withGone(rows);
    byId("rows").replaceChildren(table(rowColumns(group, rows).concat(compared ? measuredColumns(rows) : []), rows));
}

function showGroups() {
    byId("groups").replaceChildren("by", ...GROUPS.filter(g => data.rows[g] || data.missing[g]).map(g => {
        const b = make("button", { type: "button", onclick: () => showRows(g), disabled: !data.rows[g], title: data.missing[g] ? clean(data.missing[g]) : "" }, g);
        b.dataset.group = g;
        return b;
    }));
    showRows("op");
}
