// Lanes of the timeline: one for each thread of the host and each stream, of rows in which no two
// events overlap.

const DEEPEST = 48; // rows of a lane; what is nested deeper is in the tables

// The label of a device whose times are not those of a card.
function backing(c, modelled) {
    if (modelled && c.backed === "sim") return ` (${modelled})`;
    return c.backed === "sim" ? " (CPU-backed)" : "";
}

function laneNameOf(record, i, modelled) {
    const c = record.classOf(i), track = record.tracks[record.track[i]];
    if (c.onDevice) return `${clean(c.device)}, stream ${c.stream}${backing(c, modelled)}`;
    if (c.kind === "held") return "held up by the device's runtime";
    return track.name ? clean(track.name) : "host";
}

// Events of one class and one track are in one lane.
const laneKey = (record, e) => record.class[e] * 65536 + record.track[e];

// The lanes of a record: [{name, host, rank, track, rows}]; each row is a list of events by their start.
function lanesOf(record, modelled) {
    const known = new Map(), byClass = new Map();
    for (let i = 0; i < record.count; i++) {
        const { kind, onDevice } = record.classOf(i);
        if (UNSEEN.has(kind)) continue;
        const key = laneKey(record, i);
        let lane = byClass.get(key);
        if (!lane) {
            const rank = record.rankOf(i), name = laneNameOf(record, i, modelled);
            const full = rank ? `rank ${rank}: ${name}` : name;
            lane = known.get(full);
            if (!lane) known.set(full, lane = { name: full, host: !onDevice, rank, track: record.track[i], events: [] });
            byClass.set(key, lane);
        }
        lane.events.push(i);
    }
    record.laneByKey = byClass;
    const lanes = [...known.values()];
    if (!lanes.length) lanes.push({ name: "host", host: true, rank: "", events: [] });
    record.row = new Int16Array(record.count).fill(NONE);
    for (const lane of lanes) {
        lane.rows = rowsOf(record, lane.events);
        lane.events = null;
    }
    return lanes.sort((a, b) => a.rank.localeCompare(b.rank, "en", { numeric: true }) || b.host - a.host || (a.host ? a.track - b.track : 0) || a.name.localeCompare(b.name, "en", { numeric: true }));
}

function sortByStart(record, events) {
    const { start, stop } = record;
    for (let i = 1; i < events.length; i++)
        if (start[events[i - 1]] > start[events[i]])
            return events.sort((a, b) => start[a] - start[b] || stop[b] - stop[a]);
    return events;
}

// Each event goes below those that are still open when it begins. Zero-length ones count as 1 ns.
function rowsOf(record, events) {
    const ends = [], rows = [];
    for (const e of sortByStart(record, events)) {
        while (ends.length && ends[ends.length - 1] <= record.start[e]) ends.pop();
        const depth = ends.length;
        ends.push(Math.max(record.stop[e], record.start[e] + 1));
        if (depth >= DEEPEST) continue;
        if (!rows[depth]) rows[depth] = { events: [], depth };
        rows[depth].events.push(e);
        record.row[e] = depth;
    }
    for (const row of rows) row.events = Int32Array.from(row.events);
    return rows;
}

// The first position from `lo` on whose event ends after t: events of a row do not overlap.
function firstAfter(record, events, t, lo) {
    const { stop } = record;
    let step = 1, hi = lo;
    while (hi < events.length && stop[events[hi]] <= t) { lo = hi + 1; hi += step; step *= 2; }
    hi = Math.min(hi, events.length);
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (stop[events[mid]] <= t) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

const STEP = /^(?:step\s*#?\s*\d+|ProfilerStep[#*]\d*)$/i;
// Steps of a loop: regions with such a name.
function stepsOf(record) {
    const known = record.classes.map(c => c.kind === "region" && STEP.test(c.name)), steps = [];
    for (let i = 0; i < record.count; i++) if (known[record.class[i]]) steps.push(i);
    return steps;
}

// A step's name, with its number where torch's trace gave all of its steps one name.
function stepName(record, e) {
    const { name } = record.classOf(e);
    if (!/\*$/.test(name)) return name;
    if (!record.stepNumbers) {
        const of = new Map();
        record.stepNumbers = new Map(sortByStart(record, stepsOf(record)).map(s => {
            const rank = record.rankOf(s);
            of.set(rank, (of.get(rank) || 0) + 1);
            return [s, of.get(rank)];
        }));
    }
    return `${name} (${record.stepNumbers.get(e)})`;
}

// Events by their track, the longest list first: those of one track do not overlap.
function apart(record, events) {
    const lists = new Map();
    for (const e of events) {
        if (!lists.has(record.track[e])) lists.set(record.track[e], []);
        lists.get(record.track[e]).push(e);
    }
    return [...lists.values()].sort((a, b) => b.length - a.length).map(list => Int32Array.from(list));
}

// The host's waits, by their start: not the profiler's own at the end.
function waitsOf(record) {
    const known = record.classes.map(c => c.kind === "wait" && c.name !== "wait: profile"), waits = [];
    for (let i = 0; i < record.count; i++) if (known[record.class[i]]) waits.push(i);
    return Int32Array.from(sortByStart(record, waits));
}
