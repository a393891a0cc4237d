// What is known of one event: in short beside the pointer, in full below the timeline.

const sourceOf = where => data.sources[where] === undefined ? "" : clean(data.sources[where]);

// Advice by the line of a wait and its cause.
function adviceOf(c) {
    const found = list(data.advice).find(a => a.why === c.why && clean(a.line) === c.where);
    return found ? clean(found.text) : "";
}

const KINDS = { op: "op, on the host", region: "region", wait: "the host waits", kernel: "kernel, on the device", copied: "copy, on the device",
    copy: "a copy is queued", held: "held up by the device's runtime", call: "call of the device's runtime" };

// The parts of an event as [name, text].
function partsOf(record, e) {
    const c = record.classOf(e), parts = [["what", KINDS[c.kind] || c.kind]];
    parts.push(["from", `${time(record.start[e])}, for ${time(record.length(e))}`]);
    if (c.label !== c.name) parts.push([c.kind === "kernel" ? "op" : "name", c.name]);
    if (c.where) parts.push(["line", c.where]);
    if (sourceOf(c.where)) parts.push(["source", sourceOf(c.where)]);
    if (c.why) parts.push(["why", c.why]);
    if (c.kind === "wait") parts.push(["queued", count(record.bytes[e]) + " commands when it began"]);
    if (c.kind === "copy" || c.kind === "copied") parts.push(["size", bytes(record.bytes[e])]);
    if (c.kind === "copied" && record.length(e) > 0) parts.push(["rate", scaled(record.bytes[e] / record.length(e) * 1e9) + "B/s"]);
    if (c.kind === "op" && c.more) parts.push(["shapes", c.more]);
    if (c.device) parts.push(["device", clean(c.device) + (c.stream === NONE ? "" : `, stream ${c.stream}`) + backing(c, data.modelled)]);
    if (c.failed) parts.push(["failed", "it raised an error"]);
    return parts.concat(flowOf(record, e));
}

function flowOf(record, e) {
    const other = record.partner(e);
    if (other === NONE) return [];
    const o = record.classOf(other), device = record.classOf(e).onDevice;
    const delay = device ? record.start[e] - record.start[other] : record.start[other] - record.start[e];
    const text = `${o.label}${o.where ? " at " + o.where : ""}, ${time(Math.abs(delay))} ${device ? "before" : "later"}, for ${time(record.length(other))}`;
    return [[device ? "queued by" : "ran as", text]];
}

function showTip(record, e, pointer) {
    const tip = byId("tip");
    tip.style.display = e === NONE ? "none" : "block";
    if (e === NONE) return;
    const c = record.classOf(e), source = sourceOf(c.where);
    tip.textContent = `${shorten(c.label, 200)}  ${time(record.length(e))}` + (c.where ? `\n${shorten(c.where, 200)}` : "") + (source ? `\n${source}` : "");
    tip.style.left = Math.max(4, Math.min(pointer.clientX + 12, innerWidth - tip.offsetWidth - 8)) + "px";
    const below = pointer.clientY + 16;
    tip.style.top = (below + tip.offsetHeight > innerHeight ? Math.max(0, pointer.clientY - tip.offsetHeight - 8) : below) + "px";
}

// Shows an event below the timeline, with buttons that go on from it.
function showDetails(view, e) {
    const place = byId("details"), { record } = view.timeline;
    place.classList.toggle("unused", e === NONE);
    if (e === NONE) { place.textContent = "Point at an event, or touch one: its details are shown here."; return; }
    const c = record.classOf(e), button = (text, does) => make("button", { type: "button", onclick: does }, text);
    const other = record.partner(e), advice = c.kind === "wait" ? adviceOf(c) : "";
    place.replaceChildren(make("b", { class: "name" }, c.label),
        make("dl", {}, partsOf(record, e).map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]),
            advice ? [make("dt", {}, "instead"), make("dd", {}, advice)] : [],
            c.stack ? [make("dt", {}, "stack"), make("dd", {}, c.stack.slice(0, 12).join(" < ") + (c.stack.length > 12 ? " < …" : ""))] : []),
        make("div", { class: "tools" }, button("zoom to it", () => view.zoomTo(e)),
            other === NONE ? null : button(c.onDevice ? "go to what queued it" : "go to what ran", () => view.reveal(other)),
            button("only this op", () => setFilter({ op: c.name })),
            c.where ? button("only this line", () => setFilter({ line: c.where })) : null));
}
