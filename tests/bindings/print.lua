-- Tensors as text: alignment, number forms, edges of large ones, labels, options.
local t = require "tap"
local gpush = require "gpush"
local tensor, arange, zeros = gpush.tensor, gpush.arange, gpush.zeros

local function shows(x, lines, name)
    t.is(tostring(x), table.concat(lines, "\n"), name)
end

-- Numbers.
shows(tensor { 1, 2, 3 }, { "tensor({1, 2, 3}, i64 3 cpu)" }, "integers")
shows(tensor { -1, 20, 300 }, { "tensor({ -1,  20, 300}, i64 3 cpu)" }, "integers are aligned")
shows(tensor { math.mininteger, math.maxinteger },
    { "tensor({-9223372036854775808,  9223372036854775807}, i64 2 cpu)" }, "extreme integers")
shows(tensor({ 0, 255 }, { dtype = "u8" }), { "tensor({  0, 255}, u8 2 cpu)" }, "u8")
shows(tensor { true, false }, { "tensor({ true, false}, bool 2 cpu)" }, "booleans")
shows(tensor { 1.0, 2.5 }, { "tensor({1.0, 2.5}, f32 2 cpu)" },
    "floats keep a digit after the point")
shows(tensor { 1 / 3, 10.25 }, { "tensor({ 0.3333, 10.2500}, f32 2 cpu)" }, "four digits at most")
shows(tensor { 0.5, 0.125 }, { "tensor({0.500, 0.125}, f32 2 cpu)" },
    "no more digits than any needs")
shows(tensor { -0.0, 0.0 }, { "tensor({-0.0,  0.0}, f32 2 cpu)" }, "negative zero")
shows(tensor { 0 / 0, 1 / 0, -1 / 0, 1.5 }, { "tensor({ nan,  inf, -inf,  1.5}, f32 4 cpu)" },
    "NaN and infinities")
shows(tensor { 1e8, 1.0 }, { "tensor({1.0000e+08, 1.0000e+00}, f32 2 cpu)" }, "large floats")
shows(tensor { 99999999.0 }:to("f64"), { "tensor({1.0000e+08}, f64 1 cpu)" },
    "f32 has rounded it up to 1e8")
shows(tensor({ 99999999.0 }, { dtype = "f64" }), { "tensor({99999999.0}, f64 1 cpu)" },
    "just below")
shows(tensor { 1e-5, -1.0 }, { "tensor({ 1.0000e-05, -1.0000e+00}, f32 2 cpu)" }, "small floats")
shows(tensor({ 1.0, 0.1 }, { dtype = "f16" }), { "tensor({1.0, 0.1}, f16 2 cpu)" }, "f16")
shows(tensor({ 1.0, 0.1 }, { dtype = "bf16" }), { "tensor({1.0000, 0.1001}, bf16 2 cpu)" }, "bf16")
shows(tensor({ 0.00005, 2.00015 }, { dtype = "f64" }),
    { "tensor({5.0000e-05, 2.0002e+00}, f64 2 cpu)" }, "what four digits cannot show")

-- The fast rounding agrees with string.format on values close to ties.
do
    local wrong
    for i = 1, 2000 do
        local v = (i * 7919 % 20011) / 16 + i * 0.00005
        local got = tostring(tensor({ v, 0.12345 }, { dtype = "f64" })):match("{%s*([%d.]+)")
        if got ~= string.format("%.4f", v) then
            wrong = wrong or got .. " for " .. string.format("%.17g", v)
        end
    end
    t.is(wrong, nil, "digits are printf's")
end

-- Shapes.
shows(tensor(3), { "tensor(3, i64 scalar cpu)" }, "0-d")
shows(tensor(2.5), { "tensor(2.5, f32 scalar cpu)" }, "0-d float")
shows(tensor(true), { "tensor(true, bool scalar cpu)" }, "0-d bool")
shows(tensor {}, { "tensor({}, f32 0 cpu)" }, "empty")
shows(zeros(2, 0, 3), { "tensor({}, f32 2x0x3 cpu)" }, "empty with dims")
shows(tensor { { 1, 2 }, { 3, 40 } }, { "tensor({{ 1,  2},", "        { 3, 40}}, i64 2x2 cpu)" },
    "2-d")
shows(tensor { { { 1 }, { 2 } }, { { 3 }, { 4 } } },
    { "tensor({{{1},", "         {2}},", "", "        {{3},", "         {4}}}, i64 2x2x1 cpu)" },
        "3-d")
shows(arange(1, 6):view(2, 3).T,
    { "tensor({{1, 4},", "        {2, 5},", "        {3, 6}}, i64 3x2 cpu)" }, "strided")
shows(arange(1, 3):to("sim"), { "tensor({1, 2, 3}, i64 3 sim:0)" }, "on a device")
shows(arange(100000, 100011), {
    "tensor({100000, 100001, 100002, 100003, 100004, 100005, 100006, 100007, 100008,",
    "        100009, 100010, 100011}, i64 12 cpu)" }, "long rows are wrapped")

