// Whose memory the peak was. The curve itself is a lane of the timeline.

function showMemory(timeline) {
    const place = byId("memory");
    if (!timeline.memory.length) return;
    place.replaceChildren(make("h2", {}, "Memory at its peak"));
    for (const m of timeline.memory) {
        const rows = m.owners.map(o => ({ name: o.name, where: o.where, bytes: o.bytes, count: o.count }));
        if (m.before > 0) rows.push({ name: m.unknown ? "unknown: the record does not say which blocks were freed" : "there before the profile began", where: "", bytes: m.before, count: 0 });
        place.append(make("p", {}, `${clean(m.device)}: ${bytes(m.peak)} at ${time(m.times[m.at])}`), table([
            { head: "who made it", words: "text", value: r => r.name, text: r => pressable(r.name, "", null) },
            { head: "line", words: "text", value: r => r.where, text: r => r.where ? pressable(r.where, sourceOf(r.where), () => setFilter({ line: r.where })) : "" },
            numbers("blocks", "count", count), numbers("bytes", "bytes", bytes), numbers("share", "bytes", v => percent(v, m.peak))], rows));
    }
}
