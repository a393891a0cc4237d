--!plain
-- Cards of sync.explain: the host waits for a number, a text or a truth value, or for an index. See
-- cards.lua.
return {
    { "item", "item: item",
        "item() gives a number to Lua, so the host waits until the device has computed it. A \z
        0-d tensor stays on the device and can be computed with.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local total = 0
for i = 1, 256 do
    total = total + x[i]:sum():item()
end
result = total]],
        instead = [[
local total = zeros({}, {device = d})
for i = 1, 256 do
    total = total + x[i]:sum()
end
result = total:item()           -- once, after the loop]] },
    { "log", "item: string.format",
        "A text of a number needs the number. sync.async hands it to a function once it has come, \z
        while Lua goes on; the last ones come with sync.finish.",
        calls = { "string.format", "..", "table.concat", ".write", "amp.GradScaler:get_scale" },
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local lines = {}
for i = 1, 256 do
    lines[i] = ("loss %g"):format(x[i]:sum())
end
result = lines]],
        instead = [[
local lines = {}
for i = 1, 256 do
    sync.async(x[i]:sum(), function(v)
        lines[i] = ("loss %g"):format(v:item())
    end)
end
sync.finish()
result = lines]] },
    { "number", "item: number",
        "math.floor and others like it are functions of numbers: they read the tensor. Tensors \z
        have methods of the same name.",
        calls = { "math." },
        setup = "x = full({256, 256}, 2, {device = d}) t = full({}, 2.5, {device = d})",
        waits = [[
local y = x
for i = 1, 50 do
    y = (y + i) % 5 + math.floor(t)
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 50 do
    y = (y + i) % 5 + t:floor()
end
result = y:sum():item()]] },
    { "equal", "item: equal",
        "equal and allclose answer with true or false, which Lua must know at once. eq and \z
        isclose answer on the device.",
        calls = { "equal", "allclose" },
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local same = 0
for i = 1, 50 do
    if equal(x[i], x[i + 7]) then same = same + 1 end
end
result = same]],
        instead = [[
local same = zeros({}, {device = d, dtype = "i64"})
for i = 1, 50 do
    same = same + x[i]:eq(x[i + 7]):all()
end
result = same:item()]] },
    { "option", "item: an op's number",
        "Sizes, dims and options of ops are numbers of Lua, and so are a loop's bounds: a tensor \z
        there is read. Read once before the loop, it waits once.",
        calls = { "for", "string.", "table.", "utf8.", "os.", "io.", "file.", "base.",
            "optim.", "schedule.step" }, ops = true,
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32' \z
            t = full({}, 3, {device = d, dtype = 'i64'})",
        waits = [[
local y = x
for i = 1, 50 do
    y = y:roll(t) + i
end
result = y[1]:item()]],
        instead = [[
local y, n = x, t:item()        -- once, before the loop
for i = 1, 50 do
    y = y:roll(n) + i
end
result = y[1]:item()]] },
    { "print", "print",
        "A text of a tensor needs its numbers. Printed at the end, or every 50 steps, it costs \z
        a wait there only.",
        setup = "x = zeros(256, 256, {device = d})",
        waits = [[
local y, text = x, nil
for i = 1, 100 do
    y = y + 1
    text = tostring(y:sum())    -- as print does
end
result = text]],
        instead = [[
local y, text = x, nil
for i = 1, 100 do
    y = y + 1
    if i % 50 == 0 then text = tostring(y:sum()) end
end
result = text]] },
    { "tolist", "tolist",
        "A list of numbers is made on the host. What is computed with tensor ops, and converted \z
        once, waits once. LBFGS reads so what it decides by, in each evaluation; lengths of \z
        packed sequences are best kept on the host.",
        calls = { "optimizer.step", "nn.utils.rnn.pack_padded_sequence" },
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local sums = {}
for i = 1, 256 do
    local sum = 0
    for _, v in ipairs(x[i]:tolist()) do sum = sum + v * v end
    sums[i] = sum
end
result = sums]],
        instead = [[
result = (x * x):sum(2):tolist()]] },
    { "branch", "branch",
        "A condition must be known before Lua goes on. where, a mask or clamp choose on the \z
        device.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32'",
        waits = [[
local y = x
for i = 1, 100 do
    if y:sum() > 1e6 then y = y - 3 else y = y + 5 end
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 100 do
    y = where(y:sum() > 1e6, y - 3, y + 5)
end
result = y:sum():item()]] },
    { "cpu index", "index: cpu index",
        "An index that lies on the host is copied to the device at each use. Brought there \z
        once, it is not.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32' idx = arange(1, 60000, 3)",
        waits = [[
local y = zeros(20000, {device = d})
for i = 1, 50 do
    y = y + x[idx]
end
result = y:sum():item()]],
        instead = [[
local y, here = zeros(20000, {device = d}), idx:to(d)
for i = 1, 50 do
    y = y + x[here]
end
result = y:sum():item()]] },
    { "index", "index",
        "x[t] with a 0-d tensor takes t's number, as x[3] does. An index of one dim, and ops \z
        such as gather, read it on the device.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32' \z
            t = full({}, 3, {device = d, dtype = 'i64'})",
        waits = [[
local y = zeros(256, {device = d})
for i = 1, 50 do
    y = y + x[t]
end
result = y:sum():item()]],
        instead = [[
local y, row = zeros(1, 256, {device = d}), t:reshape(1)
for i = 1, 50 do
    y = y + x[row]
end
result = y:sum():item()]] },
}
