-- The table of linear algebra's routines (kernels/cuda/linalg/routes.def) in Lua: its text, the row
-- that a shape falls under, and how a table is made of measurements. Without a device: for
-- svd_table.lua beside this file, and its test.
local routes = {}

--- The rows of a table's text: {op, dtype, rows, cols, from, to, by}.
function routes.parse(text)
    local list = {}
    for op, dtype, rows, cols, from, to, by in text:gmatch
        "ROUTE%(%s*([%a_]+),%s*(%w+),%s*(%d+),%s*(%d+),%s*(%d+),%s*(%d+),%s*(%w+)%)"
    do
        list[#list + 1] = { op = op, dtype = dtype, rows = math.tointeger(rows),
            cols = math.tointeger(cols), from = math.tointeger(from), to = math.tointeger(to),
            by = by }
    end
    return list
end

--- A table's text; comment: lines for its head.
function routes.text(list, source, comment)
    local lines = { "/* " .. comment .. " */", ('SOURCE("%s")'):format(source),
        "/* clang-format off */" }
    for _, r in ipairs(list) do
        lines[#lines + 1] = ("ROUTE(%s, %s, %d, %d, %d, %d, %s)"):format(r.op, r.dtype, r.rows,
            r.cols, r.from, r.to, r.by)
    end
    return table.concat(lines, "\n") .. "\n/* clang-format on */\n#undef SOURCE\n#undef ROUTE\n"
end

local function within(n, most) return most == 0 or n <= most end

--- The routine for a shape {op, dtype, rows, cols, count}: the first row's that fits and is in
--- `can`, a set. nil: there is none.
function routes.find(list, s, can)
    for _, r in ipairs(list) do
        if r.op == s.op and (r.dtype == "any" or r.dtype == s.dtype) and within(s.rows, r.rows)
            and within(s.cols, r.cols) and s.count >= r.from and within(s.count, r.to)
            and can[r.by]
        then
            return r.by
        end
    end
end

-- ---- from measurements to rows ----

local function least(times)
    local best = math.huge
    for _, t in pairs(times) do best = math.min(best, t) end
    return best
end

-- Sorted values of a field, and where each one's cell ends: halfway to the next, by ratio.
local function axis(list, field, value)
    local seen, values = {}, {}
    for _, m in ipairs(list) do
        local v = m[field]
        if not seen[v] and value(m) then seen[v] = true values[#values + 1] = v end
    end
    table.sort(values)
    local ends = {}
    for i, v in ipairs(values) do
        ends[v] = values[i + 1] and math.max(v, math.floor(math.sqrt(v * values[i + 1]))) or 0
    end
    if field == "count" and values[1] == 1 and values[2] then ends[1] = 1 end -- one is of its own
    return values, ends
end

-- The routine that is best over measurements of one block, neighbours in count, where one is within
-- `slack` of each one's best; nil: none is.
local function shared(run, slack)
    local best, sum
    for by in pairs(run[1].times) do
        local total = 0
        for _, m in ipairs(run) do
            local ratio = m.times[by] and m.times[by] / least(m.times)
            total = total + (ratio and ratio <= slack and ratio or math.huge)
        end
        if total < math.huge and (not sum or total < sum or total == sum and by < best) then
            best, sum = by, total
        end
    end
    return best
end

-- Rows of one block: measurements of the same rows and cols, by count. A row goes on as long as one
-- routine serves its counts.
local function block_rows(block, counts, ends, slack)
    local rows, run, from = {}, {}, 1
    local by_count = {}
    for _, m in ipairs(block) do by_count[m.count] = m end
    local function flush(to)
        if #run > 0 then rows[#rows + 1] = { from = from, to = to, by = shared(run, slack) } end
        run, from = {}, to + 1
    end
    for i, count in ipairs(counts) do
        local m, before = by_count[count], i > 1 and ends[counts[i - 1]] or 0
        if #run > 0 and (not m or not shared({ m, table.unpack(run) }, slack)) then
            flush(before)
        end
        if #run == 0 then from = before + 1 end
        run[#run + 1] = m
    end
    flush(#run > 0 and run[#run].count ~= counts[#counts] and ends[run[#run].count] or 0)
    return rows
end

local function signature(rows)
    local words = {}
    for _, r in ipairs(rows) do words[#words + 1] = ("%d-%d %s"):format(r.from, r.to, r.by) end
    return table.concat(words, ", ")
end

-- Appends the rows of one op and dtype: by columns, then by rows, the smallest first.
local function of_family(list, slack, out)
    local op, dtype = list[1].op, list[1].dtype
    local counts, count_ends = axis(list, "count", function() return true end)
    local widths, width_ends = axis(list, "cols", function() return true end)
    for _, cols in ipairs(widths) do
        local heights, height_ends = axis(list, "rows", function(m) return m.cols == cols end)
        local before
        for _, height in ipairs(heights) do
            local block = {}
            for _, m in ipairs(list) do
                if m.cols == cols and m.rows == height then block[#block + 1] = m end
            end
            local rows = block_rows(block, counts, count_ends, slack)
            if signature(rows) == before then -- the one before ends where this one does
                for _ = 1, #rows do table.remove(out) end
            end
            before = signature(rows)
            for _, r in ipairs(rows) do
                out[#out + 1] = { op = op, dtype = dtype, rows = height_ends[height],
                    cols = width_ends[cols], from = r.from, to = r.to, by = r.by }
            end
        end
    end
end

--- Rows from measurements {op, dtype, rows, cols, count, times = {routine = seconds}}, by which
--- each of them gets a routine within `slack` of its best; then the rows of `rest`, for shapes
--- beyond. A shape between two measured ones has the nearer one's routine.
function routes.make(list, slack, rest)
    local families, order, out = {}, {}, {}
    for _, m in ipairs(list) do
        local key = m.op .. " " .. m.dtype
        if not families[key] then families[key] = {} order[#order + 1] = key end
        table.insert(families[key], m)
    end
    for _, key in ipairs(order) do of_family(families[key], slack, out) end
    return table.move(rest or {}, 1, #(rest or {}), #out + 1, out)
end

--- How a table does over measurements: the worst ratio to the best, its measurement, how many are
--- over `most`, and how many have a routine by it.
function routes.judge(rows, list, most)
    local worst, at, over, known = 0, nil, 0, 0
    for _, m in ipairs(list) do
        local by = routes.find(rows, m, m.times)
        local ratio = by and m.times[by] / least(m.times)
        if ratio then
            known = known + 1
            if ratio > most then over = over + 1 end
            if ratio > worst then worst, at = ratio, m end
        end
    end
    return worst, at, over, known
end

return routes
