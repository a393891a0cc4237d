-- What stops the first use of a part of gpush (Ctrl-C, no memory, no file descriptors) leaves
-- nothing half read: the next use finds all of it.
local t = require "tap"
local g = require "gpush"

-- Calls fn with an error after n instructions, then after more, until it is done: as Ctrl-C would
-- stop it. Returns how often it was stopped.
local function stop_often(fn, step)
    local n, stops = step, 0
    while true do
        local ok, message = pcall(function()
            debug.sethook(function() debug.sethook() error("interrupted", 0) end, "", n)
            fn()
            debug.sethook()
        end)
        pcall(debug.sethook) -- fn raised something else: the hook may still run, here
        if ok then return stops end
        if not tostring(message):find "interrupted" then return stops, message end
        stops, n = stops + 1, n + step
    end
end

-- Stops after every few instructions, each part from its first use to the end.
local cases = {
    { "nn.Linear", 40, function() return #g.nn.Linear(2, 3)(g.ones(1, 2)).shape end, 2 },
    { "nn.Conv2d", 60, function() return #g.nn.Conv2d(1, 2, 3)(g.ones(1, 1, 4, 4)).shape end, 4 },
    { "nn.LSTM", 60, function() return #g.nn.LSTM(2, 3)(g.ones(4, 1, 2)).shape end, 3 },
    { "nn.Transformer", 90, function()
        return #g.nn.TransformerEncoderLayer(4, 2)(g.ones(3, 2, 4)).shape
    end, 3 },
    { "optim.Adam", 60, function()
        local p = g.ones(2):requires_grad_()
        local o = g.optim.Adam({ p }, { lr = 0.5 });
        (p * p):sum():backward()
        o:step()
        return (p - 0.5):abs():max():item() < 1e-4
    end, true },
    { "optim.lr.StepLR", 60, function()
        local o = g.optim.SGD({ g.ones(1) }, { lr = 1 })
        local s = g.optim.lr.StepLR(o, 1)
        o:step()
        s:step()
        return s:get_last_lr()[1]
    end, 0.1 },
    { "data.Loader", 60, function()
        local n = 0
        local ds = g.data.TensorDataset(g.arange(1, 6))
        for _, x in g.data.Loader { ds, batch = 4 }() do n = n + #x end
        return n
    end, 6 },
    { "checkpoint", 20, function() return type(g.checkpoint.save) end, "function" },
    { "fft.fft2", 60, function() return g.fft.fft2(g.ones(2, 2))[1][1][1]:item() end, 4.0 },
    { "linalg.norm", 60, function() return g.linalg.norm(g.full({ 4 }, 2.0)):item() end, 4.0 },
    { "einsum", 60, function() return g.einsum("i,i->", g.ones(3), g.ones(3)):item() end, 3.0 },
    { "plot", 90, function() return #g.plot({ 1, 2 }, { text = true }) > 100 end, true },
    { "help", 200, function() g.help "conv2d" return true end, true },
    { "profile", 90, function()
        return #g.profile.run(function() return g.ones(2) + 1 end):table() > 100
    end, true },
}
local print = print
_G.print = function() end -- help prints
local total = 0
for _, case in ipairs(cases) do
    local name, step, fn, want = table.unpack(case)
    local stops, message = stop_often(fn, step)
    total = total + stops
    t.is(message, nil, name .. ": " .. stops .. " stops")
    t.is(fn(), want, name .. " is whole afterwards")
end
_G.print = print
t.ok(total > 300, total .. " stops in all")
-- No descriptors: whatever is tried first is an error that says so, and works afterwards.
local files, opened = {}, nil
repeat
    files[#files + 1] = opened
    opened = io.open "/dev/null"
until not opened
local uses = {
    function() return g.nn.Embedding(3, 2) end, function() return g.nn.GRU(2, 3) end,
    function() return g.optim.Adagrad({ g.ones(1) }) end,
    function() return g.cuda.is_available() end,
    function() return g.data.transforms.ToFloat() end,
    function() return g.fork(function() return 1 end) end,
    function() for _ in g.progress(2) do end end,
}
local messages = {}
for i, use in ipairs(uses) do
    local ok, message = pcall(use)
    if not ok then messages[#messages + 1] = i .. ": " .. tostring(message) end
end
for _, file in ipairs(files) do file:close() end
t.ok(#files > 50 and #messages >= 3,
    ("%d of %d uses failed without descriptors"):format(#messages, #uses))
for _, message in ipairs(messages) do
    t.ok(message:find "Too many open files" or message:find "EMFILE", message)
end
for i, use in ipairs(uses) do t.ok(pcall(use), "use " .. i .. " works afterwards") end
t.ok(g.is_grad_enabled() and g.sync.mode == "off", "modes are as they were")
t.done()
