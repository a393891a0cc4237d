// Looks at a page of prof:report in a browser, after its own script: tests/profile/report_page.sh
// adds this to the page. Each line of the result is "ok NAME" or "not ok NAME: what was found".
const results = [];
function ok(condition, name, found) { results.push(condition ? `ok ${name}` : `not ok ${name}: ${found}`); }
function is(got, want, name) { ok(JSON.stringify(got) === JSON.stringify(want), name, `${JSON.stringify(got)}, not ${JSON.stringify(want)}`); }
const press = (key, target) => (target || timeline.canvas).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const near = (a, b, name, slack) => ok(Math.abs(a - b) <= (slack || 1e-6 * Math.abs(b) + 1), name, `${a}, not ${b}`);
const range = () => [timeline.from, timeline.to];
const median = list => list.sort((a, b) => a - b)[list.length >> 1];
const kindsOf = record => Array.from({ length: record.count }, (_, i) => record.classOf(i).kind);
const headsOf = id => [...byId(id).querySelectorAll("th button")];
const columnOf = (id, i) => [...byId(id).querySelectorAll(`tbody td:nth-child(${i + 1})`)].map(cell => cell.textContent);

// The colour of the canvas in the middle of an event, as "r,g,b".
function pixel(e) {
    const place = timeline.placeOf(e), ratio = devicePixelRatio || 1, x = Math.max(0, place[0]) + Math.min(place[2], 20) / 2;
    return [...timeline.g.getImageData(x * ratio, (place[1] + 2) * ratio, 1, 1).data].slice(0, 3);
}
function rgb(name) {
    const probe = document.createElement("i");
    probe.style.color = style(name);
    document.body.append(probe);
    const colour = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number);
    probe.remove();
    return colour;
}
// WCAG 2's contrast of two colours.
function contrast(a, b) {
    const light = c => c.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + .05) / (y + .05);
}

// The element that reaches farthest to the right.
function widest() {
    const far = e => e.getBoundingClientRect().right, e = [...document.querySelectorAll("body *")].reduce((a, b) => far(b) > far(a) ? b : a);
    return `${far(e)} > ${innerWidth}: ${e.outerHTML.slice(0, 200)}`;
}

