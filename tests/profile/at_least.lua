-- Of a card that nobody measured, times are bounds: what shows them says "at least" and of which
-- ops, as an LSTM's on a T4; of ops that were measured on the card nothing does.
local t = require "tap"

local lstm = nn.LSTM(8, 16):to "sim"
local x = randn(4, 2, 8):to "sim"
local function step() return (lstm(x)):sum():item() end
local function record(card)
    sim.card, sim.host = card, 8e-6
    step()
    local prof = profile.run({ flops = true, stack = true }, function()
        for _ = 1, 2 do step() end
    end)
    return prof
end
local function written(prof, method)
    local path = os.tmpname()
    prof[method](prof, path)
    local f <close> = io.open(path)
    os.remove(path)
    return f:read "a"
end

local function texts(prof)
    local all = { ["the profile"] = tostring(prof), diff = tostring(prof:diff(prof)) }
    for _, name in ipairs { "sync", "devices", "queues", "savings", "critical_path", "idle",
        "verdict" } do
        all[name] = tostring(prof[name](prof))
    end
    for _, format in ipairs { "text", "csv", "json", "markdown" } do
        all[format] = prof:table { format = format }
    end
    for _, method in ipairs { "folded", "speedscope", "trace", "report" } do
        all[method] = written(prof, method):gsub("<script>.*</script>", "") -- a page's own texts
    end
    return all
end
local function says(prof, bound, what)
    for name, text in pairs(texts(prof)) do
        local said = (text:find "least[^\n]*, as nobody" or text:find "at least, not measured"
            or text:find '"at_least":"[^"]*lstm') ~= nil
        t.is(said, bound, ("%s: %s"):format(what, name), text:sub(1, 3000))
    end
end
local prof = record "h200"
t.is(prof.at_least, nil, "an H200's lstm and sum were measured")
says(prof, false, "H200")
says(prof:on "t4", true, "predicted for a T4")
says(record "t4", true, "recorded on a T4")
t.ok(tostring(timeit(step, { n = 2, print = false })):find "at least, as nobody[^\n]*lstm",
    "and timeit there")
t.done()
