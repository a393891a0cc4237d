// Puts the page together: reads the data, shows every part, and joins the tools with the timeline.

const opened = performance.now();
const data = JSON.parse(byId("data").textContent);
data.sources = data.sources || {};

// ---- light and dark ----

const darkWanted = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = "";
function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    timeline.colour = null;
    timeline.draw();
}
const themeNow = () => chosenTheme || (darkWanted.matches ? "dark" : "light");

// ---- the tools above the timeline ----

// A list to choose one of `values` from; "" stands for all.
function chooser(field, all, values) {
    const select = make("select", { id: "filter-" + field, "aria-label": all, onchange: () => setFilter({ [field]: select.value }) }, make("option", { value: "" }, all));
    for (const v of values.slice(0, 500)) select.append(make("option", { value: v }, shorten(v, 60)));
    select.hidden = values.length < 2;
    return select;
}

// Values of the classes, those of most events first.
function common(record, valueOf) {
    const times = new Map();
    for (let i = 0; i < record.count; i++) {
        const value = valueOf(record.classOf(i));
        if (value) times.set(value, (times.get(value) || 0) + 1);
    }
    return [...times].sort((a, b) => b[1] - a[1]).map(x => x[0]);
}

// Changes parts of the filter, and shows them in the tools.
function setFilter(change) {
    Object.assign(timeline.filter, change);
    byId("search").value = timeline.filter.words;
    for (const field of ["op", "line", "stream", "rank"]) {
        const select = byId("filter-" + field), value = timeline.filter[field];
        if (value && ![...select.options].some(o => o.value === value)) select.append(make("option", { value }, shorten(value, 60)));
        select.value = value;
        if (value) select.hidden = false;
    }
    timeline.apply();
    if ("words" in change) flame.search(change.words);
    const n = timeline.matched ? timeline.matched.reduce((sum, m) => sum + m, 0) : 0;
    byId("matches").textContent = timeline.matched ? `${count(n)} found` : "";
    view.draw();
}

function showTools() {
    const record = timeline.record, button = (text, title, does) => make("button", { type: "button", title, "aria-label": title, onclick: does }, text);
    const ops = common(record, c => c.kind === "op" || c.kind === "wait" ? c.name : ""), lines = common(record, c => c.where);
    const streams = timeline.lanes.filter(l => !l.host).map(l => l.name), ranks = [...new Set(timeline.lanes.map(l => l.rank).filter(Boolean))];
    const flows = make("input", { type: "checkbox", checked: true, onchange: () => { timeline.flows = flows.checked; view.draw(); } });
    const search = make("input", { type: "search", id: "search", placeholder: "search: op, line, region, why", "aria-label": "search", oninput: () => setFilter({ words: search.value }),
        onkeydown: e => { if (e.key === "Enter") { view.go(view.matches(), e.shiftKey); timeline.canvas.focus({ preventScroll: true }); } if (e.key === "Escape") setFilter({ words: "" }); } });
    byId("tools").replaceChildren(search, make("span", { id: "matches", "aria-live": "polite" }), chooser("op", "all ops", ops), chooser("line", "all lines", lines),
        chooser("stream", "all streams", streams), chooser("rank", "all ranks", ranks),
        button("clear", "show all events", () => setFilter({ words: "", op: "", line: "", stream: "", rank: "" })),
        button("−", "zoom out", () => view.zoom(1 / .6)), button("+", "zoom in", () => view.zoom(.6)), button("◀", "move left", () => view.pan(-.3)), button("▶", "move right", () => view.pan(.3)), button("all", "show all of it", () => view.all()),
        make("label", { title: `drawn where at most ${FLOWS} are in view` }, flows, " flows"), ...otherRecord());
}

// Buttons that show the measured record in place of the predicted one.
function otherRecord() {
    if (!data.measured) return [];
    let measured = null;
    const show = (which, name) => {
        timeline.show(which);
        for (const b of both) b.setAttribute("aria-pressed", String(b.textContent === name));
        showDetails(view, NONE);
        view.draw();
    };
    const predicted = timeline.record;
    const both = ["predicted", "measured"].map(name => make("button", { type: "button", "aria-pressed": String(name === "predicted"), onclick: () => {
        if (name === "measured" && !measured) measured = new Record(data.measured.record);
        show(name === "measured" ? measured : predicted, name);
    } }, name));
    return both;
}

function showKeys() {
    const names = { op: "op", region: "region", wait: "wait", kernel: "kernel", copied: "copy", held: "held up by the runtime", call: "call of the runtime" };
    const there = new Set(timeline.record.classes.map(c => c.kind));
    byId("keys").replaceChildren(...Object.entries(names).filter(([kind]) => there.has(kind)).map(([kind, name]) =>
        make("span", { style: "margin-right:1em;white-space:nowrap" }, make("span", { class: "key", style: `background:var(--${kind})` }), name)));
}

// ---- all of it ----

document.documentElement.dataset.theme = themeNow();
const timeline = new Timeline(byId("timeline"), new Record(data.record), data.modelled ? clean(data.modelled) : "");
const view = new View(timeline, e => showDetails(view, e));
const flame = new Flame(timeline.record);
showSummary(timeline.record);
showTools();
showKeys();
showSteps(view);
showWaits(timeline.record);
showGroups();
showMemory(timeline);
showRoofline();
timeline.draw();
byId("theme").onclick = () => { chosenTheme = themeNow() === "dark" ? "light" : "dark"; setTheme(chosenTheme); };
darkWanted.addEventListener("change", () => setTheme(themeNow()));
// Paper is white, has more rows, and says what the timeline is narrowed to.
function onPaper(on) {
    const { words, op, line, stream, rank } = timeline.filter, chosen = [words, op, line, stream, rank && "rank " + rank].filter(Boolean);
    byId("filtered").textContent = on && chosen.length ? "narrowed to " + clean(chosen.join(", ")) : "";
    for (const t of document.querySelectorAll(".table")) t.print(on);
    timeline.paper = on;
    setTheme(on ? "light" : themeNow());
}
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));
document.addEventListener("keydown", e => {
    if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); byId("search").focus(); }
});
const openedIn = performance.now() - opened; // ms
