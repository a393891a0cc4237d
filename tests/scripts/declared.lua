-- Composites before their files are run: every name exists, as a function that stays the same one,
-- and queries about it find the file's contents. No composite may be called here before the first
-- of these tests.
local t = require "tap"
local gpush = require "gpush"
local require_ours = debug.getregistry()["gpush.require"]
local dir = require_ours "dir"
local composites = debug.getregistry()["gpush.composites"]
local methods = debug.getregistry()["gpush.tensor.methods"]

-- Before its file is read a composite has its name for an upvalue, then a userdata.
local function waits(fn) return type(select(2, debug.getupvalue(fn, 1))) == "string" end

-- The files' definitions, by running each of them here: the reference.
local defined, count = {}, 0
for _, area in ipairs { "create", "elementwise", "reduce", "shape", "index", "linalg", "fft", "rnn",
    "loss", "nn", "image", "interpolate", "einsum" }
do
    local function define(def)
        defined[def[1]] = def
        count = count + 1
    end
    local rows = setmetatable({}, { __index = function(_, name) return gpush[name] end })
    assert(loadfile(("%s/ops/%s.lua"):format(dir, area), "t"))(function(name)
        return name == "ops" and { define = define, rows = rows } or require_ours(name)
    end)
end
t.ok(count > 90, "the files were found: " .. count .. " composites")

local unread, named = {}, 0
for name, fn in pairs(composites) do
    named = named + 1
    if not waits(fn) then unread[#unread + 1] = name end
end
t.is(table.concat(unread, " "), "", "nothing is read at the start")
t.is(named, count, "as many names as definitions")

local wrong = {}
for name, def in pairs(defined) do
    local group, short = name:match "^(%w+)%.(.+)$"
    local from = group and rawget(gpush, group) or gpush
    local method = not group and def.sig:find "^tensor[! ]" or not group and def.sig:find "^operand"
    local value = rawget(from, short or name)
    -- a table, too
    if name == "dist" then value = getmetatable(value).__call and composites.dist end
    local ok = composites[name] and value == composites[name]
        and (methods[name] == composites[name]) == (method and true or false)
    if not ok then wrong[#wrong + 1] = name end
end
t.is(table.concat(wrong, " "), "", "each is where its name and its signature put it")

local seen = {}
for name in pairs(gpush) do seen[name] = true end
t.ok(seen.hstack and seen.einsum and seen.where and seen.zeros_like, "pairs(gpush) has the names")

-- Called first, asked about first, a method first, in a coroutine first.
local hstack, einsum = gpush.hstack, gpush.einsum
t.is(#hstack({ gpush.ones(2), gpush.ones(3) }):tolist(), 5, "a first call")
t.ok(not waits(hstack) and hstack == gpush.hstack, "is read then, and stays the same function")
t.is(gpush.vstack({ gpush.ones(2), gpush.ones(2) }).ndim, 2, "another of the same file")
t.is(coroutine.wrap(function() return einsum("i,i->", gpush.ones(3), gpush.ones(3)):item() end)(),
    3, "in a coroutine")
t.is(gpush.tensor({ 1, 2 }):allclose(gpush.tensor { 1, 2 }), true, "as a method")
t.is(gpush.div(7, gpush.tensor { 2 }, "floor"):item(), 3, "one that covers a row of the op table")
t.is(gpush.div(7, gpush.tensor { 2 }):item(), 3.5, "which it still finds")
local ok, message = pcall(gpush.fft.fft2, 3)
t.ok(not ok and message:find("fft.fft2: argument 'x' (#1): expected a tensor, got 3", 1, true),
    "a bad first argument: " .. tostring(message))

-- Signature and help of all.
local ops = gpush.ops(true)
wrong = {}
for name, def in pairs(defined) do
    if not ops[name] or ops[name].sig ~= def.sig or ops[name].help ~= def.help then
        wrong[#wrong + 1] = name
    end
end
t.is(table.concat(wrong, " "), "", "ops(true) knows every signature and text")
unread = {}
for name, fn in pairs(composites) do if waits(fn) then unread[#unread + 1] = name end end
t.is(table.concat(unread, " "), "", "and has read them all")
-- The files' own require and the scripts' do not know each other's modules.
local _, _ = gpush.nn.Linear, gpush.optim.Adam
local others = {}
for name in pairs(package.loaded) do
    if name:find "^nn" or name:find "^optim" or name == "fail" then others[#others + 1] = name end
end
t.is(others, {}, "package.loaded has no file of ours")
t.ok(not pcall(require, "nn.Linear"), "nor does require find one")
t.ok(require_ours "nn" == gpush.nn and require_ours "nn.Linear", "which ours does")
package.loaded.fit = "a script's"
t.is(type(require_ours "fit"), "table", "a script's module of the same name is not taken for ours")
t.error(function() require_ours "ops".define { "nowhere", sig = "", help = "" } end,
    "nowhere is not in the build's index", "a composite that the build's index lacks is said")
t.done()
