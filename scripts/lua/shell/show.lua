--!plain
-- Tables and long strings as text for the prompt: on one line where they fit, otherwise indented; a
-- table inside itself is named, not followed. Reads with next and rawget only, so that none of the
-- user's code runs; tensors are described, not read.
local require = ...
local gpush, registry = require "gpush", require "registry"
local safe = registry["gpush.safe"]
local DEPTH, ITEMS, BYTES = 6, 50, 2000

-- A string in quotes, without control characters.
local function quoted(s)
    s = #s > 200 and s:sub(1, 200) .. "…" or s
    s = ("%q"):format(s):gsub("\\\n", "\\n"):gsub("\\9", "\\t")
    return safe(s)
end

local function name_of(t)
    local meta = debug.getmetatable(t)
    local name = type(meta) == "table" and rawget(meta, "__name")
    return type(name) == "string" and safe(name) .. " " or ""
end

local function leaf(v)
    if type(v) == "string" then return quoted(v) end
    if gpush.is_tensor(v) then
        local shape = table.concat(v.shape, "x")
        return ("tensor(%s %s %s)"):format(v.dtype, shape == "" and "scalar" or shape, v.device)
    end
    if type(v) == "function" then
        local info = debug.getinfo(v, "S")
        return info.what == "C" and "function (C)"
            or ("function (%s:%d)"):format(safe(info.short_src), info.linedefined)
    end
    if type(v) == "userdata" or type(v) == "thread" then return safe(tostring(v)) end
    return tostring(v)
end

local reserved = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat \z
    return then true until while"):gmatch "%a+" do
    reserved[word] = true
end

local function key_text(k)
    if type(k) == "string" and k:find "^[%a_][%w_]*$" and not reserved[k] then return k end
    return "[" .. (type(k) == "table" and "table" or leaf(k)) .. "]"
end

-- Numbers first, then strings, each in order, then the rest unordered.
local rank = { number = 1, string = 2 }
local function before(a, b)
    local x, y = rank[type(a)] or 3, rank[type(b)] or 3
    if x ~= y then return x < y end
    return x < 3 and a < b
end

local text

-- The items of t as texts, the list's without keys; and the number left out.
local function items(t, indent, width, seen)
    local out, keys, n = {}, {}, rawlen(t)
    for i = 1, math.min(n, ITEMS) do out[i] = text(rawget(t, i), indent, width, seen) end
    local left = math.max(n - ITEMS, 0)
    for k in next, t do
        if not (math.type(k) == "integer" and k >= 1 and k <= n) then keys[#keys + 1] = k end
    end
    table.sort(keys, before)
    for i, k in ipairs(keys) do
        if i > ITEMS then left = left + 1 else
            local key = key_text(k)
            out[#out + 1] = key .. " = " .. text(rawget(t, k), indent, width - #key - 3, seen)
        end
    end
    if left > 0 then out[#out + 1] = ("… and %d more"):format(left) end
    return out
end

-- Short items share lines, others have one each.
local function fill(parts, indent, width)
    local rows, row = {}, nil
    for _, item in ipairs(parts) do
        if #item > 24 then return table.concat(parts, ",\n" .. indent) end
        if row and #indent + #row + #item + 3 <= width then
            row = row .. ", " .. item
        else
            rows[#rows + 1], row = row, item
        end
    end
    rows[#rows + 1] = row
    return table.concat(rows, ",\n" .. indent)
end

function text(v, indent, width, seen)
    if type(v) ~= "table" then return leaf(v) end
    local meta = debug.getmetatable(v)
    if type(meta) == "table" and rawget(meta, "__tostring") then
        local ok, s = pcall(tostring, v)
        if ok then return (safe(s, true):gsub("\n", "\n" .. indent)) end
    end
    if seen[v] then return seen[v] == true and "(itself, above)" or "(shown above)" end
    if next(v) == nil then return name_of(v) .. "{}" end
    if #indent >= 4 * DEPTH then return name_of(v) .. "{…}" end
    seen[v] = true
    local inner = indent .. "    "
    local parts = items(v, inner, width - 4, seen)
    seen[v] = "done"
    local line = name_of(v) .. "{" .. table.concat(parts, ", ") .. "}"
    if #line + #indent <= width and not line:find "\n" then return line end
    return name_of(v) .. "{\n" .. inner .. fill(parts, inner, width) .. "\n" .. indent .. "}"
end

-- A long string's beginning, up to a whole character.
local function cut(s)
    local n = BYTES
    while n > BYTES - 4 and (s:byte(n + 1) & 0xC0) == 0x80 do n = n - 1 end
    return ("%s\n… and %d more bytes; print(_) shows all"):format(safe(s:sub(1, n), true), #s - n)
end

return function(v, columns)
    if type(v) == "string" and #v > BYTES then return cut(v) end
    return text(v, "", columns or 80, {})
end
