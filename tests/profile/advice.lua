-- The advice of the sync debugger: each advice is given for a wait that is provoked here, and
-- following it avoids the wait. Every row of profile/advice.def has its case.
local t = require "tap"
local dev = "sim"

-- Variables of the snippets. y's product keeps the device busy while they run.
local y = full({ 700, 700 }, 1, { device = dev, dtype = "f32" })
local s = current_stream(dev)
local function env()
    local e = { x = arange(1, 64, { device = dev, dtype = "f32" }),
        c = arange(1, 64, { dtype = "f32" }), d = dev, y = y, s = s,
        t = full({}, 3, { device = dev, dtype = "i64" }),
        idx = arange(1, 4, { device = dev, dtype = "i64" }),
        cidx = arange(1, 4, { dtype = "i64" }), p = arange(1, 64, { dtype = "f32" }):pin_memory(),
        q = arange(1, 64, { dtype = "f32" }):pin_memory(),
        labels = (arange(1, 64, { device = dev, dtype = "i64" }) % 5) + 1 }
    e.m, e.here = e.x > 32, e.idx:to(dev)
    return setmetatable(e, { __index = _G })
end

-- why, what: the row of advice.def. waits: code that provokes the wait. instead: the advised code,
-- each on its own; after: what waits, once, when the loop is over. lasting: fails or prints, so
-- only its refusal is checked.
local cases = {
    { "item", "item", "local v = x:sum():item()",
        { "local v = x:sum()", "local v = x:eq(x):all()" }, after = "local v = x:sum():item()" },
    { "item", "item", "local v = equal(x, x)", { "local v = x:eq(x):all()" } },
    { "item", "number", "local v = math.floor(t)", { "local v = t:floor()" } },
    { "item", "number", "local v = math.max(1, t)",
        { "local v = t:clamp(1)", "local v = t:clamp(1, 9)" } },
    { "item", "number", "for i = 1, t do end", {}, after = "local n = t:item()" },
    { "item", "", "local v = x:narrow(1, t, 2)",
        { "local v = x:narrow(1, 3, 2)", "local v = x:index_select(1, idx)",
            "local v = x:gather(1, idx)",
        "local v = x[idx]" } },
    { "print", "", "local v = tostring(x)",
        { "for i = 1, 5 do if i % 10 == 0 then print(x) end end" },
        after = "local v = tostring(x)" },
    { "print", "", "local v = ('%s'):format(x)", {}, after = "local v = tostring(x)" },
    { "tolist", "", "local v = x:tolist()", { "local v = x * 2 + 1" },
        after = "local v = x:tolist()" },
    { "branch", "", "if x:sum() > 0 then x = x * 2 end",
        { "x = where(x:sum() > 0, x * 2, x)", "x = x * (x > 0)", "x = x:clamp(0)" } },
    { "branch", "", "while t < 0 do end",
        { "for i = 1, 5 do if i % 10 == 0 and t < 0 then break end end" } },
    { "index", "cpu index", "local v = x[cidx]", { "local v = x[here]" },
        after = "here = cidx:to(x.device)" },
    { "index", "cpu index", "x[cidx] = 0", { "x[here] = 0" }, after = "here = cidx:to(x.device)" },
    { "index", "", "local v = x[t]",
        { "local v = x[3]", "local v = x[t:reshape(1)]", "local v = x:gather(1, t:reshape(1))",
        "local v = x:gather_nd(t:reshape(1, 1))" } },
    { "index", "", "local v = x[{ {1, t} }]", { "local v = x[{ {1, 3} }]", "local v = x[idx]" } },
    { "copy", "copy H2D", "local v = c:to(d)",
        { "local v = p:to(d, {non_blocking = true})", "local v = ones(64, {device = d})" },
        after = "p = c:pin_memory()" },
    { "copy", "copy H2D", "local v = p:to(d)", { "local v = p:to(d, {non_blocking = true})" } },
    { "copy", "copy H2D", "x:copy_(c)", { "x:copy_(p:to(d, {non_blocking = true}))" } },
    { "copy", "copy H2D", "x['1:64'] = c", { "x['1:64'] = p:to(d, {non_blocking = true})" } },
    { "copy", "copy H2D", "local v = tensor({1, 2, 3}, {device = d})",
        { "local v = p:to(d, {non_blocking = true})", "local v = zeros(3, {device = d})" } },
    { "copy", "copy D2H", "local v = x:to 'cpu'",
        { "local v = x * 2", "local v = x:to('cpu', {non_blocking = true})" },
        after = "local v = x:to 'cpu'" },
    { "copy", "", "local v = x:to('cpu', {non_blocking = true}) + 1",
        { "local v = x:to('cpu', {non_blocking = true})", "local v = x * 2" },
        after = "local v = x:cpu()" },
    { "copy", "copy D2H", "c:copy_(x)",
        { "x:copy_(x * 2)", "p:copy_(x, {non_blocking = true})" }, after = "c:copy_(x)" },
    { "copy", "copy D2H", "npy.save(file, x)", {}, after = "npy.save(file, x)" },
    { "reuse", "", "local v = p:to(d, {non_blocking = true}) p:add_(1)",
        { "local v = p:to(d, {non_blocking = true}) q:add_(1)" } },
    { "shape", "repeat_interleave", "local v = x['1:4']:repeat_interleave(idx)",
        { "local v = x['1:4']:repeat_interleave(idx, {output_size = 10})" } },
    { "shape", "one_hot", "local v = labels:one_hot()",
        { "local v = labels:one_hot(5)", "local v = labels:one_hot({num_classes = 5})" } },
    { "shape", "bincount", "local v = labels:bincount({minlength = 9})",
        { "local v = zeros(5, {device = d}):index_add(1, labels, ones(64, {device = d}))" } },
    { "shape", "unique", "local v = labels:unique()", { "local v = labels:sort()" } },
    { "shape", "unique", "local v, i = labels:unique({return_inverse = true})",
        { "local v, i = labels:sort()" } },
    { "shape", "unique_consecutive", "local v = labels:unique_consecutive()",
        { "local v = labels['2:']:ne(labels[':-2'])" } },
    { "shape", "nonzero", "local v = m:nonzero()",
        { "local v = where(m, x, 0)", "local v = x * m" } },
    { "shape", "masked_select", "local v = x:masked_select(m)",
        { "local v = where(m, x, 0)", "local v = x * m", "x[m] = 0" } },
    { "shape", "masked_select", "local v = x[m]",
        { "local v = where(m, x, 0)", "local v = x * m", "x[m] = 0" } },
    { "alloc", "empty_cache", "do local z = y + 1 end collectgarbage() empty_cache(d)",
        { "do local z = y + 1 end collectgarbage()" } },
    { "alloc", "", "local v = empty({memory(d).limit // 4 + 1}, {device = d})",
        { "local v = empty({1000}, {device = d})", "x = nil local v = y + 1", "x:add_(1)" },
        fails = "out of memory" },
    { "validate", "detect_anomaly",
        "autograd.detect_anomaly(function() local w = x:detach() w.requires_grad = true \z
            w:exp():sum():backward() end)",
        { "local w = x:detach() w.requires_grad = true w:exp():sum():backward()" } },
    { "validate", "", [[local w = x:detach() w.requires_grad = true
        local z = ones(5, {device = d}):scatter_reduce(1, labels, w, 'prod'):sum()
        local g = grad(z, w, {create_graph = true})]],
        { [[local w = x:detach() w.requires_grad = true
        local z = ones(5, {device = d}):scatter_reduce(1, labels, w, 'prod'):sum()
        local g = grad(z, w)]] } },
    { "explicit", "", "synchronize(d)", { "local v = x:sum()" }, asked = true },
    { "explicit", "", "s:synchronize()", { "local v = x:sum()" }, asked = true },
    { "join", "", [[local w = ones(300, 300) wait(fork(function() return w:matmul(w) end))]],
        { "local w = ones(300, 300) local v = w:matmul(w)" }, asked = true },
    { "queue", "", "for i = 1, 1500 do x:add_(1) end", { "x:add_(1500)" }, asked = true },
}

