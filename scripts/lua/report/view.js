// Moves the timeline: by wheel, pointer, touch and keys. Drawing happens once a frame.

class View {
    constructor(timeline, onChoose) {
        this.timeline = timeline;
        this.onChoose = onChoose;
        this.waiting = false;
        this.touches = new Map();
        this.travel = 0; // pixels since a pointer went down: a click has few
        const { canvas } = timeline;
        canvas.addEventListener("wheel", e => this.wheel(e), { passive: false });
        canvas.addEventListener("pointerdown", e => this.down(e));
        canvas.addEventListener("pointermove", e => this.move(e));
        canvas.addEventListener("pointerup", e => this.up(e));
        canvas.addEventListener("pointercancel", e => this.up(e));
        canvas.addEventListener("pointerleave", () => this.point(NONE));
        canvas.addEventListener("dblclick", () => this.all());
        canvas.addEventListener("keydown", e => { if (this.key(e)) e.preventDefault(); });
        new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    }

    draw() {
        if (this.waiting) return;
        this.waiting = true;
        requestAnimationFrame(() => { this.waiting = false; this.timeline.draw(); });
    }

    // Shows times from `from` on, for `span` ns, within the record.
    range(from, span) {
        const t = this.timeline;
        span = Math.min(t.end, Math.max(span, Math.min(20, t.end)));
        t.from = Math.max(0, Math.min(t.end - span, from));
        t.to = t.from + span;
        this.draw();
    }
    zoom(factor, x) {
        const t = this.timeline, span = t.to - t.from, width = t.width || 1;
        const next = Math.min(t.end, Math.max(span * factor, Math.min(20, t.end)));
        const part = (x === undefined ? width / 2 : x) / width;
        this.range(t.from + part * (span - next), next);
    }
    pan(part) { const t = this.timeline; this.range(t.from + part * (t.to - t.from), t.to - t.from); }
    all() { this.range(0, this.timeline.end); }

    // Brings an event into view: where it is out of it or too small to be seen, nearer.
    reveal(e) {
        const t = this.timeline, { record } = t, length = record.length(e), span = t.to - t.from;
        const inView = record.start[e] >= t.from && record.stop[e] <= t.to;
        const wanted = length * 400 < span ? Math.max(length * 60, 2000) : Math.max(span, length * 1.2);
        if (!inView || wanted < span) this.range(record.start[e] + length / 2 - wanted / 2, wanted);
        this.choose(e);
        const place = t.placeOf(e), stage = t.canvas.parentElement;
        if (place && (place[1] < stage.scrollTop || place[1] > stage.scrollTop + stage.clientHeight - ROW))
            stage.scrollTop = place[1] - stage.clientHeight / 2;
    }
    zoomTo(e) { const { record } = this.timeline, n = Math.max(20, record.length(e) * 1.1); this.range(record.start[e] - n / 22, n); }

    choose(e) {
        this.timeline.chosen = e;
        this.onChoose(e);
        this.draw();
    }

    wheel(e) {
        e.preventDefault();
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan((e.deltaX || e.deltaY) / (this.timeline.width || 1));
        else this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), e.offsetX);
    }

    down(e) {
        this.touches.set(e.pointerId, e.clientX);
        this.travel = 0;
        if (e.isTrusted) e.target.setPointerCapture(e.pointerId);
    }
    move(e) {
        if (!this.touches.has(e.pointerId)) return this.point(this.timeline.at(e.offsetX, e.offsetY), e);
        const before = this.touches.get(e.pointerId), width = this.timeline.width || 1;
        this.travel += Math.abs(e.clientX - before);
        if (this.touches.size === 2) {
            const other = [...this.touches].find(([id]) => id !== e.pointerId)[1];
            const box = this.timeline.canvas.getBoundingClientRect();
            this.zoom(Math.max(10, Math.abs(before - other)) / Math.max(10, Math.abs(e.clientX - other)), other - box.left);
        } else {
            this.pan((before - e.clientX) / width);
        }
        this.touches.set(e.pointerId, e.clientX);
    }
    up(e) {
        if (this.touches.delete(e.pointerId) && this.travel < 5 && e.type === "pointerup")
            this.choose(this.timeline.at(e.offsetX, e.offsetY));
    }

    // The pointer is over an event.
    point(e, pointer) {
        const t = this.timeline;
        showTip(t.record, e, pointer);
        if (t.hover === e) return;
        t.hover = e;
        this.draw();
    }

    // The next of these events after the chosen one, or before it; else the first in view.
    go(events, back) {
        const t = this.timeline, { start } = t.record;
        if (!events.length) return;
        const now = t.chosen === NONE ? t.from - 1 : start[t.chosen];
        let i = back ? events.length - 1 : 0;
        if (back) while (i > 0 && start[events[i]] >= now) i--;
        else while (i < events.length - 1 && start[events[i]] <= now) i++;
        this.reveal(events[i]);
    }
    // All events that the filter asks for, by their start.
    matches() {
        const t = this.timeline, found = [];
        if (t.matched) for (const lane of t.shown) for (const row of lane.rows) for (const e of row.matching) found.push(e);
        return sortByStart(t.record, found);
    }

    // True where the key was one of ours.
    key(e) {
        if (e.ctrlKey || e.metaKey || e.altKey) return false;
        const t = this.timeline;
        const does = {
            ArrowLeft: () => this.pan(-.2), ArrowRight: () => this.pan(.2), a: () => this.pan(-.2), d: () => this.pan(.2),
            ArrowUp: () => this.zoom(.7), ArrowDown: () => this.zoom(1 / .7), w: () => this.zoom(.7), s: () => this.zoom(1 / .7),
            "+": () => this.zoom(.7), "=": () => this.zoom(.7), "-": () => this.zoom(1 / .7),
            PageUp: () => this.pan(-1), PageDown: () => this.pan(1),
            Home: () => this.range(0, t.to - t.from), End: () => this.range(t.end, t.to - t.from),
            f: () => this.all(), 0: () => this.all(), "/": () => byId("search").focus(),
            n: () => this.go(this.matches(), false), p: () => this.go(this.matches(), true),
            "]": () => this.go(t.waits, false), "[": () => this.go(t.waits, true),
            z: () => { if (t.chosen !== NONE) this.zoomTo(t.chosen); }, Escape: () => this.choose(NONE),
        }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
        if (does) does();
        return Boolean(does);
    }
}
