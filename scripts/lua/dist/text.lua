--!plain
-- For modules that run on many ranks: texts and failures of all of them.
local require = ...
local gpush = require "gpush"
local dist = gpush.dist
local CHUNK <const> = 4096 -- bytes that one call takes apart or joins

local function to_bytes(text, size)
    local list = { text:byte(1, CHUNK) }
    for at = CHUNK + 1, #text, CHUNK do
        local bytes = { text:byte(at, at + CHUNK - 1) }
        table.move(bytes, 1, #bytes, #list + 1, list)
    end
    for i = #list + 1, size do list[i] = 0 end
    return list
end

local function to_text(bytes, size)
    local parts = {}
    for at = 1, size, CHUNK do
        parts[#parts + 1] = string.char(table.unpack(bytes, at, math.min(at + CHUNK - 1, size)))
    end
    return table.concat(parts)
end

-- A list of every rank's text, in the order of ranks, of a group or of all. A collective.
local function gather(text, group)
    if dist.size == 1 then return { text } end
    local _ <close> = gpush.no_grad()
    local options = { group = group }
    local sizes = dist.all_gather(gpush.tensor { #text }, options):tolist()
    local most = math.max(1, table.unpack(sizes))
    local row = gpush.tensor({ to_bytes(text, most) }, { dtype = "u8" })
    local rows = dist.all_gather(row, options):tolist()
    local list = {}
    for r, size in ipairs(sizes) do list[r] = to_text(rows[r], size) end
    return list
end

-- pcall(fn) on all ranks: true and its value where it succeeded on each of them; else, on every
-- rank, false, the message of the first where it failed, and that rank. A collective.
local function together(fn)
    local ok, value = pcall(fn)
    for r, text in ipairs(gather(ok and "" or "x" .. tostring(value))) do
        if text ~= "" then return false, text:sub(2), r - 1 end
    end
    return true, value
end

return { gather = gather, together = together }
