--!plain
-- kernel:counts(): what a launch costs a card, as a list of rows, one for each line and array, with
-- sums and advice; printed as a table. The numbers come from kernels/common/simt/counts.c.

local KINDS <const> = { read = 1, write = 2, atomic = 3, barrier = 4, branch = 5 }
-- More than what is needed, by that factor, is worth another sentence.
local ENOUGH <const> = 2

-- 4096 as "4,096".
local function grouped(n)
    local s = ("%d"):format(n)
    return (s:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""):gsub("^%-,", "-"))
end

-- A number per request, with a decimal where it has one.
local function each(n, row)
    local v = n / row.requests
    return v % 1 == 0 and ("%d"):format(v) or ("%.1f"):format(v)
end

local function array(row)
    if not row.shared then return row.name end
    return row.name == "" and "dynamic shared memory" or "shared " .. row.name
end

local function what(row)
    if row.kind == "barrier" or row.kind == "branch" then return row.kind end
    return row.kind .. " " .. array(row)
end

-- ---- advice ----

local function apart(row)
    local verb = row.kind == "atomic" and "update" or row.kind
    if row.stride == row.size and row.lanes < 32 * row.requests then
        return "the threads of a warp have parted"
    end
    if not row.stride then return ("they %s scattered elements"):format(verb) end
    if row.stride == 0 then return ("all %s the same element"):format(verb) end
    return ("neighbours %s %s bytes apart"):format(verb, grouped(math.abs(row.stride)))
end

local function of_global(row)
    if row.sectors <= row.least then return nil end
    local needs = ("%s sectors for %s threads: "):format(each(row.sectors, row),
        each(row.lanes, row))
    if row.sectors >= ENOUGH * row.least then return needs .. apart(row) end
    if row.stride and math.abs(row.stride) == row.size then
        return needs .. "the first does not begin one"
    end
    return needs .. apart(row)
end

local function of_shared(row)
    if row.conflicts == 0 then return nil end
    local passes = each(row.conflicts, row)
    return ("%s pass%s more for %s threads, which meet in banks%s"):format(passes,
        passes == "1" and "" or "es", each(row.lanes, row),
        row.stride == 0 and row.kind ~= "atomic" and "" or ": " .. apart(row))
end

-- One sentence of what could be less; nil: nothing.
local function advice(row, warps)
    if row.kind == "barrier" then return nil end
    if row.kind == "branch" then
        if row.requests * ENOUGH < warps then return nil end
        return ("threads of a warp part%s: its ways run one after the other"):format(
            row.requests > 1 and (" %s times"):format(grouped(row.requests)) or "")
    end
    return (row.shared and of_shared or of_global)(row)
end

-- ---- the table ----

local HEAD <const> = { "line", "what", "requests", "threads", "sectors", "packed", "conflicts" }

local function cells(row)
    local list = { row.line > 0 and tostring(row.line) or "?", what(row), grouped(row.requests) }
    local counted = KINDS[row.kind] <= KINDS.atomic
    list[4] = counted and each(row.lanes, row) or ""
    list[5] = counted and not row.shared and each(row.sectors, row) or ""
    list[6] = counted and not row.shared and each(row.least, row) or ""
    list[7] = counted and row.shared and each(row.conflicts, row) or ""
    return list
end

local function aligned(rows)
    local width, lines = {}, {}
    for _, row in ipairs(rows) do
        for k, cell in ipairs(row) do width[k] = math.max(width[k] or 0, #cell) end
    end
    for i, row in ipairs(rows) do
        local parts = {}
        for k, cell in ipairs(row) do
            local pad = (" "):rep(width[k] - #cell)
            parts[k] = k == 2 and cell .. pad or pad .. cell
        end
        lines[i] = table.concat(parts, "  "):gsub("%s+$", "")
    end
    return lines
end

local Counts = { __name = "counts" }
Counts.__index = Counts

local function bytes(n)
    if n < 10000 then return grouped(n) .. " B" end
    return n < 1e6 and ("%.1f kB"):format(n / 1e3) or ("%.1f MB"):format(n / 1e6)
end

function Counts:__tostring()
    local rows = { HEAD }
    for k, row in ipairs(self) do rows[k + 1] = cells(row) end
    local lines = aligned(rows)
    table.insert(lines, 1, ("kernel %s: %s of %s"):format(self.kernel,
        self.blocks == 1 and "1 block" or grouped(self.blocks) .. " blocks",
        self.threads == self.blocks and "1 thread"
            or grouped(self.threads // self.blocks) .. " threads"))
    if self.moved > 0 then
        lines[#lines + 1] = ("%s moved, %s at least"):format(bytes(self.moved), bytes(self.least))
    end
    for _, row in ipairs(self) do
        if row.advice then lines[#lines + 1] = ("line %d: %s"):format(row.line, row.advice) end
    end
    return table.concat(lines, "\n")
end

local function before(a, b)
    if a.line ~= b.line then return a.line < b.line end
    if a.kind ~= b.kind then return KINDS[a.kind] < KINDS[b.kind] end
    if a.shared ~= b.shared then return b.shared end
    return a.name < b.name
end

-- What C has counted, for users; line(n) is a line of the text as typed.
local function made(kernel, counts, line)
    local warps = (counts.threads // counts.blocks + 31) // 32 * counts.blocks
    counts.kernel, counts.barriers, counts.branches, counts.conflicts = kernel.name, 0, 0, 0
    for _, row in ipairs(counts) do
        row.line = row.line > 0 and line(row.line) or 0
        row.advice = advice(row, warps)
        counts.conflicts = counts.conflicts + row.conflicts
        if row.kind == "barrier" then counts.barriers = counts.barriers + row.requests end
        if row.kind == "branch" then counts.branches = counts.branches + row.requests end
    end
    table.sort(counts, before)
    return setmetatable(counts, Counts)
end

return { made = made }
