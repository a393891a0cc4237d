// What dominated, and what to do about it: the top of the page.

// Labels of what was not measured on a card.
function badges() {
    const out = [], sim = list(data.record.places).some(p => p[1] === "sim");
    if (data.predicted) out.push(`predicted, not measured: ${clean(data.predicted)}${data.accuracy ? "; " + clean(data.accuracy) : ""}`);
    if (data.at_least) out.push(`at least, as nobody measured how long the card takes: ${clean(data.at_least)}`);
    if (data.modelled) out.push(clean(data.modelled));
    else if (sim) out.push("CPU-backed: sim's kernels ran on this processor, and its times are not a GPU's");
    return out;
}

// Ranks in their order as "ranks 0 to 4, 7".
function spans(ranks) {
    const out = [];
    for (const rank of ranks) {
        const last = out[out.length - 1];
        if (last && last[1] === rank - 1) last[1] = rank;
        else out.push([rank, rank]);
    }
    return (ranks.length > 1 ? "ranks " : "rank ") + out.map(([a, b]) => a === b ? a : `${a} to ${b}`).join(", ");
}

function about() {
    const part = data.record.part, devices = [...new Set(list(data.record.places).map(p => clean(p[0])))].join(", ");
    const parts = [data.version ? `gpush ${clean(data.version)}` : "", data.date, devices ? `devices: ${devices}` : "", `${count(data.count)} events`, data.how ? clean(data.how) : "",
        part ? `the timeline, the steps and the flame graph hold ${count(part.events)} of ${count(part.all)} events, those of ${spans(list(part.ranks))} of ${count(part.of)}; the verdict and the tables are of all` : "",
        data.dropped ? `${count(data.dropped)} events were dropped, at the limit or for lack of memory: their time is in the events around them` : "",
        data.lost ? `${count(data.lost)} events of the device were dropped by its tools` : "",
        data.others ? `${count(data.others)} events of other threads are not in the tables` : ""];
    return parts.filter(Boolean).join("; ");
}

const STREAMS = 4; // that have a card: the busiest
const SHARES = [["kernels", "kernels ran", "kernel"], ["copies", "only copies ran", "copied"], ["latency", "idle: work was queued, and had not begun", "memory"],
    ["waiting", "idle: the host waited", "wait"], ["loader", "idle: the host was in a loader", "held"],
    ["op", "idle: the host was in an op", "op"], ["script", "idle: the host was in the script", "region"]];

// Shares of the wall time as [label, ns, colour]: by the device's work where there is any, else by op.
function shares() {
    if (data.idle) return SHARES.map(([field, label, colour]) => [label, data.idle[field], colour]).filter(s => s[1] > 0);
    const rows = list(data.rows.op).filter(r => r.self_cpu_time_total > 0), colours = ["op", "kernel", "copied", "held", "memory"];
    const out = rows.slice(0, 5).map((r, i) => [clean(r.name), r.self_cpu_time_total, colours[i]]);
    const rest = rows.slice(5).reduce((sum, r) => sum + r.self_cpu_time_total, 0);
    return rest > 0 ? out.concat([["the rest", rest, "region"]]) : out;
}

function bar() {
    const parts = shares(), all = parts.reduce((sum, p) => sum + p[1], 0);
    if (!all) return [];
    const what = data.idle ? `What the devices did in the wall time${data.idle.rank === null ? "" : ` of rank ${data.idle.rank}, which ended last`}` : list(data.record.tracks).filter(t => !t.worker).length > 1 ? "What the host's threads did" : "What the wall time was";
    return [make("h3", {}, what),
        make("div", { class: "bar", role: "img", "aria-label": parts.map(p => `${p[0]} ${percent(p[1], all)}`).join(", ") }, parts.map(([label, ns, colour]) => make("span", { style: `width:${100 * ns / all}%;background:var(--${colour})`, title: `${label}: ${time(ns)}` }))),
        make("ul", { class: "keys" }, parts.map(([label, ns, colour]) => make("li", {}, make("span", { class: "key", style: `background:var(--${colour})` }), `${shorten(label, 60)}: ${time(ns)}, ${percent(ns, all)}`)))];
}

function cards(waits) {
    const waited = waits.reduce((sum, w) => sum + w.ns, 0), times = waits.reduce((sum, w) => sum + w.times, 0);
    const card = (name, value, text) => make("div", { class: "card" }, name, make("b", {}, value), make("span", { class: "small" }, text || "\u00a0"));
    const out = [card(data.predicted ? "wall time, predicted" : "wall time", time(data.wall), data.measured ? `measured: ${time(data.measured.wall)}, ${(data.measured.wall / data.wall).toFixed(2)} times it` : "")];
    out.push(card("the host waited", time(waited), `${count(times)} times, ${percent(waited, hostTime())} of the ${hostTime() === data.wall ? "wall time" : "threads' time"}`));
    const streams = data.idle ? list(data.idle.streams).sort((a, b) => b.busy - a.busy) : [];
    streams.slice(0, STREAMS).forEach((s, i) => out.push(card(`${clean(s.name)}: busy`, percent(s.busy, data.wall), time(s.busy) + (!i && streams.length > STREAMS ? `, the most of ${streams.length} streams` : ""))));
    if (data.idle) out.push(card("queued or running", data.idle.depth.toFixed(1), `commands at a time, ${count(data.idle.most)} at most`));
    return make("div", { class: "cards" }, out);
}

