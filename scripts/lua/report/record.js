// The record: events as columns of numbers, read from the blocks that profile/show/columns.c wrote.

const NONE = -1;

// The bytes of a block of base64.
function bytesOf(block) {
    const text = atob(byId("block-" + block).textContent), n = text.length, out = new Uint8Array(n);
    for (let i = 0; i < n; i++) out[i] = text.charCodeAt(i);
    return out;
}

// A reader of LEB128 numbers. Those above 2^53, which no time and no size is, lose their last bits.
class Numbers {
    constructor(data) { this.data = data; this.at = 0; }
    next() {
        let byte = this.data[this.at++], value = byte & 127;
        for (let unit = 128; byte > 127; unit *= 128) {
            byte = this.data[this.at++];
            value += (byte & 127) * unit;
        }
        return value;
    }
    signed() {
        const v = this.next();
        return v % 2 ? -(v + 1) / 2 : v / 2;
    }
}

const WITH_ID = new Set(["op", "copy", "kernel", "copied", "held", "call"]);
const WITH_BYTES = new Set(["wait", "copy", "copied", "memory", "sample", "switch"]); // a switch: its region's number
const UNSEEN = new Set(["memory", "sample", "switch", "read"]); // not in the timeline's lanes
const ON_DEVICE = new Set(["kernel", "copied"]);
const NESTED = new Set(["op", "region", "wait", "copy", "call"]); // on a thread of the host

// A class of events, as the page uses it.
function readClass(c, raw) {
    const [kind, name, file, line, place, why, stack, more, failed] = c;
    const where = file ? `${clean(list(raw.files)[file - 1])}:${lineText(line)}` : "";
    const at = place ? list(raw.places)[place - 1] : null;
    return { kind, name: clean(name), where, why, more: clean(more), failed, nested: NESTED.has(kind), onDevice: ON_DEVICE.has(kind),
        hasId: WITH_ID.has(kind), hasBytes: WITH_BYTES.has(kind),
        device: at ? at[0] : "", backed: at ? at[1] : "", stream: at && at.length > 2 ? at[2] : NONE,
        stack: stack ? readStack(list(raw.stacks)[stack - 1], list(raw.files)) : null,
        label: clean(kind === "kernel" && more ? more : name) };
}

// A stack's frames as "file:line (function)", the innermost first.
function readStack(flat, files) {
    const frames = [];
    for (let i = 0; i < flat.length; i += 3)
        frames.push(`${clean(files[flat[i] - 1])}:${lineText(flat[i + 1])}${flat[i + 2] ? ` (${clean(files[flat[i + 2] - 1])})` : ""}`);
    return frames;
}

// All events of a record in columns: class, start, stop, id (0: none), bytes, the track, and of
// memory the block and the level afterwards.
class Record {
    constructor(raw) {
        this.classes = list(raw.classes).map(c => readClass(c, raw));
        this.tracks = list(raw.tracks);
        const n = this.count = this.tracks.reduce((sum, t) => sum + t.events, 0);
        this.class = new Int32Array(n);
        this.start = new Float64Array(n);
        this.stop = new Float64Array(n);
        this.id = new Float64Array(n);
        this.bytes = new Float64Array(n);
        this.track = new Uint16Array(n);
        this.memory = []; // events of memory, as [event, block, level]
        this.end = raw.wall;
        let at = 0;
        this.tracks.forEach((t, i) => { at = this.read(t, i, at); });
        this.wall = raw.wall;
        this.period = raw.period || 0; // ns that a sample of the script stands for
    }

    // Reads a track's events into the columns from index `at` on; returns the index after them.
    read(track, number, at) {
        if (!track.events) return at;
        const numbers = new Numbers(bytesOf(track.text));
        let start = 0, id = 0, level = 0;
        for (const last = at + track.events; at < last; at++) {
            const c = numbers.next(), { hasId, hasBytes, kind } = this.classes[c];
            start += numbers.signed();
            this.class[at] = c;
            this.track[at] = number;
            this.start[at] = start;
            this.stop[at] = start + numbers.next();
            if (this.stop[at] > this.end) this.end = this.stop[at];
            if (hasId) this.id[at] = id += numbers.signed();
            if (hasBytes) this.bytes[at] = numbers.signed();
            if (kind !== "memory") continue;
            const block = numbers.next();
            level += numbers.signed() + this.bytes[at];
            this.memory.push([at, block, level]);
        }
        return at;
    }

    classOf(event) { return this.classes[this.class[event]]; }
    rankOf(event) { const { rank } = this.tracks[this.track[event]]; return rank === undefined ? "" : String(rank); }
    length(event) { return this.stop[event] - this.start[event]; }

    // The host's event of an id, and the device's: made when they are first asked for.
    get byId() {
        if (this.pairs) return this.pairs;
        const host = new Map(), device = new Map();
        for (let i = 0; i < this.count; i++) {
            if (!this.id[i]) continue;
            const { kind, onDevice } = this.classOf(i);
            if (onDevice) { if (!device.has(this.id[i])) device.set(this.id[i], i); }
            else if (kind !== "held" || !host.has(this.id[i])) host.set(this.id[i], i);
        }
        return this.pairs = { host, device };
    }
    get tree() { return this.treeOf || (this.treeOf = treeOf(this)); }
    get parents() { return this.tree.parent; }

    // The event at the other end of an event's flow, or NONE.
    partner(event) {
        if (!this.id[event]) return NONE;
        const { host, device } = this.byId;
        const other = (this.classOf(event).onDevice ? host : device).get(this.id[event]);
        return other === undefined ? NONE : other;
    }
}