local file = os.tmpname()
local function run(text, mode)
    local e = env()
    e.file = file
    local f = assert(load(text, "=advice", "t", e))
    synchronize()
    for _ = 1, 3 do local z = y:matmul(y) end
    sync.reset()
    sync.mode = mode
    local ok, err = pcall(f)
    sync.mode = "off"
    local events = sync.events()
    synchronize()
    return ok, tostring(err), events
end

-- The text of each row that has one.
local texts, seen = {}, {}
for line in io.lines(os.getenv "GPUSH_ROOT" .. "/profile/advice.def") do
    local why, what, text = line:match '^ADVICE%((%w+), +"(.-)", +"(.*)"%)$'
    if text and text ~= "" then texts[why .. "/" .. what] = text:gsub('\\"', '"') end
end

for _, case in ipairs(cases) do
    local why, what, waits, instead = table.unpack(case)
    local text = texts[why .. "/" .. what]
    seen[why .. "/" .. what] = true
    local ok, err, events, given
    -- An explicit wait, a join and a full queue are waits only while there is work, which may be
    -- done before where the host had no processor: again, then.
    for _ = 1, case.asked and 20 or 1 do
        ok, err, events = run(waits, "off")
        for _, e in ipairs(events) do if e.why == why then given = e.advice end end
        if given then break end
    end
    t.ok(ok or case.fails and err:find(case.fails), waits .. ": runs: " .. err)
    t.is(given, text, waits .. ": waits, and is advised")
    ok, err = run(waits, "error")
    t.is(ok, case.asked or false, waits .. ": is refused")
    local refused = why == "copy" and texts["copy/"] or text
    if not case.asked then
        t.ok(err:find(refused, 1, true),
            ("%s: the refusal says '%s': %s"):format(waits, refused, err))
    end
    for _, line in ipairs(instead) do
        ok, err, events = run(line, "error")
        local kinds = {}
        for _, e in ipairs(events) do kinds[#kinds + 1] = e.why end
        t.ok(ok and #events == 0,
            ("%s: does not wait%s %s"):format(line, ok and "" or ": " .. err,
                table.concat(kinds, " ")))
    end
    if case.after then
        ok, err = run(case.after, "off")
        t.ok(ok, case.after .. ": works once the loop is over: " .. err)
    end
end
seen["copy/"] = true -- in the refusals
seen["collective/"] = true -- takes several processes: tests/dist/waits.sh
local missing = {}
for row in pairs(texts) do if not seen[row] then missing[#missing + 1] = row end end
t.is(missing, {}, "every row of advice.def has a case")
os.remove(file)
t.done()
