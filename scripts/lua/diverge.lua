--!plain
-- diverge: runs a function twice, as it is given and on another device or in another dtype, and
-- compares the results of its ops in the order in which they ran, those of backward, too.
-- bindings/api/op/nan.c notes the results.
local require = ...
local gpush, fail = require "gpush", require "fail"
local registry, inputs_of = require "registry", require "autograd".inputs_of
local results_of = registry["gpush.results_of"]

-- Bits of the fraction, and the least exponent, of each dtype.
local FLOATS = { f16 = { 10, -14 }, bf16 = { 7, -126 }, f32 = { 23, -126 }, f64 = { 52, -1022 } }

local function narrower(a, b) return FLOATS[b][1] < FLOATS[a][1] and b or a end

-- The distance from the number v to the next one of dtype.
local function spacing(v, dtype)
    local bits, least = FLOATS[dtype][1], FLOATS[dtype][2]
    local e = v > 0 and math.floor(math.log(v, 2)) or least
    if v > 0 and 2.0 ^ e > v then e = e - 1 end
    return 2.0 ^ (math.max(e, least) - bits)
end

-- The largest distance of two results, in ulp of dtype at the largest finite element of the first,
-- the number of the element, from 1, its two values, and how many elements are NaN in both, which
-- count as equal. Where one is finite and the other is not, the distance is infinite.
local function distance(a, b, dtype)
    a, b = a:to("cpu", "f64"):reshape(-1), b:to("cpu", "f64"):reshape(-1)
    local neither = a:isnan():logical_and(b:isnan())
    local same = a:eq(b):logical_or(neither)
    local d = gpush.where(same, 0, (a - b):abs())
    d = gpush.where(d:isnan(), math.huge, d)
    local at, scale = d:argmax():item(), gpush.where(a:isfinite(), a:abs(), 0):max():item()
    return d[at]:item() / spacing(scale, dtype), at, a[at]:item(), b[at]:item(),
        neither:sum():item()
end

-- For results that are not of floats in both runs: how many elements differ, the number of the
-- first, and its two values; nil: none.
local function chosen_otherwise(a, b)
    a, b = a:to("cpu", "f64"):reshape(-1), b:to("cpu", "f64"):reshape(-1)
    local other = a:ne(b):logical_and(a:eq(a):logical_or(b:eq(b)))
    local n = other:sum():item()
    if n == 0 then return end
    local at = other:to "u8":argmax():item()
    return { elements = n, element = at, first_value = a[at]:item(), second_value = b[at]:item() }
end

-- ---- the two runs ----

-- What stands for a given value in a run: tensors are copies, leaves where the given ones require
-- gradients; those that are not of floats keep their dtype.
local function stand_in(value, how, made)
    if not gpush.is_tensor(value) then return value end
    if not made[value] then
        local float = FLOATS[tostring(value.dtype)]
        made[value] = value:detach():to(how.device or value.device, float and how.dtype or
            value.dtype):clone():requires_grad_(value.requires_grad)
    end
    return made[value]
end