-- Large ones.
for _, device in ipairs { "cpu", "sim" } do
    local x = arange(1, 2000):to(device)
    local name = x.device
    shows(x, { "tensor({   1,    2,    3, ..., 1998, 1999, 2000}, i64 2000 " .. name .. ")" },
        "edges on " .. device)
    shows(x:view(2, 1000), {
        "tensor({{   1,    2,    3, ...,  998,  999, 1000},",
        "        {1001, 1002, 1003, ..., 1998, 1999, 2000}}, i64 2x1000 " .. name .. ")" },
            "long rows on " .. device)
    shows(x:view(1000, 2), {
        "tensor({{   1,    2},", "        {   3,    4},", "        {   5,    6},", "        ...,",
        "        {1995, 1996},", "        {1997, 1998},",
        "        {1999, 2000}}, i64 1000x2 " .. name .. ")" },
        "many rows on " .. device)
    shows(x:view(1000, 2).T, {
        "tensor({{   1,    3,    5, ..., 1995, 1997, 1999},",
        "        {   2,    4,    6, ..., 1996, 1998, 2000}}, i64 2x1000 " .. name .. ")" },
            "strided on " .. device)
    -- Five dims: too many for one view of the edges, and fewer elements at each.
    local y = arange(1, 7 ^ 5 // 1 | 0):view(7, 7, 7, 7, 7):to(device)
    local text = tostring(y)
    t.ok(text:find("{{{{{    1, ...,     7},", 1, true) and text:find("{16801, ..., 16807}}}}}", 1,
        true), "5-d corners on " .. device)
    local z = tostring(arange(1, 7 ^ 5 // 1 | 0):view(7, 1, 7, 1, 7, 7, 7, 1):to(device))
    t.ok(z:find("{{{{{{{{    1},", 1, true) and z:find("{16807}}}}}}}}", 1, true),
        "8-d corners on " .. device)
    -- Every number shown is that of its position: index arithmetic on dims 1, 3 and 5.
    local seen = {}
    for v in text:gmatch("%d+") do seen[tonumber(v)] = true end
    t.ok(seen[1 + 6 * 7 ^ 4] and seen[1 + 6 * 7 ^ 2] and seen[7] and not seen[1 + 3 * 7 ^ 4],
        "5-d edges on " .. device)
end

-- A device is read once, whatever is shown, and the wait is recorded with its reason.
if gpush.sync then
    local sync = gpush.sync
    local function waits(fn)
        gpush.synchronize()
        sync.reset()
        fn()
        local out = {}
        for _, e in ipairs(sync.events()) do out[#out + 1] = e.why end
        return out
    end
    local small, large = arange(1, 5, { device = "sim" }), zeros(2000, { device = "sim" })
    local deep = zeros(8, 8, 8, 8, 8, 8, { device = "sim" })
    for name, x in pairs { small = small, large = large, ["six dims"] = deep } do
        t.is(waits(function() tostring(x) end), { "print" }, "one wait to print: " .. name)
    end
    t.is(waits(function() tostring(zeros(3, 0, { device = "sim" })) end), {},
        "none for an empty one")
    t.is(waits(function() large:tolist() end), { "tolist" }, "one wait for a list")
    t.is(waits(function() large[1]:item() end), { "item" }, "one wait for a number")
    sync.mode = "error"
    local ok, message = pcall(tostring, large)
    sync.mode = "off"
    t.ok(not ok and message:find "print", "error mode refuses to print")
    shows(small, { "tensor({1, 2, 3, 4, 5}, i64 5 sim:0)" }, "and leaves everything usable")
end

-- Only what is printed of a device's tensor is copied, at once.
local function copied(x)
    local list = {}
    synchronize()
    for _, e in ipairs(profile.run(function() return tostring(x) end):events()) do
        if e.kind == "copy" then list[#list + 1] = e.bytes end
    end
    return list
end
local large = ones(1000, 1000, { device = "sim" }) * 2
t.is(copied(large), { 6 * 6 * 4 }, "of a large one the edges, in one copy")
t.is(copied(large:t()), { 6 * 6 * 4 }, "of a view too")
t.is(copied(large[{ { 1, 3 }, { 1, 2 } }]), { 3 * 2 * 4 }, "of a small part that part")

-- Options.
local was = gpush.printoptions()
t.is(was, { precision = 4, threshold = 1000, edgeitems = 3, linewidth = 80 }, "defaults")
gpush.printoptions { precision = 2, threshold = 4, edgeitems = 1, linewidth = 30 }
shows(tensor { 1 / 3, 2, 3, 4, 5 }, { "tensor({0.33, ..., 5.00},", "       f32 5 cpu)" },
    "options are used")
gpush.printoptions { precision = 0, threshold = 1000, linewidth = 80 }
shows(tensor { 1.25, 3.0 }, { "tensor({1, 3}, f32 2 cpu)" }, "precision 0")
gpush.printoptions { precision = 12 }
shows(tensor({ 1 / 3 }, { dtype = "f64" }), { "tensor({0.333333333333}, f64 1 cpu)" },
    "precision 12")
gpush.printoptions(was)
t.error(function() gpush.printoptions { precison = 3 } end,
    "unknown option 'precison'; did you mean precision%?",
    "an unknown option")
t.error(function() gpush.printoptions { precision = -1 } end,
    "'precision': expected an integer from 0 to 20, got %-1", "a bad value")
t.is(gpush.printoptions(), was, "errors change nothing")
t.error(function() getmetatable(tensor(1)).__tostring("x") end, "expected a tensor",
    "tostring of something else")
t.done()
