--!plain
-- Describes an op: its signature and what the op table or define say of it, and its topic.
local require = ...
local gpush, registry = require "gpush", require "registry"
local topic, page = require "help.topic", require "help.page"
local print, put, wrapped = page.print, page.put, page.wrapped

-- The table of ops, which resolves every composite: made again where a library has added some.
local table_of_ops, added
function page.rows()
    if not table_of_ops or added ~= registry["gpush.added"] then
        table_of_ops, added = gpush.ops(true), registry["gpush.added"]
    end
    return table_of_ops
end

-- "conv2d(x, weight, [bias], [stride=1], …)" of a row's signature.
local function call_text(name, sig)
    local out = {}
    for parameter in (sig .. ","):gmatch "%s*([^,]+)," do
        local kind, optional, word = parameter:match "^(%w+)([!?]*) (.*)$"
        optional, word = optional or "", word or parameter
        if kind == "rest" then word = "…" end
        if kind ~= "self" then
            out[#out + 1] = (optional:find("?", 1, true) or word:find "=") and "[" .. word .. "]"
                or word
        end
    end
    return name .. "(" .. table.concat(out, ", ") .. ")"
end

local function types_text(sig)
    local out = {}
    for kind, name in (sig .. ","):gmatch "(%w+)[!?]* ([%w_]+)" do
        out[#out + 1] = name .. ": " .. kind
    end
    return table.concat(out, ", ")
end

local opens = { ["function"] = 1, ["do"] = 1, ["then"] = 1, ["end"] = -1 }
local begins = { ["local"] = true, ["for"] = true, ["if"] = true, ["return"] = true }

-- The statements of a line that begin with such a word, each with what follows it.
local function statements(line)
    local parts, from, depth = {}, 1, 0
    for at, word in line:gmatch "()%f[%w_]([%a_][%w_]*)" do
        if begins[word] and depth == 0 and at > from then
            parts[#parts + 1] = line:sub(from, at - 1):match "^(.-)%s*$"
            from = at
        end
        depth = depth + (opens[word] or 0)
    end
    parts[#parts + 1] = line:sub(from)
    return parts
end

-- A line of an example, or what it shows; a long one has a line for each statement.
local function show_code(line, indent)
    if line:find "^%-%->" then return print(indent .. line) end
    if #indent + #line <= 78 then return page.call(line, indent) end
    for _, part in ipairs(statements(line)) do page.call(part, indent) end
end

local function show_topic(t)
    if t.text then wrapped(t.text, "    ") end
    if t.options then wrapped("options: " .. t.options, "    ") end
    if t.shapes then wrapped("shapes: " .. t.shapes, "    ") end
    if t.waits then wrapped("waits: " .. t.waits, "    ") end
    if t.raises then wrapped("raises: " .. t.raises, "    ") end
    if t.example then
        print "    example:"
        for line in t.example:gmatch "[^\n]+" do show_code(line, "        ") end
    end
    if t.see then wrapped("see also: " .. t.see, "    ") end
end

-- linalg.svd for the row linalg_svd.
local function public(name)
    local group, short = name:match "^(%l+)_(.+)$"
    local t = group and rawget(gpush, group)
    return type(t) == "table" and rawget(t, short) and group .. "." .. short or name
end

-- ---- Default texts by kind of row ----

local each = "operands broadcast; the result has their common shape"
local shapes = { unary = "x: any; the result has the same",
    param = "x: any; the result has the same", binary = each,
    compare = each, ternary = each,
    reduce = "x: any; the result has the dims that are not reduced; keepdim keeps them as 1" }
local calls = {
    unary = { "tensor{0.25, 0.5, 0.75}:%s()", "tensor{1.5, 2.0, 3.0}:%s()",
        "tensor{1, 2, 3}:%s()" },
    binary = { "tensor{1.0, 2.0, 3.0}:%s(2)", "tensor{1, 2, 3}:%s(2)",
        "tensor{0.25, 0.5, 0.75}:%s(0.5)", "tensor{2.0, 3.0, 4.0}:%s(2)" },
    reduce = { "tensor({{1.0, 2.0}, {3.0, 4.0}}):%s(2)" },
}
calls.compare = calls.binary

-- The first of the calls whose results are numbers, with its result.
local function example(name, kind)
    for _, call in ipairs(calls[kind] or {}) do
        local code = call:format(name)
        local f = load("local tensor = ... return (" .. code .. ")", "=example")
        local ok, value = pcall(f, function(list) return gpush.tensor(list, { device = "cpu" }) end)
        local text = ok and tostring(value)
        if text and not text:find "nan" and not text:find "inf" then
            return code .. "\n--> " .. text:gsub("\n", "\n--> ")
        end
    end
end

-- Rows of the same kind where one's name begins with the other's.
local function alike(name, rows)
    local out = {}
    for other, row in next, rows do
        local short, long = name, other
        if #short > #long then short, long = long, short end
        if other ~= name and row.kind == rows[name].kind and #short > 2
            and long:sub(1, #short) == short then
            out[#out + 1] = public(other)
        end
    end
    table.sort(out)
    return out[1] and table.concat(out, ", ", 1, math.min(#out, 5))
end

local function by_kind(name, t)
    local rows = page.rows()
    local row = rows[name]
    if not row or row.random then return t end
    return { text = t.text, options = t.options, shapes = t.shapes or shapes[row.kind],
        example = t.example or example(name, row.kind), see = t.see or alike(name, rows) }
end

local function show_op(name, sig, help)
    local row, row_name = page.rows()[name], name
    name = public(name)
    page.call(call_text(name, sig))
    wrapped(help, "    ")
    if sig ~= "" then wrapped(types_text(sig), "    ") end
    local also = registry["gpush.synonyms"][name]
    if also then put("    also called %s", table.concat(also, ", ")) end
    if row and row.dtypes then wrapped("dtypes: " .. row.dtypes, "    ") end
    local first, rest = sig:match "^%l+[?!]* (%w+)(.*)$"
    if registry["gpush.tensor.methods"][name .. "_"] and first then
        put("    in place: %s:%s_(%s)", first, name, rest:find "%l" and "…" or "")
    end
    if row and row.waits then wrapped("waits: " .. row.waits, "    ") end
    if row and row.raises then wrapped("raises: " .. row.raises, "    ") end
    if row and row.grad == "later" then print "    It has no derivative yet." end
    show_topic(by_kind(row_name, topic(name) or {}))
end

return { call_text = call_text, public = public, show = show_op, show_topic = show_topic }
