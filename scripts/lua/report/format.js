// Numbers and names as text, and elements of the page. Every name comes from outside: it is only
// ever set as text, never as HTML.

const list = v => Array.isArray(v) ? v : []; // an empty table of Lua is {}

// A line's number; "8+" of one below 0, in the function that begins at 8; "?" of 0: not known.
const lineText = line => line < 0 ? `${-line}+` : line || "?";

function time(ns) {
    const abs = Math.abs(ns);
    if (abs >= 1e9) return (ns / 1e9).toFixed(3) + " s";
    if (abs >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
    if (abs >= 1e3) return (ns / 1e3).toFixed(3) + " µs";
    return ns.toFixed(0) + " ns";
}

// A round time of the axis, where `step` is the distance between two.
function axisTime(ns, step) {
    const [unit, name] = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    return (ns / unit).toFixed(0) + " " + name;
}

function bytes(n) {
    const abs = Math.abs(n);
    for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]])
        if (abs >= unit) return (n / unit).toFixed(2) + " " + name;
    return n + " B";
}

function scaled(n) {
    for (const [unit, name] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
        if (Math.abs(n) >= unit) return (n / unit).toFixed(2) + " " + name;
    return n.toFixed(n % 1 ? 2 : 0) + " ";
}

const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "–";
const count = n => n.toLocaleString("en");

// Control characters, those that turn the direction of text and those that show nothing would change
// what a name seems to be: those of tensor/base/safe_text.c.
const clean = s => String(s).replace(/[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, "\ufffd");

function shorten(s, most) {
    const chars = s.length > most ? Array.from(s) : s;
    if (chars.length <= most) return s;
    const head = Math.floor((most - 1) / 3);
    return chars.slice(0, head).join("") + "…" + chars.slice(head + 1 - most).join("");
}

// An element with properties ("class" and "aria-…" are attributes), and what is in it.
function make(tag, properties, ...inside) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {}))
        if (name === "style") e.style.cssText = value;
        else if (typeof value === "function" || name in e && name !== "list") e[name] = value;
        else e.setAttribute(name, value);
    e.append(...inside.flat(Infinity).filter(x => x !== null && x !== undefined && x !== ""));
    return e;
}

const byId = id => document.getElementById(id);
const style = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
