-- An op's name stands in its row, or its definition, and in no second list that is kept by hand:
-- what ops have in common is a column, or asked of the program. A list is eight or more different
-- names of ops in a row with nothing but commas, quotes, brackets, "=" or blanks between them.
-- Kernels and rules define ops, and tests say what is expected of each: they are not searched.
local t = require "tap"
local g = require "gpush"
local root = os.getenv "GPUSH_ROOT"
local MOST = 7

local names = {}
for name, row in next, g.ops(true) do
    for _, second in ipairs { name, name:match "[^.]+$", (name:gsub("^%l+_", "")) } do
        names[second] = row.kind and #second > 1 or nil
    end
end

-- The longest list in a text, as its line and its first names; nil: none is too long.
local function list_in(text)
    local line, best, run, seen = 1, nil, {}, {}
    local function close()
        if #run > MOST and (not best or #run > best.n) then
            best = { n = #run, line = run.line, text = table.concat(run, " ", 1, 3) }
        end
        run, seen = {}, {}
    end
    for between, word in text:gsub("\\z", "  "):gmatch "([^%a_]*)([%a_][%w_]*)" do
        line = line + select(2, between:gsub("\n", ""))
        if between:find "[^%s,\"'|;{}%[%]=]" or not names[word] then close() end
        if names[word] and not seen[word] then
            run[#run + 1], seen[word], run.line = word, true, run.line or line
        end
    end
    close()
    return best and ("%d: %d names: %s …"):format(best.line, best.n, best.text)
end

-- Lists that are not of what ops have in common.
local others = {
    ["bindings/rewrite/expr.c"] = "functions that return a list, which syntax unpacks",
    ["profile/replay/host.c"] = "PyTorch's ops that compute nothing, in traces",
    ["profile/load/kineto/waits.c"] = "PyTorch's ops that printing a tensor runs, in traces",
    ["scripts/lua/shell/counts.lua"] = "Python's methods whose result has the numbers of x",
    ["scripts/lua/shell/indices.lua"] = "PyTorch's functions whose result has named fields",
    ["scripts/lua/help/topics.lua"] = "the start page of help",
}

local found, used = {}, {}
local files <close> = assert(io.popen(([[cd '%s' && find tensor bindings profile shell scripts \
    .luacheckrc -name '*.[ch]' -o -name '*.def' -o -name '*.lua' -o -name .luacheckrc]]):format(
    root)))
for path in files:lines() do
    local defines = path:find "^tensor/ops/" or path:find "^scripts/lua/ops/"
        or path:find "^scripts/bench/" or path:find "^scripts/dev/"
    local file <close> = assert(io.open(root .. "/" .. path))
    local list = not defines and list_in(file:read "a")
    if list and others[path] then used[path] = true
    elseif list then found[#found + 1] = path .. ":" .. list end
end
table.sort(found)
t.is(found, {}, "no list of ops but their rows")
for path in next, others do t.ok(used[path], path .. " still has its list") end

t.is(list_in 'local a = { "sort", "topk", "mode",\n"median", "max", "min", "cummax", cummin = 1 }',
    "1: 8 names: sort topk mode …", "one of eight names would be found")
t.is(list_in "sort topk mode median max min cummax", nil, "seven names are none")
t.is(list_in "sort(topk(mode(median(max(min(cummax(cummin(x))))))))", nil, "nor are calls")
t.done()
