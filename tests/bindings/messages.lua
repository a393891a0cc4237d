-- Messages that report the facts: empty ranges, numbers that are too large, an empty table of
-- options.
local t = require "tap"
local g = require "gpush"
local zeros, tensor = g.zeros, g.tensor

-- ---- ranges ----

for _, device in ipairs { "cpu", "sim" } do
    local empty = zeros(0, { device = device })
    local one = tensor({ 1 }, { device = device })
    local nothing = "0 %(it is empty: there is nothing to index%)"
    for name, fn in pairs {
        ["x[1]"] = function() return empty[1] end,
        ["x[-1]"] = function() return empty[-1] end,
        ["x['1']"] = function() return empty["1"] end,
        ["x[1] = 5"] = function() empty[1] = 5 end,
        select = function() return zeros(3, 0, { device = device }):select(2, 1) end,
        ["x[tensor]"] = function() return empty[one]:tolist() end,
        index_select = function() return empty:index_select(1, one):tolist() end,
        gather = function() return empty:gather(1, one):tolist() end,
        scatter = function()
            empty:scatter(1, one, 1.0)
            g.synchronize(device)
        end,
        take = function() return empty:take(one):tolist() end,
    } do
        t.error(fn, nothing, device .. ": " .. name .. " of an empty dim")
    end
    t.error(function() return empty:kthvalue(1) end,
        "kthvalue: dim 1 is empty: it has no element to choose", device .. ": kthvalue")
    t.error(function() return g.embedding(one, zeros(0, 3, { device = device })):tolist() end,
        "embedding: argument 'weight' is f32 0x3: it has no rows to look up",
            device .. ": embedding")
    for _, loss in ipairs { "cross_entropy", "nll_loss" } do
        t.error(function() return g[loss](zeros(1, 0, { device = device }), one):item() end,
            loss .. ": argument 'x' is f32 1x0: it has no classes", device .. ": " .. loss)
    end
    t.error(function()
        return tensor({ 5 }, { device = device }):index_select(1, one * 2):tolist()
    end,
        "size 1 %(expected 1 or %-1%)", device .. ": of a dim of one element")
end
t.is(g.cross_entropy(zeros(0, 0), zeros(0, { dtype = "i64" }), { reduction = "none" }):numel(), 0,
    "no labels, no classes")
t.is(g.embedding(zeros(0, { dtype = "i64" }), zeros(0, 3)):size(2), 3, "no index into no rows")
for _, fn in ipairs { function(x) return x:sum(2) end, function(x) return x:transpose(1, 2) end,
    function(x) return x:unsqueeze(5) end, function(x) return g.stack({ x }, 3) end,
    function(x) return x:rot90(1, { 3, 4 }) end }
    do
    t.error(function() return fn(tensor(1)) end, "expected 1 or %-1%)", "a dim of a 0-d tensor")
end
t.error(function() return g.nn.Embedding(0, 3, 1) end, "padding_idx: there are no rows",
    "padding_idx of no rows")

-- ---- numbers that are too large ----

for name, fn in pairs {
    zeros = function() return zeros(1e19) end,
    expand = function() return zeros(1):expand(2 ^ 62) end,
    arange = function() return g.linspace(0, 1, 1e300) end,
    full = function() return g.full({ 1, 1e19 }, 1) end,
    chunk = function() return zeros(2):chunk(-1e19) end,
} do
    t.error(fn, "expected a?n? ?integers? below 2%^62, got %-?%d",
        name .. " with more than an integer holds")
end
t.error(function() return zeros(2, 3.5) end,
    "zeros: argument 'shape' %(#1%): expected integers, got 3.5", "the number at fault is shown")
t.error(function() return zeros { 2, "x" } end,
    "zeros: entry 2 of argument 'shape': expected an integer, got 'x'", "in a list, too")
t.error(function() return zeros(2, 3):unflatten(1, { 2 ^ 40, 2 ^ 40 }) end,
    "unflatten: the sizes multiply to more than 2%^63, dim 1 has size 2",
        "sizes whose product is too large")
t.error(function() return zeros(2):repeat_interleave(1e18) end,
    "repeat_interleave: 2 times 1000000000000000000 elements are too many", "repeats")
t.is(tensor({ 1, 2 }):repeat_interleave(2.0):tolist(), { 1, 1, 2, 2 },
    "a whole number of any form is one")
