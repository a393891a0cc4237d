// What holds what: the host's events as a tree, and from it flame graphs and the owners of memory.

// For each event of the host, and each of memory and sample of the script, the event around it, or
// NONE; and how long each was itself what ran. As profile/show/rows.c: time belongs to the present event, which
// is one of the present coroutine's regions after a switch, though others may be open.
function treeOf(record) {
    const parent = new Int32Array(record.count).fill(NONE), self = new Float64Array(record.count);
    for (let from = 0, to; from < record.count; from = to) {
        for (to = from; to < record.count && record.track[to] === record.track[from]; ) to++;
        walkTrack(record, from, to, parent, self);
    }
    return { parent, self };
}

function walkTrack(record, from, to, parent, self) {
    const { start, stop } = record, open = []; // begun and not ended, of every coroutine
    let now = NONE, last = 0;
    const spend = t => {
        if (now !== NONE && t > last) self[now] += t - last;
        if (t > last) last = t;
    };
    const endUntil = t => {
        for (;;) {
            let first = open.length - 1; // the earliest to end; of nested ones the last
            for (let i = first - 1; i >= 0; i--) if (stop[open[i]] < stop[open[first]]) first = i;
            if (first < 0 || stop[open[first]] > t) return;
            const ended = open[first];
            spend(stop[ended]);
            open.splice(first, 1);
            while (now !== NONE && stop[now] <= stop[ended]) now = parent[now];
        }
    };
    for (let i = from; i < to; i++) {
        const { nested, kind } = record.classOf(i);
        if (!nested && kind !== "memory" && kind !== "sample" && kind !== "switch") continue;
        endUntil(start[i]);
        if (nested || kind === "switch") spend(start[i]);
        if (kind === "switch") {
            const region = from + record.bytes[i] - 1; // before `from`: none
            let d = open.length - 1;
            while (d >= 0 && record.classOf(open[d]).kind === "region" && open[d] !== region) d--;
            now = d >= 0 ? open[d] : NONE;
            continue;
        }
        parent[i] = now;
        while (parent[i] !== NONE && stop[parent[i]] < stop[i] && kind !== "region") parent[i] = parent[parent[i]];
        if (nested) open.push(now = i);
    }
    endUntil(Infinity);
}

// ---- flame graphs: nodes of {name, kind, value, total, children} ----

const newNode = (name, kind) => ({ name, kind, value: 0, total: 0, children: new Map() });

function childOf(node, name, kind) {
    let child = node.children.get(name);
    if (!child) node.children.set(name, child = newNode(name, kind));
    return child;
}

function addUp(node) {
    node.total = node.value;
    for (const child of node.children.values()) node.total += addUp(child);
    return node.total;
}

// The device's time by the host's event that queued it, and what nothing on the record queued.
function deviceTimes(record) {
    const times = new Float64Array(record.count), { host } = record.byId;
    let elsewhere = 0;
    for (let i = 0; i < record.count; i++) {
        if (!record.classOf(i).onDevice) continue;
        const from = record.id[i] ? host.get(record.id[i]) : undefined;
        if (from === undefined) elsewhere += record.length(i);
        else times[from] += record.length(i);
    }
    return { times, elsewhere };
}

// How an event's node is found, from those of the event around it: by what it is called, or by the
// lines of the stack that it was called from.
function byRegion(record, parent, root) {
    const nodes = new Array(record.count);
    return i => {
        const c = record.classOf(i), up = parent[i] === NONE ? root : nodes[parent[i]];
        return nodes[i] = childOf(up, c.name, c.kind);
    };
}
function byStack(record, parent, root) {
    const nodes = new Map();
    return i => {
        const c = record.classOf(i);
        if (!c.stack || c.kind === "region") return null;
        if (!nodes.has(c)) {
            let node = root;
            for (let f = c.stack.length - 1; f >= 0; f--) node = childOf(node, c.stack[f], "region");
            nodes.set(c, childOf(node, c.name, c.kind));
        }
        return nodes.get(c);
    };
}

// Gives the functions of the script their time: their samples', at most that of the region around
// them or, by stack, of what is outside of all events. Returns what is left of the latter.
function addScript(record, nodeOf, outside) {
    const { parents } = record;
    for (let i = 0; i < record.count; i++) {
        if (record.classOf(i).kind !== "sample") continue;
        const node = nodeOf(i), up = parents[i] === NONE ? NONE : parents[i];
        if (!node || (up !== NONE && record.classOf(up).kind !== "region")) continue;
        const region = up === NONE ? null : nodeOf(up), wanted = record.bytes[i] * record.period;
        const taken = Math.max(0, Math.min(wanted, region ? region.value : outside));
        node.value += taken;
        if (region) region.value -= taken;
        else outside -= taken;
    }
    return outside;
}

// The flame graph of a record. by: byRegion or byStack; device: of its time, not the host's.
function flameOf(record, by, device) {
    const parent = record.parents, root = newNode(device ? "all of the device's work" : list(record.tracks).filter(t => !t.worker).length > 1 ? "all threads of the host" : "wall time", "all");
    const nodeOf = by(record, parent, root);
    const { times, elsewhere } = device ? deviceTimes(record) : { times: record.tree.self.slice(), elsewhere: 0 };
    let outside = record.wall;
    for (let i = 0; i < record.count; i++) {
        if (!record.classOf(i).nested) continue;
        const node = nodeOf(i);
        if (node) node.value += times[i];
        if (node && !record.track[i]) outside -= times[i];
    }
    if (!device) outside = addScript(record, nodeOf, outside);
    if (elsewhere) childOf(root, "[queued by nothing on the record]", "held").value += elsewhere;
    if (!device && outside > 0) childOf(root, "[outside of these events: the script, the end]", "call").value += outside;
    addUp(root);
    return root;
}

// ---- memory ----

// The levels of memory by device, [{device, times, levels, peak, at, owners, before}]. Owners of the
// peak are the ops, with their lines, whose blocks were live then; before: bytes that were there
// before the profile, or whose owner is unknown.
function memoryOf(record) {
    const devices = new Map();
    const events = record.memory.slice().sort((a, b) => record.start[a[0]] - record.start[b[0]]);
    for (const e of events) {
        const name = record.classOf(e[0]).device;
        if (!devices.has(name)) devices.set(name, { device: name, times: [], levels: [], events: [], peak: 0, at: 0 });
        const d = devices.get(name);
        d.times.push(record.start[e[0]]);
        d.levels.push(e[2]);
        d.events.push(e);
        if (e[2] > d.peak) { d.peak = e[2]; d.at = d.times.length - 1; }
    }
    for (const d of devices.values()) findOwners(record, record.parents, d);
    return [...devices.values()];
}

function findOwners(record, parent, d) {
    const live = new Map(), owners = new Map();
    for (let i = 0; i <= d.at; i++) {
        const [event, block] = d.events[i];
        if (record.bytes[event] > 0) live.set(block, event);
        else live.delete(block);
    }
    d.before = d.peak;
    d.unknown = d.events.some(e => !e[1]); // a trace that does not say which block was freed
    if (d.unknown) live.clear();
    for (const event of live.values()) {
        const c = parent[event] === NONE ? null : record.classOf(parent[event]);
        const key = c ? c.name + "\n" + c.where : "";
        if (!owners.has(key)) owners.set(key, { name: c ? c.name : "outside of any op", where: c ? c.where : "", bytes: 0, count: 0 });
        const owner = owners.get(key);
        owner.bytes += record.bytes[event];
        owner.count++;
        d.before -= record.bytes[event];
    }
    d.owners = [...owners.values()].sort((a, b) => b.bytes - a.bytes);
}
