// Draws the timeline: an axis, steps, waits, lanes of events, flows and memory. A row costs as many
// steps as it has pixels, however many events it has.

const ROW = 17, HEAD = 17, AXIS = 22, MARKS = 20, MEMORY = 54, FLOWS = 300, CHAR = 6.3, PAPER = 1000; // its width when printed, for the paper to shrink
const PALETTE = ["back", "text", "faint", "line", "panel", "op", "region", "wait", "kernel", "copied", "copy", "held", "call", "memory", "mark"];

class Timeline {
    constructor(canvas, record, modelled) {
        this.canvas = canvas;
        this.g = canvas.getContext("2d");
        this.filter = new Filter();
        this.matched = null; // by event, while the filter is active
        this.flows = true;
        this.chosen = this.hover = NONE;
        this.modelled = modelled;
        this.show(record);
    }

    // Shows another record: measured instead of predicted.
    show(record) {
        this.record = record;
        this.lanes = record.lanes || (record.lanes = lanesOf(record, this.modelled));
        this.allSteps = stepsOf(record);
        this.allWaits = waitsOf(record);
        this.memory = record.levels || (record.levels = memoryOf(record));
        this.end = Math.max(record.end, 1);
        this.from = 0;
        this.to = this.end;
        this.chosen = this.hover = NONE;
        this.apply();
    }

    // The filter has changed.
    apply() {
        this.matched = this.filter.active ? this.filter.of(this.record) : null;
        const there = e => !this.filter.rank || this.record.rankOf(e) === this.filter.rank;
        this.steps = this.allSteps.filter(there);
        this.waits = this.allWaits.filter(there);
        this.waitsByTrack = apart(this.record, this.waits);
        this.shown = this.lanes.filter(lane => this.filter.showsLane(lane));
        for (const lane of this.shown)
            for (const row of lane.rows) row.matching = this.matched ? row.events.filter(e => this.matched[e]) : null;
        this.layOut();
    }

    layOut() {
        let y = AXIS;
        this.stepsAt = y;
        if (this.steps.length) y += MARKS;
        this.waitsAt = y;
        if (this.waits.length) y += MARKS;
        for (const lane of this.lanes) lane.y = NONE;
        for (const lane of this.shown) {
            lane.y = y + HEAD;
            y = lane.y + ROW * Math.max(1, lane.rows.length) + 4;
        }
        for (const m of this.memory) {
            m.y = y + HEAD;
            y = m.y + MEMORY + 6;
        }
        this.height = y + 4;
    }

    readColours() {
        this.colour = {};
        for (const name of PALETTE) this.colour[name] = style(name);
    }

    x(ns) { return (ns - this.from) * this.scale; }

    draw() {
        const { canvas, g } = this, ratio = this.paper ? 2 : window.devicePixelRatio || 1;
        if (!this.colour) this.readColours();
        this.width = this.paper ? PAPER : canvas.parentElement.clientWidth;
        const w = Math.round(this.width * ratio), h = Math.round(this.height * ratio);
        if (canvas.width !== w || canvas.height !== h) {
            canvas.width = w;
            canvas.height = h;
        }
        canvas.style.height = this.paper ? "auto" : this.height + "px";
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.fillStyle = this.colour.back;
        g.fillRect(0, 0, this.width, this.height);
        g.font = "11px system-ui, sans-serif";
        g.textBaseline = "middle";
        this.scale = this.width / (this.to - this.from);
        this.drawAxis();
        this.drawSteps();
        this.drawWaits();
        const drawn = [];
        for (const lane of this.shown) this.drawLane(lane, drawn);
        for (const m of this.memory) this.drawMemory(m);
        this.drawFlows(drawn);
        for (const e of [this.hover, this.chosen]) if (e !== NONE) this.frame(e);
    }