t.is(#zeros(5):split { 2.0, 3 }, 2, "in split's list, too")
t.is(#zeros(5):split(2.0), 3, "and as its size")
t.is(#zeros(5):tensor_split(2.0), 2, "and in tensor_split")
t.error(function() return zeros(2):split { 1e18, 1e18 } end,
    "split: size 1 is 1000000000000000000, but dim 1 has size 2", "a size beyond the dim")

-- ---- no options ----

local x, y = zeros(2, 3), tensor { 1, 2 }
t.close(g.cross_entropy(x, y, {}):item(), math.log(3), 1e-6, "cross_entropy(x, y, {})")
t.close(g.nll_loss(x, y, {}):item(), 0, 1e-6, "nll_loss(x, y, {})")
t.is(g.linear(x, g.ones(4, 3), {}):size(2), 4, "linear(x, w, {})")
t.is(g.conv1d(g.ones(1, 1, 3), g.ones(1, 1, 3), {}):item(), 3, "conv1d(x, w, {})")
t.error(function() return x:clamp({}, {}) end,
    "clamp: argument 'min' %(#2%): expected a tensor or a number, got table",
        "of two tables only the last one is")
-- ---- functions in C ----

for name, case in pairs {
    ["tolist: 1 argument given, at most 0 expected: tolist%(%)"] = function() x:tolist(9) end,
    ["cpu: unknown option 'foo' %(it takes none%)"] = function() x:cpu { foo = 1 } end,
    ["copy_: unknown option 'foo' %(expected non_blocking%)"] =
        function() x:copy_(x, { foo = 1 }) end,
    ["tensor: unknown option 'dtpe'; did you mean dtype%? %(expected dtype, device, \z
        requires_grad%)"] = function() tensor({ 1 }, { dtpe = "f32" }) end,
    ["clock: 1 argument given, at most 0 expected"] = function() g.clock(1) end,
    ["stream.busy: 1 argument given, at most 0 expected"] = function() g.stream("sim"):busy(1) end,
    ["sync.report: unknown option 'prnt'; did you mean print%?"] =
        function() g.sync.report { prnt = false } end,
    ["timeit: unknown option 'devise'; did you mean device%?"] =
        function() g.timeit(print, { devise = "cpu" }) end,
    ["size: argument 'dim' %(#1%): expected an integer, got 'a'"] = function() x:size "a" end,
    ["npz.save: unknown option 'compresed'; did you mean compressed%?"] =
        function() g.npz.save("/dev/null", { a = x }, { compresed = true }) end,
    ["backward: unknown option 'retain' %(expected retain_graph, create_graph%)"] =
        function() x:backward(nil, { retain = true }) end,
    ["no_grad: argument 'fn' %(#1%): expected a function, got 5"] = function() g.no_grad(5) end,
    ["to: unknown option 'nonblocking'; did you mean non_blocking%?"] =
        function() x:to("sim", { nonblocking = true }) end,
    ["item: .*call it with a colon"] = function() local f = x.item f(3) end,
} do
    t.error(case, name, (name:gsub(":.*", "")) .. " checks what it is given")
end
t.is(select("#", g.no_grad(function(...) return ... end, nil, { k = 1 }, nil)), 3,
    "what is handed on is no option")
t.is(g.json.encode { k = 1 }, '{"k":1}', "nor is a value")
t.error(function() g.json.encode { loss = g.ones(3, { device = "sim" }) } end,
    "json.encode: expected a table, number, boolean or text, got a tensor: x:item%(%) is its \z
        number",
    "a tensor is not read for the message")
t.is(x:to { dtype = "f64" }.dtype, "f64", "to by name")
t.is(x:to({}).dtype, "f32", "to nothing")
t.is(coroutine.wrap(function() return g.no_grad(coroutine.yield, 7) end)(), 7,
    "what is called may yield")
-- Settings of CUDA are functions; counts are integers; the contents of a list of modules.
for text, message in pairs {
    ["cuda.benchmark = true"] = "cuda.benchmark is a function, so nothing was set: write \z
        cuda.benchmark%(true%)",
    ["for _ in progress(2.5) do end"] = "progress: argument 'total' %(#1%): expected a number of \z
        steps, a loader or a list, got 2.5",
    ["heatmap(5)"] = "heatmap: expected a tensor of two dims with elements, got number",
    ["nn.ModuleList(5)"] = "nn.ModuleList: argument 'modules' %(#1%): expected a list, got 5",
    ["data.TensorDataset(ones(2, 2)).get(1)"] = "call it with a colon, dataset:get%(i%)",
    ["timeit(function() end, {n = 1 << 62})"] =
        "timeit: argument 'n': expected 1 to %d+ calls, got",
} do
    t.error(assert(load(text)), message, text)
end
t.done()