// What dominated, as prof:verdict decides it: its sentence, what to do about the causes that are worth most, and what each one is worth.
function verdict() {
    const causes = list(data.verdict.causes), advised = causes.filter(c => c.advice);
    const words = (head, field) => ({ head, value: c => clean(c[field] || ""), text: c => shorten(clean(c[field] || ""), 120), words: "text" });
    const worth = { head: "worth", value: c => c.worth, text: c => c.nothing ? clean(c.nothing) : `${time(c.worth)}, ${percent(c.worth, data.wall)}` };
    const columns = [words("what the time is owed to", "label"), numbers("times", "times", count), numbers("time", "ns", time), worth, words("most of it", "where")];
    return [make("h3", {}, "What dominated"), make("p", { id: "verdict" }, make("b", {}, clean(data.verdict.sentence))),
        ...(causes.length ? [table(columns, causes, "worth: what the run would take less if that took no time, predicted by a replay; worths overlap", "causes")] : []),
        ...(advised.length ? [make("h3", {}, "What to change"), make("ol", { class: "advice causes" }, advised.map(c => make("li", {}, make("b", {}, clean(c.label)), ": ", clean(c.advice))))] : [])];
}

// The same for another program's trace and for several ranks: the waits after which the devices idled longest.
function foreignAdvice() {
    const waits = list(data.waits).filter(w => w.idle > 0).sort((a, b) => b.idle - a.idle).slice(0, 3), head = make("h3", {}, "Lines that wait");
    if (!waits.length) return [head, make("p", {}, "No device idled because the host had waited.")];
    return [head, make("ol", { class: "advice" }, waits.map(w => make("li", {}, make("b", { class: "name" }, placeOf(w)), ` waits ${count(w.times)} times (${clean(w.why)}: ${clean(w.what)}), ${time(w.ns)}; the device then idled `,
        make("span", { class: "saves" }, time(w.idle)), ".", sourceOf(clean(w.line)) ? make("code", {}, sourceOf(clean(w.line))) : null, w.advice ? make("div", {}, "Instead: " + clean(w.advice)) : null)))];
}

// What would wait on a card: the first advices, each with the lines that it is for.
function cardAdvice() {
    const lines = new Map(), SHOWN_ADVICE = 5, SHOWN_LINES = 4;
    const places = rows => rows.slice(0, SHOWN_LINES).map(placeOf).join(", ") + (rows.length > SHOWN_LINES ? ` and ${count(rows.length - SHOWN_LINES)} more` : "");
    for (const r of list(data.reads.rows).filter(r => r.advice)) lines.set(r.advice, [...(lines.get(r.advice) || []), r]);
    const items = [...lines].slice(0, SHOWN_ADVICE).map(([text, rows]) => make("li", {}, make("b", { class: "name" }, places(rows)), ` (${clean(rows[0].what)}): ${clean(text)}`));
    return [make("h3", {}, "Lines that would wait on a card"), make("p", {}, clean(data.reads.head) + "; all of them are below."), make("ol", { class: "advice" }, items)];
}

// Three pieces of advice at most, those that save the most.
function advice() {
    if (data.reads) return cardAdvice();
    if (data.waits && data.no_savings) return foreignAdvice();
    const head = make("h3", {}, "Lines that wait"), savings = list(data.savings).filter(s => s.saves > 0).slice(0, 3);
    if (data.no_savings) return [head, make("p", {}, "No prediction: " + clean(data.no_savings))];
    if (!savings.length) return [head, make("p", {}, list(data.savings).length ? "The waits on the record cost nothing: leaving them out saves no time." : "No wait that a script can avoid is on the record.")];
    const items = savings.map(s => {
        const where = s.file ? `${clean(s.file)}:${lineText(s.line)}` : clean(s.what);
        return make("li", {}, make("b", { class: "name" }, where), ` waits ${count(s.count)} times${s.file ? ` (${clean(s.what)}${s.mixed ? " and others" : ""})` : ""}, ${time(s.waited)}: without that it `, make("span", { class: "saves" }, `saves ${time(s.saves)}${s.at_most ? ` to ${time(s.at_most)}` : ""}${s.more ? " or more" : ""}`), `, ${percent(s.saves, data.wall)}.`,
            sourceOf(where) ? make("code", {}, sourceOf(where)) : null, s.advice ? make("div", {}, "Instead: " + clean(s.advice)) : null);
    });
    const all = data.saves_all ? make("p", { class: "small" }, `Without all of the waits: ${data.saves_most ? `${time(data.wall - data.saves_most)} to ` : ""}${time(data.wall - data.saves_all)} instead of ${time(data.wall)}. Savings are predicted by a replay of the record, not measured: ${data.savings_accuracy}.`) : null;
    return [head, make("ol", { class: "advice" }, items), all];
}

function showSummary(record) {
    byId("badges").replaceChildren(...badges().map(text => make("span", { class: "badge" }, text)));
    byId("about").textContent = about();
    if (data.title) byId("title").textContent = `Profile of ${clean(data.title)}`;
    document.title = `${data.title ? clean(data.title) : "a profile"}, gpush ${clean(data.version)}`;
    byId("summary").replaceChildren(cards(data.waits ? list(data.waits) : waitsByLine(record)), ...verdict(), ...advice(), ...bar());
}