    drawAxis() {
        const { g } = this, rough = (this.to - this.from) / Math.max(2, this.width / 90), power = 10 ** Math.floor(Math.log10(rough));
        const step = Math.max(1, [1, 2, 5, 10].find(k => k * power >= rough) * power);
        g.textAlign = "left";
        for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
            const x = this.x(t);
            g.fillStyle = this.colour.line;
            g.fillRect(Math.round(x), 0, 1, this.height);
            g.fillStyle = this.colour.faint;
            g.fillText(axisTime(t, step), x + 4, AXIS / 2);
        }
        const end = this.x(this.record.wall); // what comes after it: the device's work
        if (this.record.end > this.record.wall && end < this.width) {
            g.fillStyle = this.colour.mark;
            g.fillRect(end, 0, 1, this.height);
        }
    }

    label(text, x, y, room, colour) {
        const most = Math.floor((room - 6) / CHAR);
        if (most < 3) return;
        this.g.fillStyle = colour;
        this.g.fillText(text.length > most ? Array.from(text.slice(0, 2 * most)).slice(0, most - 1).join("") + "…" : text, x + 3, y, room - 4);
    }

    drawSteps() {
        const { g, record } = this, y = this.stepsAt;
        let free = -1;
        for (const e of this.steps) {
            const x = this.x(record.start[e]), end = this.x(record.stop[e]);
            if (end < 0 || x > this.width || end <= free) continue;
            g.fillStyle = this.colour.panel;
            g.fillRect(x, y + 1, Math.max(1, end - x - 1), MARKS - 3);
            g.fillStyle = this.colour.faint;
            g.fillRect(x, y + 1, 1, this.height - y);
            const left = Math.max(0, x);
            this.label(stepName(record, e), left, y + MARKS / 2, Math.min(this.width, end) - left, this.colour.text);
            free = Math.ceil(x);
        }
    }

    // A mark at each wait's beginning, a band down the lanes where it is wide, and its source text.
    drawWaits() { this.waitsByTrack.forEach((waits, i) => this.drawWaitsOf(waits, !i)); }

    drawWaitsOf(waits, labels) {
        const { g, record } = this, y = this.waitsAt;
        let i = firstAfter(record, waits, this.from, 0);
        for (; i < waits.length && record.start[waits[i]] <= this.to;) {
            const e = waits[i], x = Math.max(0, this.x(record.start[e])), end = this.x(record.stop[e]);
            const dim = this.matched && !this.matched[e];
            g.fillStyle = this.colour.wait;
            if (end - x >= 1) {
                g.globalAlpha = dim ? .05 : .14;
                g.fillRect(x, y, end - x, this.height - y);
            }
            g.globalAlpha = dim ? .3 : 1;
            g.beginPath();
            g.moveTo(x - 4, y + 3);
            g.lineTo(x + 5, y + 3);
            g.lineTo(x + .5, y + 12);
            g.fill();
            g.globalAlpha = 1;
            const next = i + 1 < waits.length ? this.x(record.start[waits[i + 1]]) : this.width;
            const c = record.classOf(e);
            if (labels) this.label(sourceOf(c.where) || c.name, x + 5, y + MARKS / 2 - 2, Math.min(this.width, next - 5) - x - 5, this.colour.text);
            i = Math.max(i + 1, firstAfter(record, waits, this.from + (x + 3) / this.scale, i));
        }
    }

    drawLane(lane, drawn) {
        const { g } = this;
        g.fillStyle = this.colour.line;
        g.fillRect(0, lane.y - HEAD, this.width, 1);
        this.label(lane.name, 1, lane.y - HEAD / 2, this.width, this.colour.faint);
        for (const row of lane.rows) {
            const y = lane.y + row.depth * ROW, flows = lane.host ? null : drawn;
            if (row.matching) {
                g.globalAlpha = .22;
                this.drawRow(row.events, y, null, false);
                g.globalAlpha = 1;
                this.drawRow(row.matching, y, flows, true);
            } else {
                this.drawRow(row.events, y, flows, true);
            }
        }
    }

    // Events narrower than a pixel share one; those that end within it are passed over.
    drawRow(events, y, drawn, labels) {
        const { g, record, from, to, scale, width } = this, { start, stop } = record;
        let kind = "";
        for (let i = firstAfter(record, events, from - 1, 0); i < events.length;) {
            const e = events[i];
            if (start[e] > to) break;
            const c = record.classes[record.class[e]], x = Math.max(0, (start[e] - from) * scale);
            const room = Math.min(width, (stop[e] - from) * scale) - x;
            if (c.kind !== kind) g.fillStyle = this.colour[kind = c.kind];
            if (drawn && drawn.length <= FLOWS) drawn.push(e);
            if (room < 1) {
                const pixel = Math.floor(x);
                g.fillRect(pixel, y, 1, ROW - 2);
                i = Math.max(i + 1, firstAfter(record, events, from + (pixel + 1) / scale, i));
                continue;
            }
            g.fillRect(x, y, room > 3 ? room - .6 : room, ROW - 2);
            if (labels && room > 24) {
                this.label(c.label, x, y + ROW / 2 - 1, room, "#fff");
                kind = "";
            }
            i++;
        }
    }

    drawMemory(m) {
        const { g } = this, n = m.times.length, y = m.y + MEMORY;
        g.fillStyle = this.colour.line;
        g.fillRect(0, m.y - HEAD, this.width, 1);
        this.label(`memory of ${clean(m.device)}, at most ${bytes(m.peak)}`, 1, m.y - HEAD / 2, this.width, this.colour.faint);
        g.fillStyle = this.colour.memory;
        let lo = 0, hi = n; // the first change in view
        while (lo < hi) { const mid = (lo + hi) >> 1; if (m.times[mid] < this.from) lo = mid + 1; else hi = mid; }
        let level = lo ? m.levels[lo - 1] : m.levels[0] - this.record.bytes[m.events[0][0]], i = lo;
        g.beginPath(); // one area, or fractions of a pixel would leave stripes
        g.moveTo(0, y);
        for (let x = 0; x < this.width; x++) { // of each pixel its highest level
            const until = this.from + (x + 1) / this.scale;
            let most = level;
            for (; i < n && m.times[i] < until; i++) { level = m.levels[i]; if (level > most) most = level; }
            const h = m.peak ? most / m.peak * MEMORY : 0;
            g.lineTo(x, y - h);
            g.lineTo(x + 1, y - h);
        }
        g.lineTo(this.width, y);
        g.fill();
        const x = this.x(m.times[m.at]);
        g.fillStyle = this.colour.mark;
        if (x >= 0 && x <= this.width) g.fillRect(x - 1, m.y - 3, 3, MEMORY + 3);
    }

    // Where an event is drawn: [x, y, width], or null.
    placeOf(e) {
        const { record } = this, lane = this.laneOf(e);
        if (!lane || lane.y === NONE || record.row[e] === NONE) return null;
        const x = this.x(record.start[e]);
        return [x, lane.y + record.row[e] * ROW, Math.max(1, this.x(record.stop[e]) - x)];
    }

    laneOf(e) { return this.record.laneByKey.get(laneKey(this.record, e)); }

    drawFlows(drawn) {
        const ends = [this.hover, this.chosen].filter(e => e !== NONE);
        if (this.flows && drawn.length <= FLOWS) for (const e of drawn) this.drawFlow(e, .35);
        for (const e of ends) this.drawFlow(e, 1);
    }

    drawFlow(e, alpha) {
        const other = this.record.partner(e);
        if (other === NONE) return;
        const [from, to] = this.record.classOf(e).onDevice ? [other, e] : [e, other];
        const a = this.placeOf(from), b = this.placeOf(to), { g } = this;
        if (!a || !b) return;
        const y = a[1] + ROW - 2, lean = Math.max(10, Math.abs(b[1] - y) / 2);
        g.strokeStyle = this.colour.mark;
        g.globalAlpha = alpha;
        g.beginPath();
        g.moveTo(a[0] + .5, y);
        g.bezierCurveTo(a[0], y + lean, b[0], b[1] - lean, b[0] + .5, b[1]);
        g.stroke();
        g.globalAlpha = 1;
    }

    frame(e) {
        const place = this.placeOf(e);
        if (!place) return;
        this.g.strokeStyle = this.colour.text;
        this.g.lineWidth = 2;
        this.g.strokeRect(place[0] - 1, place[1] - 1, Math.max(3, place[2] + 1), ROW);
        this.g.lineWidth = 1;
    }

    // The event at a point of the canvas, or one at most three pixels away; NONE.
    at(x, y) {
        const near = 3 / this.scale, t = this.from + x / this.scale;
        if (this.waits.length && y >= this.waitsAt && y < this.waitsAt + MARKS) {
            const found = this.waitsByTrack.map(waits => this.nearest(waits, t, 2 * near)).filter(e => e !== NONE);
            return found.length ? found.reduce((a, b) => this.distance(b, t) < this.distance(a, t) ? b : a) : NONE;
        }
        const lane = this.shown.find(l => y >= l.y && y < l.y + l.rows.length * ROW);
        return lane ? this.nearest(lane.rows[Math.floor((y - lane.y) / ROW)].events, t, near) : NONE;
    }

    distance(e, t) { return Math.max(this.record.start[e] - t, t - this.record.stop[e], 0); }

    nearest(events, t, near) {
        const { start } = this.record;
        let best = NONE, distance = near;
        const i = firstAfter(this.record, events, t - near, 0);
        for (let k = i; k < Math.min(i + 100, events.length) && start[events[k]] <= t + near; k++) {
            const e = events[k], d = this.distance(e, t);
            if (d < distance || best === NONE) { best = e; distance = d; }
        }
        return best;
    }
}
