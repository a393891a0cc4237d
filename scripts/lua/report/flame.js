// The flame graph: wide is long, and what is inside stands below. A press zooms in.

const FLAME_ROW = 21, NARROW = .0012; // of the width: what is less is left out

class Flame {
    constructor(record) {
        this.record = record;
        this.by = "region";
        this.device = false;
        this.found = "";
        this.showTools();
        setTimeout(() => { if (!this.root) this.show(); }); // after the rest of the page is there
    }

    showTools() {
        const stacks = this.record.classes.some(c => c.stack), devices = this.record.classes.some(c => c.onDevice);
        const button = (text, on, does, off, title) => make("button", { type: "button", "aria-pressed": String(on), disabled: Boolean(off), title: title || "", onclick: () => { does(); this.showTools(); this.show(); } }, text);
        byId("flame-tools").replaceChildren(
            button("by region", this.by === "region", () => { this.by = "region"; }),
            button(data.record.foreign ? "by stack" : "by Lua stack", this.by === "stack", () => { this.by = "stack"; }, !stacks, stacks ? "" : clean(data.missing.stack || "no event has one")),
            button("host time", !this.device, () => { this.device = false; }),
            button("device time", this.device, () => { this.device = true; }, !devices, devices ? "" : "no device ran anything"));
    }

    show() {
        this.root = flameOf(this.record, this.by === "stack" ? byStack : byRegion, this.device);
        this.zoom([this.root]);
    }

    // Shows the last node of a path over the whole width, under those that it is in.
    zoom(path) {
        const top = path[path.length - 1], place = byId("flame"), boxes = [];
        path.forEach((node, depth) => boxes.push(this.box(path.slice(0, depth + 1), 0, 1, depth)));
        let deepest = path.length;
        const add = (up, left, width, depth) => {
            const children = [...up[up.length - 1].children.values()].sort((a, b) => b.total - a.total);
            for (const child of children) {
                const share = width * child.total / (up[up.length - 1].total || 1);
                if (share < NARROW) break;
                deepest = Math.max(deepest, depth + 1);
                const p = up.concat(child);
                boxes.push(this.box(p, left, share, depth));
                add(p, left, share, depth + 1);
                left += share;
            }
        };
        if (top.total > 0) add(path, 0, 1, path.length);
        place.style.height = deepest * FLAME_ROW + "px";
        place.replaceChildren(...boxes);
        this.say(path);
    }

    box(path, left, width, depth) {
        const node = path[path.length - 1];
        const colour = node.kind === "all" ? "faint" : node.kind === "sample" ? "call" : ["op", "wait", "held", "copy", "call", "region"].includes(node.kind) ? node.kind : "op";
        const found = this.found && node.name.toLowerCase().includes(this.found);
        return make("button", { type: "button", class: found ? "found" : "", style: `left:${left * 100}%;width:${width * 100}%;top:${depth * FLAME_ROW}px;background:var(--${colour})`,
            title: `${shorten(node.name, 200)}: ${time(node.total)}, ${percent(node.total, this.root.total)}`,
            onclick: () => this.zoom(path), onfocus: () => this.say(path), onmouseenter: () => this.say(path) }, node.name);
    }

    say(path) {
        const node = path[path.length - 1];
        byId("flame-text").textContent = `${path.map(n => shorten(n.name, 60)).join(" › ")}: ${time(node.total)}, ${percent(node.total, this.root.total)} of ${time(this.root.total)}; ${time(node.value)} its own`;
    }

    search(words) {
        this.found = words.trim().toLowerCase();
        if (this.root) this.zoom([this.root]);
    }
}
