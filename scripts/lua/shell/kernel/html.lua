--!plain
-- Values and reports as HTML: matrices as tables, and the tables that reports have in their text.
-- html.of(value, text) -> HTML, or nil where the text says it all. Text that is shown is escaped.
local require = ...
local gpush, native = require "gpush", require "kernel.native"
local html = {}

local marks = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(s) return (native.utf8(tostring(s)):gsub('[&<>"]', marks)) end

local numbers = { nan = true, inf = true, ["-inf"] = true }
local function row_of(cells, tag, columns)
    local out = {}
    for i, cell in ipairs(cells) do
        local span = i == #cells and i < columns and (' colspan="%d"'):format(columns - i + 1) or ""
        local side = (cell:find "^%-?[%d.]" or numbers[cell]) and "right" or "left"
        if cell:find "^%-?[%d.]+ %S+$" then side = side .. ";white-space:nowrap" end -- 136 us
        out[i] = ('<%s style="text-align:%s"%s>%s</%s>'):format(tag, side, span, escaped(cell), tag)
    end
    return "<tr>" .. table.concat(out) .. "</tr>"
end

local function table_of(rows)
    local out = { "<table>", row_of(rows[1], "th", #rows[1]) }
    for i = 2, #rows do out[#out + 1] = row_of(rows[i], "td", #rows[1]) end
    out[#out + 1] = "</table>"
    return table.concat(out)
end

-- ---- Tables in a text ----

-- The cells of a line, which have two blanks or more between them.
local function cells_of(line)
    local out = {}
    for cell in (line .. "  "):gmatch "%s*(.-)%s%s+" do
        if cell ~= "" then out[#out + 1] = cell end
    end
    return out
end

-- Where the columns are under a line of dashes: {first, last} of each.
local function rule_of(line)
    if not line:find "^%-%-%-+  %-" or line:find "[^%- ]" then return nil end
    local out = {}
    for first, dashes in line:gmatch "()(%-+)" do out[#out + 1] = { first, first + #dashes - 1 } end
    return out
end

local function cut(line, rule)
    local out = {}
    for i, place in ipairs(rule) do
        -- characters, of which the rule's dashes are as many
        local from, to = utf8.offset(line, place[1]), utf8.offset(line, place[2] + 1)
        out[i] = from and line:sub(from, (to or #line + 1) - 1):match "^%s*(.-)%s*$" or ""
    end
    return out
end

-- The table that begins at lines[i], and the index after it; nil: there is none.
local function ruled(lines, i)
    local rule = rule_of(lines[i])
    if not rule then return nil end
    local rows = {}
    for k = i + 1, #lines do
        if rule_of(lines[k]) then
            if #rows > 1 then return rows, k + 1 end
        else
            rows[#rows + 1] = cut(lines[k], rule)
        end
    end
end

local LEAST <const> = 4 -- columns of a table that has no rule

local function plain(lines, i)
    local head = cells_of(lines[i])
    if #head < LEAST or #cells_of(lines[i + 1] or "") ~= #head then return nil end
    local rows = { head }
    for k = i + 1, #lines do
        local cells = cells_of(lines[k])
        if #cells > #head or #cells < LEAST then return rows, k end
        rows[#rows + 1] = cells
    end
    return rows, #lines + 1
end

-- A report with its tables, if it has any.
function html.report(text)
    local lines, out, i, found = {}, {}, 1, false
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    while i <= #lines do
        local rows, after = ruled(lines, i)
        if not rows then rows, after = plain(lines, i) end
        if rows then
            out[#out + 1], i, found = table_of(rows), after, true
        else
            out[#out + 1] = lines[i] ~= "" and "<div>" .. escaped(lines[i]) .. "</div>" or ""
            i = i + 1
        end
    end
    return found and table.concat(out) or nil
end

-- ---- Tensors ----

local MOST <const> = 20 -- rows and columns that are shown: the first and last half of more

-- The indices that are shown along a dim of n, and after how many of them the gap is.
local function shown_of(n)
    local out = {}
    for i = 1, math.min(n, MOST) do out[i] = (n <= MOST or i <= MOST // 2) and i or n - MOST + i end
    return out, n > MOST and MOST // 2 or nil
end

local function number(v)
    if v ~= v then return "nan" end -- whatever its sign
    if math.type(v) == "float" then return ("%.5g"):format(v) end
    return tostring(v)
end

local function tensor(t)
    if t.ndim < 1 or t.ndim > 2 or t:numel() == 0 then return nil end
    local matrix = t:detach()
    if t.ndim == 1 then matrix = matrix:unsqueeze(1) end
    local down, gap = shown_of(matrix.shape[1])
    local across, gap_across = shown_of(matrix.shape[2])
    local device = { device = t.device }
    local values = matrix:index_select(1, gpush.tensor(down, device))
        :index_select(2, gpush.tensor(across, device)):tolist()
    local rows = { { "" } }
    local function add(row, text, k)
        row[#row + 1] = text
        if k == gap_across then row[#row + 1] = "…" end
    end
    for k, i in ipairs(across) do add(rows[1], tostring(i), k) end
    for k, line in ipairs(values) do
        local row = { tostring(down[k]) }
        for c, v in ipairs(line) do add(row, number(v), c) end
        rows[#rows + 1] = row
        if k == gap then rows[#rows + 1] = { "⋮" } end
    end
    return ("<div>%s %s %s</div>"):format(t.dtype, table.concat(t.shape, "x"), escaped(t.device)) ..
        table_of(rows)
end

local LONGEST <const> = 1 << 20 -- bytes of a text that is looked at for tables

function html.is_profile(value)
    local meta = debug.getmetatable(value)
    return type(value) == "userdata" and type(meta) == "table" and meta.__name == "gpush.profile"
end

-- A page in a frame.
function html.frame(page)
    return ('<iframe sandbox="allow-scripts" style="width:100%%;height:40em;border:0" \z
        srcdoc="%s"></iframe>'):format(escaped(page))
end

function html.of(value, text)
    if gpush.is_tensor(value) then return tensor(value) end
    local meta = debug.getmetatable(value)
    if html.is_profile(value) then
        local rows = html.report(value:table { limit = 20 })
        return "<div>" .. escaped(text) .. "</div>" .. (rows or "")
    end
    if #text > LONGEST then return nil end
    local report = type(value) == "table" and type(meta) == "table" and rawget(meta, "__tostring")
    return report and html.report(text) or nil
end

return html
