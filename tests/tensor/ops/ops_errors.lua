--!plain
-- For all ops: a help text and a signature that work, and errors that name op, argument, what was
-- given and what was expected.
local t = require "tap"
local g = require "gpush"

local ops = g.ops(true)
local names = {}
for name in pairs(ops) do names[#names + 1] = name end
table.sort(names)

local function fn_of(name)
    local group, rest = name:match "^(%a+)[._](.+)$"
    return group and type(g[group]) == "table" and g[group][rest] or g[name]
end

-- "tensor! x, int dim=1" as a list of {type, name, optional}.
local function params(sig)
    local list = {}
    for type, mark, name, default in sig:gmatch "(%a+)([?!]*) ([%w_]+)(=?)" do
        list[#list + 1] = {type = type, name = name,
            optional = mark:find "?" ~= nil or default == "="}
    end
    return list
end

local x = g.ones(2, 2)
local right = {
    tensor = function() return x end, operand = function() return x end,
    tensors = function() return {x} end, varargs = function() return {x} end,
    number = function() return 1 end,
    int = function() return 1 end, float = function() return 0.5 end,
    bool = function() return true end, dim = function() return 1 end,
    dims = function() return {1} end, shape = function() return {2, 2} end,
    ints = function() return {1} end, str = function() return "x" end,
    dtype = function() return "f32" end, device = function() return "cpu" end,
    padding = function() return 0 end, numbers = function() return 1 end,
    order = function() return 1 end,
    any = function() return 1 end, value = function() return 1 end,
}
local wrong = {
    tensor = {"abc", 1, true, print}, operand = {"abc", {1}, print}, tensors = {1, "abc", {1, 2}},
    varargs = {1, "abc", {1, 2}},
    number = {"abc", {1}, print}, int = {"abc", 1.5, true, print},
    float = {"abc", true, print}, bool = {"abc", 1}, dim = {"abc", 1.5, true},
    dims = {"abc", {"a"}, {1.5}}, shape = {"abc", {"a"}, {1.5}}, ints = {"abc", {"a"}, {1.5}},
    str = {true, print}, dtype = {"f8", true, 1}, device = {"tpu", true, 1},
    padding = {true, {"a"}}, numbers = {"abc", {"a"}, true, print}, order = {true, {1}, print},
    any = {}, value = {},
}

local function message(fn, ...)
    local ok, msg = pcall(fn, ...)
    return not ok and (tostring(msg):gsub("^[^:]*:%d+: ", "")) or nil
end

local function helped(name)
    local op = ops[name]
    local list = params(op.sig)
    local counted = select(2, op.sig:gsub("[^,]+", ""))
    local fn = fn_of(name)
    local called = type(fn) == "function" or (getmetatable(fn) or {}).__call -- dist is a table, too
    return #op.help >= 2 and #list == counted and called
end

-- A wrong value for each parameter, after right ones.
local function wrong_values(name)
    local problems, list, args = {}, params(ops[name].sig), {}
    local n = 0 -- up to the last mandatory one
    for i, p in ipairs(list) do
        args[i] = right[p.type]()
        if not p.optional then n = i end
    end
    for i, p in ipairs(list) do
        for _, value in ipairs(wrong[p.type]) do
            args[i] = value
            local msg = message(fn_of(name), table.unpack(args, 1, math.max(i, n)))
            local named = (p.type == "dtype" or p.type == "device") and type(value) == "string"
                and "'" .. value .. "'" or "'" .. p.name .. "'"
            local said = msg and msg:find(named, 1, true) and msg:find("expected", 1, true)
            if not msg then problems[#problems + 1] =
                ("%s took %s for '%s'"):format(name, tostring(value), p.name)
            elseif not said or msg:find(name:gsub("_", "[._]") .. ": ") ~=
                1 then problems[#problems + 1] = ("'%s' given %s: %s"):format(
                    p.name, tostring(value), msg) end
        end
        args[i] = right[p.type]()
    end
    return problems
end

-- An empty table of options is none, where no list is expected.
t.close(g.softmax(g.tensor { 0.0, 0.0 }, 1, {}):tolist(), { 0.5, 0.5 }, 0, "no options")
t.error(function() return g.softmax(g.tensor { 0.0 }, {}) end, "dim",
    "a dim that must be given is no option")

-- Too few arguments, too many, unknown options.
local function wrong_counts(name)
    local problems, list, args = {}, params(ops[name].sig), {}
    for i, p in ipairs(list) do
        if not p.optional and name ~= "where" then -- where(cond) is nonzero's indices
            local msg = message(fn_of(name), table.unpack(args, 1, i - 1))
            if not msg or not msg:find("'" .. p.name .. "'", 1, true) then
                problems[#problems + 1] = ("%s without '%s': %s"):format(
                    name, p.name, msg or "no error")
            end
        end
        args[i] = right[p.type]()
    end
    local last = list[#list].type
    if last ~= "shape" and last ~= "dims" and last ~= "ints" then
        args[#list + 1] = x
        local msg = message(fn_of(name), table.unpack(args, 1, #list + 1))
        if not msg or not msg:find("at most", 1, true) then
            problems[#problems + 1] = ("%s with %d arguments: %s"):format(
                name, #list + 1, msg or "no error")
        end
    end
    return problems
end

-- Second tensors that are right but for their device, where a 2x2 of ones is not.
local index, mask = {dtype = "i64", device = "sim"}, {dtype = "bool", device = "sim"}
local four = g.ones(1, 1, 2, 2)
local second = {
    gather = {x, 1, g.ones(2, 2, index)}, gather_nd = {x, g.ones(2, 2, index)},
    index_select = {x, 1, g.ones(2, index)}, scatter = {x, 1, g.ones(2, 2, index), x},
    index = {x, {g.ones(2, index)}}, index_put = {x, {g.ones(2, index)}, x},
    repeat_interleave = {x, g.ones(2, index), 1},
    scatter_add = {x, 1, g.ones(2, 2, index), x},
    scatter_reduce = {x, 1, g.ones(2, 2, index), x, "sum"},
    scatter_nd = {x, g.ones(2, 2, index), x},
    index_add = {x, 1, g.ones(2, index), x}, index_copy = {x, 1, g.ones(2, index), x},
    index_fill = {x, 1, g.ones(2, index), 1},
    searchsorted = {g.ones(2), g.ones(2, {device = "sim"})},
    bucketize = {x, g.ones(2, {device = "sim"})},
    take = {x, g.ones(2, index)}, take_along_dim = {x, g.ones(2, 2, index)},
    masked_fill = {x, g.ones(2, 2, mask), 1}, masked_put = {x, g.ones(2, 2, mask), x},
    masked_scatter = {x, g.ones(2, 2, mask), x}, masked_select = {x, g.ones(2, 2, mask)},
    where = {g.ones(2, 2, mask), x, x},
    bmm = {g.ones(1, 2, 2), g.ones(1, 2, 2, {device = "sim"})},
    mv = {x, g.ones(2, {device = "sim"})}, dot = {g.ones(2), g.ones(2, {device = "sim"})},
    conv2d = {g.ones(1, 1, 2, 2), g.ones(1, 1, 1, 1, {device = "sim"})},
    batch_norm = {x, g.ones(2, {device = "sim"}), g.ones(2)},
    attention_backward = {four, g.ones(1, 1, 2, 2, {device = "sim"}), four, nil, false, nil, four,
        four, four},
}

-- Only the other tensor's shape, or dtype and device, is used: it may be on any device.
local of_shape = {broadcast_tensors = true, type_as = true, expand_as = true, reshape_as = true,
    view_as = true}

-- Tensors on two devices: an error that names both.
local function two_devices(name)
    local problems, list, args, tensors = {}, params(ops[name].sig), {}, 0
    local devs = {g.ones(2, 2), g.ones(2, 2, {device = "sim"})}
    for i, p in ipairs(list) do
        if p.optional then break end
        local tensor = p.type == "tensor" or p.type == "operand"
        local listed = p.type == "tensors" or p.type == "varargs"
        if tensor then tensors = tensors + 1 end
        args[i] = tensor and devs[(tensors - 1) % 2 + 1] or listed and devs
            or right[p.type]()
        if listed then tensors = 2 end
    end
    args = second[name] or args
    if tensors < 2 and not second[name] then return problems, true end
    local msg = message(fn_of(name), table.unpack(args))
    if of_shape[name] then return {msg} end
    if not msg then problems[1] = name .. ": no error"
    elseif not (msg:find("cpu", 1, true) and msg:find("sim:0", 1, true)) then problems[1] = msg end
    return problems
end

local function report(problems, what)
    if not t.ok(#problems == 0, what) then
        for i = 1, math.min(6, #problems) do io.stderr:write("#   ", problems[i], "\n") end
    end
end

for _, name in ipairs(names) do
    t.ok(helped(name), name .. " has help and a signature")
    report(wrong_values(name), name .. ": wrong values")
    report(wrong_counts(name), name .. ": too few, too many")
    local problems, none = two_devices(name)
    if not none then report(problems, name .. ": two devices") end
end
-- An error carries the name that was called, not that of the row that runs.
local whole = g.ones(2, 2, {dtype = "i64"})
local called = {
    ["linalg.inv"] = {g.linalg.inv, whole}, ["linalg.cond"] = {g.linalg.cond, x:to "f16"},
    ["linalg.pinv"] = {g.linalg.pinv, x:to "f16"},
    ["fft.rfft"] = {g.fft.rfft, x:to "f16"}, ["fft.fft2"] = {g.fft.fft2, x:to "f16"},
    norm = {g.norm, whole}, rand_like = {g.rand_like, whole},
    normal = {g.normal, 0, 1, {2}, {dtype = "i64"}}, mse_loss = {g.mse_loss, whole, whole},
    l1_loss = {g.l1_loss, whole, whole},
    binary_cross_entropy = {g.binary_cross_entropy, whole, whole},
    huber_loss = {g.huber_loss, whole, whole}, kl_div = {g.kl_div, whole, whole},
    clamp = {g.clamp, x, g.ones(3)}, quantile = {g.quantile, whole, 0.5}, gelu = {g.gelu, whole},
    trace = {g.trace, whole:ne(0)},
}
for name, call in pairs(called) do
    local msg = message(table.unpack(call))
    t.ok(msg and msg:sub(1, #name + 2) == name .. ": ",
        name .. ": an error begins with the name that was called")
    if msg and msg:find "dtype" then
        t.ok(msg:find "argument 'x'" or msg:find "argument 'dtype'",
            name .. ": and names its argument")
    end
end
t.error(function() return x:unsqueeze(4) end,
    "unsqueeze: dim 4 is out of range for a 2%-d tensor %(expected 1 to 3, or %-3 to %-1%)",
        "unsqueeze tells of the tensor given")

-- Numbers promote as PyTorch's do, true and false as bool.
for _, dtype in ipairs {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"} do
    local y = g.ones(2, {dtype = dtype})
    local float = dtype:find "f" ~= nil
    t.is((y + 1).dtype, dtype == "bool" and "i64" or dtype, dtype .. " + 1")
    t.is((y + 0.5).dtype, float and dtype or "f32", dtype .. " + 0.5")
    t.is(y:add(true).dtype, dtype, dtype .. " + true")
    t.is(g.where(y:ne(0), y, 1).dtype, dtype == "bool" and "i64" or dtype,
        "where of " .. dtype .. " and 1")
end
t.is(g.full({2}, true).dtype, "bool", "full of true")
-- Offsets that no integer can hold: as_strided's bounds do not wrap.
do
    local y = g.arange(1, 6)
    local big = math.maxinteger
    for _, a in ipairs { { { 3 }, { big } }, { { 2, 2 }, { 1 << 62, 1 << 62 } },
        { { 5 }, { 1 << 62 } }, { { 9 }, { 1 << 61 } },
        { { 1 }, { 1 }, math.mininteger }, { { 1 }, { 1 }, big }, { { 2 }, { 1 }, big },
        { { 2 }, { 1 }, 0 }, { { 1 << 31, 2 }, { 1 << 33, 1 } }, { { 1 }, { 1 }, -(1 << 45) },
        { { 2 }, { 1 }, 1 << 45 }, { {}, {}, 7 } }
        do
        t.error(function() return y:as_strided(table.unpack(a)) end,
            "as_strided: shape, strides and offset", "as_strided far away")
    end
    t.is(y:as_strided({ 2, 2 }, { 3, 1 }, 2), { { 2, 3 }, { 5, 6 } }, "as_strided")
    t.is(y:as_strided({ 0 }, { 1 }, 1 << 45), {}, "of nothing, anywhere")
    t.is(y:as_strided({ 1, 2 }, { 1 << 40, 1 }), { { 1, 2 } }, "a stride that is never taken")
    t.is(y:narrow(1, 3, 2):as_strided({ 2 }, { 1 }, -1), { 1, 2 },
        "in front of a view, where its tensor goes on")
end

-- A number by name is a list of one, as by position.
do
    local y = g.arange(1, 6):view(2, 3)
    t.is(y:sum { dim = 1 }, { 5, 7, 9 }, "sum {dim = 1}")
    -- and to PyTorch's other names
    local z = g.tensor { -2.0, 0.5, 8.0 }
    t.is(z:leaky_relu { negative_slope = 0.5 }, { -1, 0.5, 8 }, "leaky_relu {negative_slope}")
    t.is(z:leaky_relu { slope = 0.25 }, { -0.5, 0.5, 8 }, "leaky_relu {slope}")
    t.is(z:hardtanh { min_val = -3, max_val = 2 }, { -2, 0.5, 2 }, "hardtanh {min_val, max_val}")
    t.is(g.ones(2, 3, 4):flatten { start_dim = 2, end_dim = -1 }.shape, { 2, 12 },
        "flatten {start_dim, end_dim}")
    t.is(g.full({ 2 }, { fill_value = 7 }), { 7, 7 }, "full {fill_value}")
    t.is(g.full_like(z, { fill_value = 7 }), { 7, 7, 7 }, "full_like {fill_value}")
    t.is(z:pow { exponent = 2 }, { 4, 0.25, 64 }, "pow {exponent}")
    t.is(z:lerp { ["end"] = z + 4, weight = 0.25 }, { -1, 1.5, 9 }, "lerp {end, weight}")
    t.is((g.linalg.eigh(g.tensor { { 2.0, 9 }, { 0, 3 } }, { UPLO = "L" })), { 2, 3 },
        "eigh {UPLO}")
    t.is(g.zeros({ size = { 2, 1 } }).shape, { 2, 1 }, "zeros {size}")
    t.is(z:add { other = z }, { -4, 1, 16 }, "add {other}")
    t.is(z:maximum { other = -z }, { 2, 0.5, 8 }, "maximum {other}")
    t.is(g.matmul(y, { other = g.arange(1, 3) }), { 14, 32 }, "matmul {other}")
    t.is(g.mm(y, { mat2 = g.ones(3, 1, { dtype = "i64" }) }), { { 6 }, { 15 } }, "mm {mat2}")
    t.is(g.mv(y, { vec = g.arange(1, 3) }), { 14, 32 }, "mv {vec}")
    t.is(g.outer(z, { vec2 = z }):diagonal(), { 4, 0.25, 64 }, "outer {vec2}")
    t.is(g.addmm(g.zeros(1), { mat1 = g.ones(1, 2), mat2 = g.ones(2, 1), beta = 1 }), { { 2 } },
        "addmm {mat1, mat2}")
    t.is(z:addcmul { tensor1 = z, tensor2 = z, value = 2 }, { 6, 1, 136 },
        "addcmul {tensor1, tensor2}")
    t.is(g.linspace { start = 0, ["end"] = 1, steps = 3 }, { 0, 0.5, 1 },
        "linspace {start, end, steps}")
    t.is(g.logspace { start = 0, ["end"] = 2, steps = 3 }, { 1, 10, 100 },
        "logspace {start, end, steps}")
    t.is(g.arange { start = 1, ["end"] = 3 }, { 1, 2, 3 }, "arange {start, end}")
    t.is(y:transpose { dim0 = 1, dim1 = 2 }.shape, { 3, 2 }, "transpose {dim0, dim1}")
    t.is(g.where { condition = z:gt(0), x = z, y = 0 }, { 0, 0.5, 8 },
        "where {condition, x, y}: x is no second name of cond")
    t.is(g.mse_loss { input = z, target = z, reduction = "sum" }:item(), 0,
        "mse_loss {input, target}")
    t.is(y:tensor_split { indices_or_sections = 2, dim = 2 }[2].shape, { 2, 1 },
        "tensor_split {indices_or_sections}")
    t.is(y:as_strided { size = { 2 }, stride = { 1 }, storage_offset = 2 }, { 2, 3 },
        "as_strided {size, storage_offset}")
    t.is(g.linalg.solve { A = g.eye(3), B = z }, { -2, 0.5, 8 }, "linalg.solve {A, B}")
    t.is(g.linalg.lu(g.eye(2), { pivot = true }).shape, { 2, 2 }, "linalg.lu {pivot}")
    t.error(function() return g.linalg.lu(g.eye(2), { pivot = false }) end,
        "lu: argument 'pivot' is false %(expected true", "which is one way")
    t.error(function() return z:add(z, { other = z }) end,
        "add: 'other' is given twice, as argument #2", "a second name given twice")
    t.error(function() return g.cat({ y, y:t() }, 2) end,
        "tensor 2 is i64 3x2, which does not fit i64 2x3 %(expected the same sizes except in \z
            dim 2%)",
            "cat")
    t.error(function() return g.arange(4) end,
        "arange: argument 'last' %(#2%): expected a number, got nothing; arange%(1, n%)",
            "arange(n)")
    t.error(function() return y:softmax() end,
        "softmax: argument 'dim' %(#2%): expected a dim %(an integer%), got nothing",
            "types in words")
    t.error(function() return y[{ 1, 1, 1 }] end,
        "index: 3 dims are indexed, but the tensor is i64 2x3 %(expected at most 2%)",
            "too many dims")
    t.error(function() return z:leaky_relu { min_val = 1 } end,
        "leaky_relu: unknown option 'min_val' %(expected slope%)", "another op's name")
    t.is(y:sum { dim = -1, keepdim = true }, { { 6 }, { 15 } }, "sum {dim = -1}")
    t.is(y:float():amax { dim = 2 }, { 3, 6 }, "amax {dim = 2}")
    t.is(g.std(y:float(), { dim = 2 }), { 1, 1 }, "std {dim = 2}")
    t.is(g.std(y:float(), { dims = { 2 } }), { 1, 1 }, "a list of dims is dim and dims")
    t.is(y:sum { dims = 2 }, { 6, 15 }, "in every op that has one")
    t.is(y:count_nonzero { dim = 1 }, { 2, 2, 2 }, "count_nonzero {dim = 1}")
    t.is(y:flip { dims = 2 }, { { 3, 2, 1 }, { 6, 5, 4 } }, "flip {dims = 2}")
    t.is(g.fft.fftshift(g.arange(1, 3), { dim = 1 }), { 3, 1, 2 }, "a composite's")
    t.is(g.zeros { shape = 3 }, { 0, 0, 0 }, "zeros {shape = 3}")
    t.is(g.full({ value = 2, shape = 2 }), { 2, 2 }, "full {shape = 2}")
    t.is(g.ones(1, 1, 4, 4):conv2d(g.ones(1, 1, 2, 2), { stride = 2 }),
        { { { { 4, 4 }, { 4, 4 } } } }, "conv2d {stride = 2}")
    t.error(function() y:sum { dim = 1.5 } end, "sum: option 'dim': expected integers",
        "and no fraction")
end

-- Composites name themselves for any arguments; sizes that would need all memory are refused.
local x, v = g.randn(3, 4), g.randn(3)
t.error(function() g.einsum("ij,jk", 3, x) end, "einsum: operand 1: expected a tensor, got number",
    "einsum of a number first")
t.error(function() x:chunk(math.maxinteger, 3) end, "chunk: ", "chunk along no dim")
t.is(#x:chunk(math.maxinteger), 3, "no more chunks than elements")
t.error(function() g.zeros(0):chunk(math.maxinteger) end,
    "chunk: argument 'chunks' is %d+ %(expected at most", "chunks of nothing")
t.error(function() x:tensor_split(math.maxinteger) end,
    "tensor_split: argument 'sections' is %d+ %(expected at most", "more pieces than memory")
t.error(function() x:tensor_split { 1, "a" } end,
    "tensor_split: entry 2 of argument 'sections': expected a number, got 'a'",
    "an index that is none")
t.error(function() v:inner(v:double()) end, "inner: f32 3 and f64 3 %(expected the same dtype%)",
    "inner of two dtypes")
t.error(function() v:quantile { 0.5, "a" } end, "quantile: argument 'q': number 2 is a string",
    "a quantile that is no number")
t.error(function() g.lstm_cell(x, { x }, x, x) end, "lstm_cell: argument 'hx' has 1 tensors",
    "half a state")
t.error(function() g.scaled_dot_product_attention(v, v, v) end,
    "scaled_dot_product_attention: query is 3, key 3, value 3", "attention of vectors")
t.error(function() v:uniform_(0, math.huge) end,
    "uniform: low is 0, high inf %(expected low <= high, both finite%)",
        "a uniform number up to infinity")
-- An error of an op that was queued before names that op where a composite waits.
t.error(function()
    local y = g.tensor({ 2, 3 }, { dtype = "i32", device = "sim" }):pow(
        g.tensor({ -1, 2 }, { dtype = "i32", device = "sim" }))
    return y:nonzero()
end,
    "ops_errors.lua:%d+: pow: an integer raised to a negative integer.*queued at \z
        .*ops_errors.lua:%d+", "a queued op's error in a composite")
t.done()