const checks = {
    // Of every page.
    any() {
        is(errors, [], "no error");
        is(performance.getEntriesByType("resource").map(r => r.name), [], "nothing is loaded besides");
        is([document.title, document.images.length], [`${data.title ? clean(data.title) : "a profile"}, gpush ${data.version}`, 0], "names are no HTML");
        ok(document.documentElement.scrollWidth <= innerWidth, "the page is no wider than the window", widest());
    },

    // 3 steps, each with a wait for item; memory, stacks and shapes; see report_page.sh.
    demo() {
        const { record } = timeline, kinds = kindsOf(record);
        is(timeline.steps.map(e => record.classOf(e).name), ["step 1", "step 2", "step 3"], "steps");
        is(columnOf("steps", 0), ["step 1", "step 2", "step 3"], "in their table");
        is([timeline.waits.length, waitsByLine(record).length], [3, 1], "three waits on one line");
        const wait = timeline.waits[1], c = record.classOf(wait);
        ok(/item\(\)/.test(sourceOf(c.where)), "whose source is known", sourceOf(c.where));
        ok(byId("waits").textContent.includes(sourceOf(c.where)), "and shown", byId("waits").textContent);
        ok(byId("summary").querySelectorAll("ol.advice:not(.causes) li").length === 1, "one line's advice", byId("summary").textContent);
        ok(/^dominated by .* instead of .*predicted/.test(byId("verdict").textContent), "what dominated", byId("verdict").textContent);
        is(byId("summary").querySelectorAll("ol.causes li").length, list(data.verdict.causes).filter(cause => cause.advice).length, "what to change");
        ok(byId("summary").textContent.includes(sourceOf(c.where)), "with the source line", byId("summary").textContent);
        ok(/CPU-backed/.test(byId("badges").textContent), "sim is CPU-backed", byId("badges").textContent);
        ok(timeline.lanes.some(l => l.name === "sim:0, stream 0 (CPU-backed)"), "in the timeline, too", timeline.lanes.map(l => l.name).join());

        // Every kernel has a launch, before it, and is drawn where it should be.
        const kernels = kinds.map((k, i) => k === "kernel" ? i : NONE).filter(i => i !== NONE);
        is(kernels.filter(k => record.partner(k) === NONE || record.start[record.partner(k)] > record.start[k]), [], "each kernel was queued by something before it");
        is(kernels.filter(k => record.partner(record.partner(k)) !== k), [], "which leads back to it");
        const longest = kernels.reduce((a, k) => record.length(k) > record.length(a) ? k : a);
        view.zoomTo(longest);
        timeline.draw();
        is(pixel(longest), rgb("kernel"), "a kernel is drawn in its colour");
        timeline.flows = false;
        timeline.draw();
        const place = timeline.placeOf(longest);
        is(timeline.at(Math.max(0, place[0]) + 5, place[1] + 5), longest, "and found there");
        view.choose(longest);
        ok(/queued by/.test(byId("details").textContent), "its details lead to its launch", byId("details").textContent);
        view.all();
        timeline.draw();
        is(timeline.at(timeline.x(record.start[wait]), timeline.waitsAt + 5), wait, "a wait's mark is found");
        view.choose(wait);
        ok(byId("details").textContent.includes("item()"), "its details have the source", byId("details").textContent);

        // Keys.
        const all = range();
        press("ArrowUp");
        ok(timeline.to - timeline.from < all[1] * .8, "up zooms in", range());
        const zoomed = range();
        press("ArrowRight");
        ok(timeline.from > zoomed[0], "right moves", range());
        press("f");
        is(range(), all, "F shows all");
        press("Escape");
        is(timeline.chosen, NONE, "Escape chooses nothing");
        press("]");
        press("]");
        is(timeline.chosen, timeline.waits[1], "] goes from wait to wait");
        press("[");
        is(timeline.chosen, timeline.waits[0], "[ goes back");
        view.all();
        timeline.canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, cancelable: true }));
        ok(timeline.to - timeline.from < all[1], "the wheel zooms", range());
        view.all();

        // Search and filters.
        setFilter({ words: "matmul" });
        const found = view.matches().map(e => record.classOf(e).name);
        ok(found.length >= 6 && found.every(n => n === "matmul"), "a search finds ops and their kernels", found.join());
        is(byId("matches").textContent, `${found.length} found`, "and says how many");
        press("n");
        is(record.classOf(timeline.chosen).name, "matmul", "N goes to a match");
        setFilter({ words: "" });
        setFilter({ line: c.where });
        const there = new Set(view.matches().map(e => record.classOf(e).kind));
        ok(there.has("wait") && there.has("op") && there.has("kernel"), "a line's ops, waits and kernels", [...there].join());
        is(view.matches().filter(e => { const k = record.partner(e); return record.classOf(e).where !== c.where && (k === NONE || record.classOf(k).where !== c.where); }), [], "and nothing else");
        setFilter({ line: "" });

        // Tables.
        headsOf("rows")[1].click();
        const calls = columnOf("rows", 1).map(Number);
        is(calls, calls.slice().sort((a, b) => b - a), "a head sorts");
        is(byId("rows").querySelectorAll("th")[1].getAttribute("aria-sort"), "descending", "and says how");
        headsOf("rows")[1].click();
        is(columnOf("rows", 1).map(Number), calls.slice().sort((a, b) => a - b), "its second click reverses");
        is([...byId("groups").querySelectorAll("button")].map(b => [b.textContent, b.disabled]), [["op", false], ["kernel", false], ["region", false], ["line", false], ["shape", false], ["stack", false]], "six groups");
        showRows("line");
        ok(columnOf("rows", 0).some(text => text === c.where), "by line", columnOf("rows", 0).join());
        showRows("op");

        // Flame graphs add up.
        near(flameOf(record, byRegion, false).total, record.wall, "the flame graph is the wall time");
        const device = kinds.reduce((sum, k, i) => ON_DEVICE.has(k) ? sum + record.length(i) : sum, 0);
        near(flameOf(record, byRegion, true).total, device, "the devices' is their work");
        near(flameOf(record, byStack, true).total, device, "by stack, too");
        ok([...flameOf(record, byStack, false).children.keys()].some(n => /:\d+( \(\w+\))?$/.test(n)), "whose frames are lines", "none");
        const script = flameOf(record, byRegion, false).children.get("rep [C]");
        ok(script && script.total > 0 && script.total < record.wall, "the script's own time is in it", script ? String(script.total) : "none");
        const steps = [...flameOf(record, byRegion, false).children.values()].filter(n => /^step/.test(n.name));
        timeline.steps.forEach((e, i) => near(steps[i].total, record.length(e), `${steps[i].name} is as long as it was`));

        // Memory: the peak's owners are the peak.
        const sim = timeline.memory.find(m => m.device === "sim:0");
        is(sim.before + sim.owners.reduce((sum, o) => sum + o.bytes, 0), sim.peak, "owners and what was there are the peak");
        is(sim.peak, Math.max(...sim.levels), "which is the highest level");
        ok(sim.owners[0].bytes === 4 << 20 && sim.owners[0].name === "zeros" && sim.owners[0].where.endsWith(":9"), "its largest owner is named", JSON.stringify(sim.owners[0]));
        ok(byId("memory").textContent.includes("zeros"), "and shown", byId("memory").textContent);

        // The roofline: a circle for each op, none above the roof.
        const worked = list(data.rows.op).filter(r => r.flops > 0 && r.bytes > 0), circles = [...byId("roofline").querySelectorAll("circle")];
        ok(worked.some(r => r.name === "matmul") && circles.length === worked.length, "a circle for each op that computes", circles.length);
        const line = byId("roofline").querySelector("polyline").getAttribute("points").split(" ").map(p => p.split(",").map(Number));
        const roofAt = at => { const i = Math.max(1, line.findIndex(p => p[0] >= at)); const [a, b] = [line[i - 1], line[i]]; return a[1] + (b[1] - a[1]) * (b[0] > a[0] ? (at - a[0]) / (b[0] - a[0]) : 0); };
        is(circles.filter(c => Number(c.getAttribute("cy")) < roofAt(Number(c.getAttribute("cx"))) - .5).map(c => c.textContent), [], "no op is above the roof");
        is(circles.filter(c => Math.abs(Number(c.getAttribute("cy")) - roofAt(Number(c.getAttribute("cx")))) < .5).length > 0, true, "one is on it");

        // Light, dark, paper.
        for (const theme of ["light", "dark"]) {
            setTheme(theme);
            for (const name of ["text", "faint", "accent", "good"]) ok(contrast(rgb(name), rgb("back")) >= 4.5, `${theme}: ${name} can be read`, contrast(rgb(name), rgb("back")));
            for (const name of ["op", "wait", "kernel", "region"]) ok(contrast(rgb(name), rgb("back")) >= 2.5, `${theme}: ${name} can be seen`, contrast(rgb(name), rgb("back")));
        }
        byId("steps").append(table([numbers("n", "n", count)], Array.from({ length: 130 }, (_, n) => ({ n }))));
        const rows = () => [byId("steps").lastChild.querySelectorAll("tbody tr").length, byId("steps").lastChild.lastChild.textContent];
        is(rows(), [20, "show all 130 rows"], "a long table has its first rows");
        dispatchEvent(new Event("beforeprint"));
        is(document.documentElement.dataset.theme, "light", "paper is white");
        is(rows(), [100, "and 30 more rows"], "and has more rows, where no button shows them");
        dispatchEvent(new Event("afterprint"));
        is(rows(), [20, "show all 130 rows"], "a screen has the first ones again");
    },

    // All waits are left out: the host ends long before the device.
    // Two coroutines take turns, each in a region of its own.
    coroutines() {
        const { record } = timeline, flame = flameOf(record, byRegion, false).children;
        const inside = name => [...flame.get(name).children.keys()].filter(n => !n.endsWith("]")).sort().join();
        is([inside("A"), inside("B")], ["exp", "log"], "an op is in its own coroutine's region");
        const rows = new Map(list(data.rows.region).map(r => [r.name, r.cpu_time_total]));
        for (const name of ["A", "B"]) {
            const total = flame.get(name).total;
            ok(total >= rows.get(name) && total < 3 * rows.get(name) + 1e5, `${name} has the time that it ran`, `${total}, ${rows.get(name)}`);
        }
        ok(flame.get("A").total + flame.get("B").total < record.wall / 2, "and not that of others", String(record.wall));
    },

    predicted() {
        const { record } = timeline, kinds = kindsOf(record);
        const last = kinds.reduce((a, k, i) => k === "kernel" && (a === NONE || record.stop[i] > record.stop[a]) ? i : a, NONE);
        const host = kinds.reduce((a, k, i) => k === "op" ? Math.max(a, record.stop[i]) : a, 0);
        ok(record.stop[last] > host, "the device works on after the host", `${record.stop[last]} and ${host}`);
        timeline.draw();
        ok(timeline.end >= record.stop[last] && timeline.x(record.start[last]) < timeline.width, "and the timeline shows it", timeline.end);
        timeline.flows = false;
        view.zoomTo(last);
        timeline.draw();
        is(pixel(last), rgb("kernel"), "in its colour");
        ok(/predicted, not measured: without all/.test(byId("badges").textContent), "it says that it is predicted", byId("badges").textContent);
        ok(/measured: /.test(byId("summary").textContent), "with what was measured", byId("summary").textContent);
        ok(headsOf("rows").some(h => h.textContent === "measured: self host") && columnOf("rows", 0).includes("wait: item"), "the rows, too", columnOf("rows", 0).join());
        is(timeline.waits.length, 0, "no waits");
        [...byId("tools").querySelectorAll("button")].find(b => b.textContent === "measured").click();
        is(timeline.waits.length, 3, "the measured record has them");
    },

    // Two ranks: each has its own steps and waits.
    ranks() {
        is(columnOf("steps", 0), ["rank 0: ProfilerStep* (1)", "rank 0: ProfilerStep* (2)", "rank 1: ProfilerStep* (1)", "rank 1: ProfilerStep* (2)"], "steps of each rank, with their numbers");
        is(columnOf("steps", 2), ["1", "1", "0", "5"], "a step's waits are its own rank's");
        const ranksOf = events => [...new Set([...events].map(e => timeline.record.rankOf(e)))].join();
        is([timeline.steps.length, timeline.waits.length], [4, 7], "all steps and waits");
        const long = [...timeline.waits].filter(e => timeline.record.rankOf(e) === "0")[1];
        view.range(timeline.record.start[long] + 1e5, 5e4);
        timeline.draw();
        is(timeline.at(timeline.width / 2, timeline.waitsAt + 5), long, "a long wait is there in its middle, where others' are short");
        view.all();
        const shares = columnOf("rows", 3).map(parseFloat);
        near(shares.reduce((a, b) => a + b, 0), 100, "shares are of all threads' time", .05 * shares.length);
        ok(/Lines that wait/.test(byId("summary").textContent) && !/No prediction/.test(byId("summary").textContent), "what waits cost is predicted for a job, too", byId("summary").textContent);
        ok(columnOf("waits", 0).some(text => /^rank 1: /.test(text)), "and their row", columnOf("waits", 0).join());
        setFilter({ rank: "1" });
        is([timeline.steps.length, timeline.waits.length, ranksOf(timeline.steps), ranksOf(timeline.waits)], [2, 5, "1", "1"], "those of a rank");
        is(ranksOf(timeline.shown.flatMap(l => l.rows.flatMap(r => [...r.events]))), "1", "and its lanes");
        setFilter({ rank: "" });
    },

    streams() {
        const busy = [...document.querySelectorAll(".card")].map(c => c.textContent).filter(text => /busy/.test(text));
        is(busy.map(text => text.match(/stream (\d+)/)[1]), ["11", "10", "9", "8"], "the busiest streams have a card");
        ok(/the most of 5 streams/.test(busy[0]), "and it is said that there are more", busy[0]);
        setFilter({ op: "aten::mm" });
        dispatchEvent(new Event("beforeprint"));
        is(byId("filtered").textContent, "narrowed to aten::mm", "paper says what is chosen");
        is([timeline.width, timeline.canvas.style.height], [PAPER, "auto"], "and has a timeline of its own size");
        dispatchEvent(new Event("afterprint"));
        is([byId("filtered").textContent, timeline.width], ["", timeline.canvas.parentElement.clientWidth], "a screen again");
    },

    // On a card: its roofs, which no op reaches, though all circles have their place below.
    modelled() {
        const lines = [...byId("roofline").querySelectorAll("polyline")].map(l => l.getAttribute("points").split(" ").map(p => p.split(",").map(Number)));
        is([...byId("roofline").querySelectorAll(".roof")].map(e => e.textContent), ["f32", "tf32 products", "16-bit products"], "a roof for each rate of the card");
        const highest = Math.min(...lines[0].map(p => p[1]));
        const circles = [...byId("roofline").querySelectorAll("circle")];
        ok(circles.length > 1 && circles.every(c => Number(c.getAttribute("cy")) > highest), "no op is above f32's", highest);
        ok(lines.every(l => l.every(p => p.every(v => v >= 0 && v <= 720))), "all lines are within the plot", JSON.stringify(lines));
        const texts = [...byId("roofline").querySelectorAll("text")].filter(e => e.getAttribute("text-anchor") !== "middle").map(e => [e.textContent, e.getBoundingClientRect()]);
        const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 5 && b.top < a.bottom - 5;
        is(texts.flatMap(([name, a], i) => texts.slice(i + 1).filter(([, b]) => over(a, b)).map(([other]) => `${name} and ${other}`)), [], "no name is over another");
        ok(/figures of the H200: 4\.80 TB\/s, 67\.0+ TFLOP\/s \(f32\)/.test(byId("roofline").textContent), "with its figures", byId("roofline").textContent);
    },

    hostile() {
        const names = new Set(timeline.record.classes.map(c => c.name));
        ok(names.has("<\/script><script>document.title='bad'<\/script>"), "a name that looks like HTML", [...names].join());
        is([...names].filter(n => /[\u0000-\u001f\u202e]/.test(n)), [], "no name turns the text or controls a terminal");
        for (const e of timeline.steps.concat(...timeline.lanes.map(l => l.rows.flatMap(r => [...r.events])))) view.choose(e);
        setFilter({ words: "<img src=x onerror=document.title='bad'>" });
        for (const g of ["op", "region", "line"]) showRows(g);
        checks.any();
    },

    empty() {
        is(timeline.record.count, 0, "no event");
        for (const key of ["ArrowUp", "ArrowRight", "]", "n", "f", "z"]) press(key);
        timeline.draw();
        ok(/waited for nothing/.test(byId("waits").textContent), "and no wait", byId("waits").textContent);
        checks.any();
    },

    // A program on the CPU, with a read and a condition that would wait on a card.
    reads() {
        ok(/would wait on a card/.test(byId("waits-head").textContent), "what would wait is shown", byId("waits-head").textContent);
        is([columnOf("waits", 1).sort(), columnOf("waits", 2)], [["branch", "item"], ["3", "3"]], "why, and how often");
        ok(columnOf("waits", 3).every(text => text.length > 20), "with what to write instead", columnOf("waits", 3).join());
        ok(/not measured/.test(byId("summary").textContent), "by what is called", byId("summary").textContent);
        is(byId("summary").querySelectorAll("ol.advice:not(.causes) li").length, 2, "each advice once at the top");
        checks.any();
    },

    // 1e5 events: how long it took to open, and what a step of the zoom takes.
    big() {
        ok(timeline.record.count > 1e5, "a hundred thousand events", timeline.record.count);
        ok(openedAt < 1000, "open within 1 s", `${openedAt} ms`);
        const times = [], step = () => { const t = performance.now(); timeline.draw(); timeline.g.getImageData(0, 0, 1, 1); times.push(performance.now() - t); };
        for (let i = 0; i < 15; i++) { view.zoom(.6, 300); step(); }
        for (let i = 0; i < 15; i++) { view.zoom(1 / .6, 700); step(); }
        ok(median(times) < 30, "a zoom step takes at most 30 ms", `${median(times)} ms`);
        const filter = performance.now();
        setFilter({ words: "tanh" });
        step();
        ok(performance.now() - filter < 300, "a search takes at most 0.3 s", `${performance.now() - filter} ms`);
        results.push(`figures opened in ${openedAt.toFixed(0)} ms (its script: ${openedIn.toFixed(0)} ms), zoom steps ${median(times).toFixed(1)} ms`);
    },
};
const openedAt = performance.now();
for (const name of CHECKS) {
    try { checks[name](); } catch (e) { results.push(`not ok ${name}: ${e.stack}`); }
}
document.body.replaceChildren(make("pre", { id: "results" }, results.join("\n")));