-- Gives the modules among the values other parameters and buffers; closing what it returns brings
-- theirs back.
local function exchange(values, how, made)
    local before = {}
    for i = 1, values.n do
        local modules = gpush.nn.is_module(values[i]) and values[i]:modules() or {}
        for _, module in ipairs(modules) do
            for key, value, kind in gpush.nn.entries(module) do
                if kind ~= "module" then before[#before + 1] = { module, key, value } end
            end
        end
    end
    for _, e in ipairs(before) do rawset(e[1], e[2], stand_in(e[3], how, made)) end
    return setmetatable({}, { __close = function()
        for _, e in ipairs(before) do rawset(e[1], e[2], e[3]) end
    end })
end

-- The results of fn's ops on stand-ins for values, each {op, step, file, line, module, value}.
local function run(fn, values, how, state)
    local made, args = {}, {}
    gpush.set_rng_state(state)
    local _ <close> = exchange(values, how, made)
    for i = 1, values.n do args[i] = stand_in(values[i], how, made) end
    return results_of(fn, table.unpack(args, 1, values.n))
end

-- ---- what is found ----

local Report = {}
Report.__index, Report.__name = Report, "diverge"

-- "exp_dx, in the backward of exp, in Net.fc1 at train.lua:12"
local function place(r)
    return r.op .. (r.step and (" in the backward of %s"):format(r.step) or "")
        .. (r.module and " in " .. r.module or "")
        .. (r.file and (" at %s:%d"):format(r.file, r.line) or "")
end

-- "; argmax at train.lua:3 does not give the same: 1 of 2 elements differs, element 1 is 2 and 1"
local function text_of_choice(it, count)
    if not it then return "" end
    return ("; %s does not give the same: %d of %d element%s differ%s, element %d is %.9g and \z
        %.9g%s"):format(place(it), it.elements, it.all, it.all == 1 and "" or "s",
        it.elements == 1 and "s" or "", it.element, it.first_value, it.second_value,
        count == 1 and "" or count == 2 and ", nor does a later one" or
            (", nor do %d later ones"):format(count - 1))
end

function Report:__tostring()
    local nans = self.nans == 0 and "" or ("; %d element%s NaN in both runs, which counts as \z
        equal, first of %s: nan.watch says what made them"):format(self.nans,
        self.nans == 1 and " is" or "s are", self.nan_at)
    local before = self.count == 0 and "no result was compared before" or
        ("%d result%s before %s by at most %.3g ulp"):format(self.count, self.count == 1 and "" or
            "s", self.count == 1 and "differs" or "differ", self.before)
    nans = nans .. text_of_choice(self.choice, self.choices)
    before = before .. nans
    if self.other then
        return ("the runs part at op %d: %s, but %s on %s; %s"):format(self.count + 1, place(self),
            self.other, self.second, before)
    end
    if not self.op then
        return ("none of %d results parts by more than %g ulp of %s: at most %.3g%s"):format(
            self.count, self.most, self.dtype, self.before, nans)
    end
    return ("%s is the first to part by more than %g ulp: by %.4g ulp of %s, element %d of %s is \z
        %.9g on %s and %.9g on %s; %s"):format(place(self), self.most, self.ulp, self.dtype,
        self.element, self.shape, self.first_value, self.first, self.second_value, self.second,
        before)
end

local function text_of(value) -- "f32 on cpu"
    return ("%s %s"):format(value.dtype, value.device)
end

local function shape_text(value)
    return #value.shape > 0 and table.concat(value.shape, "x") or "a scalar"
end

local function same_shape(a, b)
    return table.concat(a.value.shape, "x") == table.concat(b.value.shape, "x")
end

local function copy(of, to)
    for key, v in pairs(of) do to[key] = v end
    to.value = nil
    return to
end

-- Notes the first results, not of floats, that are not the same: a small difference may choose
-- another element.
local function compare_choices(report, a, b)
    local found = chosen_otherwise(a.value, b.value)
    if not found then return end
    found.all = a.value:numel()
    report.choices = report.choices + 1
    report.choice = report.choice or copy(a, found)
end

-- Whether a and b part; then the report is of them.
local function compare_floats(report, a, b, dtype)
    local narrow = narrower(dtype, narrower(tostring(a.value.dtype), tostring(b.value.dtype)))
    local ulp, element, x, y, nans = distance(a.value, b.value, narrow)
    report.nans = report.nans + nans
    report.nan_at = report.nan_at or nans > 0 and place(a) or nil
    if ulp <= report.most then
        report.before = math.max(report.before, ulp)
        return false
    end
    copy(a, report)
    report.shape, report.ulp, report.dtype = shape_text(a.value), ulp, narrow
    report.element, report.first_value, report.second_value = element, x, y
    return true
end

-- Compares until one parts by more than `most`.
local function compare(first, second, dtype, most)
    local report = setmetatable({ count = 0, before = 0, most = most, dtype = dtype, nans = 0,
        choices = 0 }, Report)
    for k = 1, math.max(#first, #second) do
        local a, b = first[k], second[k]
        local other = not a and "the first run has ended" or not b and "there is none"
            or (a.op ~= b.op or not same_shape(a, b)) and place(b)
        report.first, report.second = text_of((a or b).value), text_of((b or a).value)
        if other then
            copy(a or b, report).other = other
            return report
        end
        if not (FLOATS[tostring(a.value.dtype)] and FLOATS[tostring(b.value.dtype)]) then
            compare_choices(report, a, b)
        elseif compare_floats(report, a, b, dtype) then
            return report
        end
        report.count = k
    end
    return report
end

-- The dtype of the first tensor of floats among the values, or in modules; f32 without one.
local function dtype_of(values)
    for i = 1, values.n do
        local v = values[i]
        local list = gpush.is_tensor(v) and { v } or gpush.nn.is_module(v) and v:parameters() or {}
        for _, x in ipairs(list) do
            if FLOATS[tostring(x.dtype)] then return tostring(x.dtype) end
        end
    end
    return "f32"
end

--- diverge(fn, {x, …}, {device =, dtype =, ulp = 16}): the first op whose results part
-- by more than ulp (16: what roundings of some dozen ops add up to), and the first that compares or
-- chooses otherwise, where fn(x, …) runs as it is
-- given, and again on the device or in the dtype named; by default on the "gpu", else sim. Tensors
-- and modules among x, … are copied for each run, with the same random numbers. Returns a report,
-- which prints as a sentence; its op is nil where nothing parts.
local function diverge(fn, inputs, device, dtype, ulp)
    local values = inputs_of("diverge", gpush.nn.is_module(inputs) and { inputs } or inputs)
    if ulp ~= ulp or ulp < 0 then
        fail("diverge: argument 'ulp': expected 0 or more, got %s", ulp)
    end
    if dtype and not FLOATS[tostring(dtype)] then
        fail("diverge: argument 'dtype': expected f16, bf16, f32 or f64, got %s", tostring(dtype))
    end
    if gpush.nn.is_module(fn) then
        local model = fn
        values.n = values.n + 1
        values[values.n] = model
        fn = function(...) return model(table.unpack({ ... }, 1, select("#", ...) - 1)) end
    end
    local state = gpush.get_rng_state()
    local own = dtype_of(values)
    local how = { device = device or not dtype and "gpu" or nil, dtype = dtype and tostring(dtype) }
    local first = run(fn, values, {}, state)
    if #first == 0 then
        fail "diverge: fn computed nothing (expected some results to compare: those of ops that \z
            only move elements are not)"
    end
    local second = run(fn, values, how, state)
    return compare(first, second, narrower(own, how.dtype or own), ulp)
end

return { diverge = diverge }
