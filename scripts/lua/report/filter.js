// Which events the reader asks for: by words, an op, a line. Streams and ranks are whole lanes.

class Filter {
    constructor() { this.words = ""; this.op = ""; this.line = ""; this.stream = ""; this.rank = ""; }

    get active() { return this.words.trim() !== "" || this.op !== "" || this.line !== ""; }

    matchesClass(c) {
        if (c.kind !== "memory" && UNSEEN.has(c.kind)) return false;
        if (this.op && c.name !== this.op) return false;
        if (this.line && c.where !== this.line) return false;
        const all = [c.name, c.label, c.where, c.why, c.kind, c.more, c.device].join(" ").toLowerCase();
        return this.words.toLowerCase().split(/\s+/).every(word => all.includes(word));
    }

    // 1 for each event of a record that is asked for. What a device ran is it where what queued it
    // is: only that knows its line.
    of(record) {
        const matched = new Uint8Array(record.count), classes = record.classes.map(c => this.matchesClass(c) ? 1 : 0);
        const { host } = record.byId;
        for (let i = 0; i < record.count; i++) {
            matched[i] = classes[record.class[i]];
            if (matched[i] || !record.id[i] || !record.classOf(i).onDevice) continue;
            const from = host.get(record.id[i]);
            if (from !== undefined) matched[i] = classes[record.class[from]];
        }
        return matched;
    }

    showsLane(lane) {
        return (!this.stream || lane.host || lane.name === this.stream) && (!this.rank || lane.rank === this.rank);
    }
}
