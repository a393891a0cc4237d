--!plain
-- Text that fits the terminal, for the reports written in Lua; nothing is folded in a file or a
-- pipe. Returns the functions below.
local require = ...
local registry = require "registry"
local fit = {}

--- How many columns a line may have: the terminal's, or COLUMNS; nil: any.
fit.width = registry["gpush.columns"]

local safe = registry["gpush.safe"]

local function wide(text) return utf8.len(text) or #text end

--- A name shortened in its middle to that many characters; more of its end stays, which
--- distinguishes names.
function fit.shorten(name, most)
    local n = wide(name)
    if n <= most or not utf8.len(name) then return name end
    local head = (most - 1) // 3
    return name:sub(1, utf8.offset(name, head + 1) - 1) .. "…" ..
        name:sub(utf8.offset(name, head + 1 - most))
end

-- Lines of at most `most` columns, all but the first indented by `indent`; folded at spaces, so
-- that a number is never split.
local function fold(text, most, indent)
    local lines, line = {}, nil
    for space, word in text:gmatch "(%s*)(%S+)" do
        if line and wide(line .. space .. word) > most then
            lines[#lines + 1], line = line, (" "):rep(indent) .. word
        else
            line = (line or "") .. space .. word
        end
    end
    lines[#lines + 1] = line or ""
    return lines
end

--- Prints text; what does not fit continues below, indented by that many columns.
function fit.print(text, indent)
    print(table.concat(fold(text, fit.width() or math.huge, indent or 0), "\n"))
end

local LEAST = 20 -- minimum columns of a cell of text

-- Widths of the columns: those of the widest cells, but texts (not in right) are narrowed to fit,
-- the last first.
local function widths(rows, right)
    local width, all = {}, -2
    for _, row in ipairs(rows) do
        for c, cell in ipairs(row) do width[c] = math.max(width[c] or 0, wide(cell)) end
    end
    for _, w in ipairs(width) do all = all + w + 2 end
    for c = #width, 1, -1 do
        local over = all - (fit.width() or math.huge)
        if over > 0 and not right[c] and width[c] > LEAST then
            local less = math.min(over, width[c] - LEAST)
            width[c], all = width[c] - less, all - less
        end
    end
    return width
end

-- The lines of one row, whose cells are folded to their widths.
local function add_row(out, row, width, right)
    local cells, most = {}, 1
    for c, cell in ipairs(row) do
        cells[c] = wide(cell) <= width[c] and { cell }
            or fold(cell, width[c], #cell:match "^ *" + (c == 1 and 4 or 0))
        most = math.max(most, #cells[c])
    end
    for i = 1, most do
        local line = {}
        for c in ipairs(row) do
            local text = cells[c][i] or ""
            local space = (" "):rep(width[c] - wide(text))
            line[c] = right[c] and space .. text or text .. space
        end
        -- Without the blanks at its end: "%s+$" would try each blank of a long indentation.
        out[#out + 1] = table.concat(line, "  "):match "^.*%S" or ""
    end
end

--- Text as one line that a terminal shows: names may come from a file.
fit.safe = safe

--- A line's number; "8+" where it is below 0, a line of the function that begins at 8, and "?"
--- where it is 0: a trace has no more.
function fit.line(line) return line < 0 and -line .. "+" or line > 0 and tostring(line) or "?" end

--- "train.lua:8".
function fit.place(file, line) return ("%s:%s"):format(file, fit.line(line)) end

--- Nanoseconds, which may be below 0, as text: "1.500ms".
function fit.time(ns)
    local size = math.abs(ns)
    if size >= 1e9 then return ("%.3fs"):format(ns / 1e9) end
    if size >= 1e6 then return ("%.3fms"):format(ns / 1e6) end
    return ("%.3fus"):format(ns / 1e3)
end

--- Bytes, which may be below 0, as text: "1.50 GiB".
function fit.bytes(n)
    for i, unit in ipairs { "GiB", "MiB", "KiB" } do
        local size = 1 << 10 * (4 - i)
        if math.abs(n) >= size then return ("%.2f %s"):format(n / size, unit) end
    end
    return ("%d B"):format(n)
end

--- The kind of a list's or a profile's times, and which of a modelled card's are bounds.
function fit.kind(of)
    return of.kind .. (of.at_least
        and "; at least, as nobody measured how long the card takes: " .. of.at_least or "")
end
function fit.times(list) return fit.safe("times: " .. fit.kind(list)) end

--- What is said below the lines of another program's trace.
fit.LINES = "a line is the one that calls; N+: the trace has only the first line of its function, \z
    N; ?: not even that, as outside of functions, and in one that ran when the profiler began"

--- What to write instead of a line that waited so often: that of a loop where it came once.
function fit.advice(advice, times)
    if times ~= 1 then return advice end
    return (advice:gsub("^in a loop ", "it came once in this record; where a loop repeats it, ", 1))
end

--- A part of the whole as text: "12.5%"; "-" of nothing.
function fit.percent(part, of)
    return of > 0 and ("%.1f%%"):format(100 * part / of) or "-"
end

-- "1.2ms to 2.8ms"; the least alone where no more is known.
local function range(least, at_most)
    return fit.time(least) .. (at_most and at_most > least and " to " .. fit.time(at_most) or "")
end

--- What a row of prof:savings() saves: of copies from pageable memory at least that, and where a
--- trace does not say how early batches may come, a range. Of several rows of a line, which go
--- together, one has it.
function fit.saving(row)
    return row.saves and range(row.saves, row.at_most) .. (row.more and " or more" or "")
        or row.mixed and "with its line" or ""
end
--- What a row of prof:verdict() is worth: where streams may have waited for it, or worker processes
--- made batches, a range or a most.
function fit.worth(row)
    if row.unknown and row.at_most then return "at most " .. fit.time(row.at_most) end
    local text = range(row.worth, row.at_most)
    return text .. (row.more and not text:find " to " and " or more" or "")
end
--- What the ranges of lists are that await worker processes.
fit.PACED = "a range ends where batches come as long after the host asks as they did"
--- What is left of the wall time without what saves that, "1.2ms to 2.8ms".
function fit.left(wall, least, at_most)
    return range(wall - math.max(least, at_most or 0), wall - least)
end

--- Why it is at least that, where one of the rows shown says so; nil: none does.
function fit.why_more(rows)
    for _, row in ipairs(rows) do
        if row.saves and row.more then
            return "or more: a copy from pinned memory takes less itself, by how much the record \z
                does not tell"
        end
    end
end

--- Lines of cells, each column as wide as its widest cell or as fits; those in right are aligned
--- there.
function fit.columns(rows, right)
    local out, shown = {}, {}
    for i, row in ipairs(rows) do
        shown[i] = {}
        for c, cell in ipairs(row) do shown[i][c] = safe(cell) end
    end
    local width = widths(shown, right)
    for _, row in ipairs(shown) do add_row(out, row, width, right) end
    return table.concat(out, "\n")
end

local SHOWN <const> = 20 -- rows of a table

--- The lines of a table: the first rows of a list below heads, and how many more there are.
--- cells(row): its cells; all columns but the first `left` ones (1) are aligned on the right.
function fit.table(heads, list, cells, left)
    local rows, right = { heads }, {}
    for c = (left or 1) + 1, #heads do right[c] = true end
    for i = 1, math.min(#list, SHOWN) do rows[i + 1] = cells(list[i]) end
    local out = { fit.columns(rows, right) }
    if #list > SHOWN then out[2] = ("and %d more"):format(#list - SHOWN) end
    return out
end

--- Sorts rows by the fields of these names, the largest first; equal ones keep their order.
function fit.sort(list, ...)
    local keys, order = { ... }, {}
    for i, row in ipairs(list) do order[row] = i end
    table.sort(list, function(a, b)
        for _, key in ipairs(keys) do if a[key] ~= b[key] then return a[key] > b[key] end end
        return order[a] < order[b]
    end)
    return list
end

return fit
