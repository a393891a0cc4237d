--!plain
-- Writes x[…] in Lua, for translate.lua: of tensors, where Python's ranges and None stand in a text
-- or a table, of texts and lists, and of calls that return several values.
local require = ...
local gpush, translate = require "gpush", require "shell.translate"
local emit, kind, path, say, note = translate.expression, translate.kind, translate.path,
    translate.say, translate.note
local counts, known = require "shell.counts", require "shell.known"
local literal, plus, position = counts.literal, counts.plus, counts.position
local from_end, shifted, COUNT = counts.from_end, counts.shifted, counts.COUNT

local KEYS <const> = "the dict has Python's keys: indices that count from 1 need - 1"

local function missing(node)
    return not node or node[1] == "constant" and node[2] == "nil"
end

-- Julia's and MATLAB's last index, a word of Lua's: -1 for Julia's end, -3 for end-2.
local function last_index(node)
    local of = node and node[1] == "binary" and node[3] or node
    if not of or of[1] ~= "name" or of[2] ~= "end_" or translate.told "end_"
        or translate.value "end_" ~= nil or kind(of) ~= nil then
        return node
    end
    local n = of == node and 0 or node[2] == "-" and literal(node[4])
    if n and translate.language() then return { "unary", "-", { "number", tostring(n + 1) } } end
    say 'the last index is -1, and indices count from 1: x[-1], x["2:-1"]'
end

-- A range as its first, last and step: texts, or "" where it has none.
local function bounds(node)
    local a, b, c = node[2], node[3], node[4]
    local from, to = "", ""
    if c and translate.language() then b, c = c, b end -- first:step:last
    a, b = last_index(a), last_index(b)
    if translate.language() then
        return a and emit(a) or "", b and emit(b) or "", c and emit(c) or ""
    end
    if a or b then note(COUNT) end
    if not missing(a) then
        if counts.may_wrap(a) then say "a bound counts from 1, or from -1 at the end" end
        from = from_end(a) and emit(a) or plus(a, 1, true)
    end
    if not missing(b) then
        local low, high = known.bounds(b)
        if known.number(b) == 0 or low and low <= 0 and high >= 0 then
            say "an empty range: x[:0] has no form here"
        end
        to = from_end(b) and plus(b, -1) or plus(b, 0, true)
    end
    return from, to, missing(c) and "" or emit(c)
end

local function in_table(from, to, step)
    if from .. to .. step == "" then return "{}" end
    if step == "" then
        return ("{%s, %s}"):format(from == "" and "1" or from, to == "" and "-1" or to)
    end
    return ("{%s, %s, %s}"):format(from == "" and "1" or from, to == "" and "-1" or to, step)
end

-- One of the indices: in a text, nil where a text cannot say it, and as a value; length: that of
-- its dim, nil where the dim is not known.
local function index_part(node, length)
    node = last_index(node)
    if counts.may_wrap(node) then
        return nil, length and counts.place(length, node) or say "an index counts from 1, or from \z
            -1 at the end"
    end
    if node[1] == "ellipsis" then return "...", '"..."' end
    if missing(node) or (path(node) or ""):find "newaxis$" then return "new", '"new"' end
    if node[1] == "constant" then
        say "a bool is no index: \"new\" adds a dim, x[mask] chooses"
    end
    if node[1] == "range" then
        local from, to, step = bounds(node)
        local text = from .. ":" .. to .. (step ~= "" and ":" .. step or "")
        return text:find "^[%d:-]*$" and text or nil, in_table(from, to, step)
    end
    local known = node[1] == "name" and translate.value(node[2])
    local labels = gpush.is_tensor(known) and known.dtype:find "^[iu]%d"
    local value = labels and translate.beside_index(node) or shifted(node)
    return literal(node) and value or nil, value
end

local function reversing(node)
    local julia = translate.language() and node[1] == "range" and node[4]
    if julia then return (literal(node[3]) or 1) < 0 end -- last:step:first
    return node[1] == "range" and node[4] and (literal(node[4]) or 1) < 0
end

local of_tensor

-- x[:, ::-1] is a flip, to which the other indices are applied: x[::2, ::-1].
local function flipped(base, items)
    local dims, dim, behind, rest, more = {}, 0, false, {}, false
    local of_dims = 0 -- how many of the indices have a dim
    local function has_dim(item)
        return not missing(item) and not (path(item) or ""):find "newaxis$"
    end
    for _, item in ipairs(items) do of_dims = of_dims + (has_dim(item) and 1 or 0) end
    for i, item in ipairs(items) do
        if has_dim(item) then dim = dim + 1 end
        behind = behind or item[1] == "ellipsis"
        rest[i] = item
        local n = reversing(item) and literal(item[4])
        if reversing(item) then
            local whole = translate.language() and literal(item[3]) == -1 and literal(item[4]) == 1
                and literal(last_index(item[2])) == -1
            if whole then n = -1
            elseif item[2] or item[3] or not n or translate.language() then
                say "a negative step: x:flip(dim), and a range of it"
            end
            dims[#dims + 1] = behind and dim - of_dims - 1 or dim
            rest[i] = { "range", nil, nil, n < -1 and { "number", tostring(-n) } or nil }
        elseif kind(item) == "tensor" and translate.is_mask(item) then
            say "a negative step: x:flip(dim), and the other indices after it"
        end
        local all = rest[i][1] == "ellipsis"
            or rest[i][1] == "range" and not (rest[i][2] or rest[i][3] or rest[i][4])
        more = more or not all
    end
    note(COUNT)
    base = ("%s:flip(%s)"):format(base, table.concat(dims, ", "))
    return more and of_tensor(base, rest) or base
end

function of_tensor(base, items)
    for _, item in ipairs(items) do if reversing(item) then return flipped(base, items) end end
    local texts, list, plain, ranges = {}, {}, true, false
    local of = items[1][1] == "range" and base:find "^[%a_][%w_]*$" and translate.of_loop(base)
    if of == "unknown" then
        note("of a tensor: of a list {table.unpack(t, 2)}, of a text s:sub(2)", true)
    end
    local free = #items == 1 and kind(items[1]) == "number" and base:find "^[%a_][%w_]*$"
    if free and translate.of_loop(base) == "unknown" then
        note(("indices count from 1; of a text %s:sub(i, i)"):format(base))
    end
    if translate.language() and #items == 1 and (known.rank(items[1]) or 0) > 1 then
        note "row by row: there, column by column"
    end
    local before = true -- whether each index before has a dim of its own
    for i, item in ipairs(items) do
        local length = before and (i == 1 and "#" .. base or ("%s:size(%d)"):format(base, i))
        texts[i], list[i] = index_part(item, length)
        before = before and (item[1] == "range" or kind(item) == "number")
        plain = plain and texts[i] ~= nil
        ranges = ranges or item[1] == "range" or not (texts[i] or "1"):find "^-?%d+$"
    end
    if #items == 1 and not ranges then return ("%s[%s]"):format(base, list[1]) end
    if plain and ranges then return ('%s["%s"]'):format(base, table.concat(texts, ", ")) end
    if #items == 1 and items[1][1] ~= "range" then return ("%s[%s]"):format(base, list[1]) end
    return (ranges and "%s[{ %s }]" or "%s[{%s}]"):format(base, table.concat(list, ", "))
end

-- A text's or list's part, and its members.
local function of_string(base, item)
    if item[1] ~= "range" then
        local at = position(item)
        return ("%s:sub(%s, %s)"):format(base, at, at)
    end
    if reversing(item) and not item[2] and not item[3] then return base .. ":reverse()" end
    local from, to, step = bounds(item)
    if step ~= "" then say "a range of a text has no step in Lua" end
    note(COUNT)
    return ("%s:sub(%s%s)"):format(base, from == "" and "1" or from, to == "" and "" or ", " .. to)
end

-- The text that f gives of the list's text, which stands in a variable where it is more than the
-- members of one: it is read several times.
local function read_often(base, f)
    if not base:find "[^%w_.%[%]# +*-]" then return f(base) end
    local t = translate.unused "t"
    return ("(function(%s) return %s end)(%s)"):format(t, f(t), base), 14
end

-- A bound of a range of the list, from its first element or its end.
local function bound(length, node, n)
    if translate.language() then
        return from_end(node) and plus(counts.after({ "raw", length }, node), 1) or emit(node)
    end
    return from_end(node) and plus(counts.after({ "raw", length }, node), n) or plus(node, n, true)
end

local function range_of_list(base, item)
    local _, _, step = bounds(item)
    local a, b = not missing(item[2]) and item[2], not missing(item[3]) and item[3]
    if translate.language() then
        if item[4] then b = item[4] end -- first:step:last
        a, b = a and last_index(a), b and last_index(b)
    end
    if step ~= "" then
        local back = reversing(item)
        local whole = translate.language() and a and literal(a) == -1 and b and literal(b) == 1
        if back and (a or b) and not whole then say "a range of a list backwards: a loop" end
        local t = translate.unused "t"
        local from = a and bound("#" .. t, a, 1) or "1"
        if a and from_end(a) then from = ("math.max(%s, 1)"):format(from) end
        local to = b and ("math.min(%s, #%s)"):format(bound("#" .. t, b, 0), t) or "#" .. t
        return translate.renamed("(function(t) local r = {} for i = %s, %s, %s do \z
            r[#r + 1] = t[i] end return r end)(%s)", "t r i"):format(back and "#" .. t or from,
            back and "1" or to, step, base)
    end
    if not translate.language() then note(COUNT) end
    local function part(list)
        local length = known.length(item.of)
        local first = a and bound("#" .. list, a, 1) or "1"
        local n = a and known.number(a)
        if a and from_end(a) and not (length and n and length + n >= 0) then
            first = ("math.max(%s, 1)"):format(first) -- Python's begins with the first at least
        end
        return ("{table.unpack(%s, %s%s)}"):format(list, first,
            b and ", " .. bound("#" .. list, b, 0) or "")
    end
    if a and from_end(a) or b and from_end(b) then
        local text, level = read_often(base, part)
        return text, level or 13
    end
    return part(base), 13
end

-- A condition as an index: ("no", "yes")[n > 2].
local function by_condition(base, item, list)
    if (list[1] == "list" or list[1] == "tuple") and #list == 3 then
        return emit { "choice", list[3], item, list[2] }
    end
    return ("%s[%s and 2 or 1]"):format(base, (translate.condition(item)))
end

local function of_list(base, item, shape, array, list)
    if item[1] == "range" then
        item.of = list
        return range_of_list(base, item)
    end
    if translate.language() then item = last_index(item) end
    if kind(item) == "boolean" or kind(item) == "tensor" and translate.is_mask(item) then
        return by_condition(base, item, list)
    end
    if array and kind(item) == nil then return ("%s[%s]"):format(base, (plus(item, 1))) end
    if kind(item) == "tensor" and not shape then -- a table has no tensors for keys
        local label = item[1] == "name" and translate.of_loop(item[2])
        if label and not translate.is_index(item) then
            say "labels[i:item()], or + 1 where the tensor's numbers count from 0"
        end
        return ("%s[(%s):item()]"):format(base, (translate.beside_index(item)))
    end
    if translate.counted() and not translate.language() then note(COUNT) end
    if kind(item) ~= "number" or shape then return ("%s[%s]"):format(base, (position(item))) end
    if not counts.from_end(item) and not counts.may_wrap(item) and item[1] ~= "choice" then
        return ("%s[%s]"):format(base, counts.place("#" .. base, item))
    end
    return read_often(base, function(t)
        return ("%s[%s]"):format(t, counts.place("#" .. t, item))
    end)
end

-- Whether the expression is a sample of a data set, which is several values here: ds[0].
function translate.is_sample(node)
    return node[1] == "index" and #node[3] == 1 and node[3][1][1] ~= "range"
        and require "shell.loops".is_dataset(node[2])
end

-- Methods that return values and indices, which PyTorch has as one value of two fields.
local pairs_of = { values = 1, indices = 2, [0] = 1, 2, 3, eigenvalues = 1, eigenvectors = 2,
    L = 1, info = 2, inverse = 1, LU = 1, pivots = 2, sign = 1, logabsdet = 2,
    U = 1, S = 2, Vh = 3, Q = 1, R = 2, real = 1, imag = 2, mantissa = 1,
    exponent = 2, solution = 1, hist = 1, bin_edges = 2 }
local several = {}
for name in ("svd qr eigh lu slogdet eigvals triangular_solve frexp histogram std_mean var_mean \z
    aminmax lstsq lstm gru lu_factor cholesky_ex inv_ex pad_packed_sequence"):gmatch "%S+" do
    several[name] = true
end
translate.several = several
-- The value that key names, x.max(1).values or x.max(1)[0]; nil for any other value.
function translate.part_of(node, key)
    local which, first = pairs_of[key], node
    local states = (key == 0 or key == 1) and node[1] == "index" and #node[3] == 1
        and literal(node[3][1]) == 1 and node[2]
    if states and states[1] == "call" and translate.layer(states[2]):find "LSTM$" then
        return ("(select(%d, %s))"):format(key + 2, (emit(states))) -- lstm(x)[1][0]
    end
    if math.type(key) and key >= 0 and translate.is_sample(node) then -- ds[0][1]
        local text = emit(node)
        return key == 0 and "(" .. text .. ")" or ("(select(%d, %s))"):format(key + 1, text)
    end
    node = translate.origin(node)
    local call = node[1] == "call" and node[2]
    local name = call and (call[1] == "field" and call[3] or call[2])
    local layer = call and (call[1] == "call" or call[1] == "name") and translate.layer(call) or ""
    if layer:find "%u" then -- nn.LSTM(4, 5)(x)[0]
        name = layer:find "LSTM$" and "lstm" or (layer:find "GRU$" or layer:find "RNN$"
            or layer:find "MultiheadAttention$") and "gru"
    end
    for _, a in ipairs(call and call[1] == "name" and node[3] or {}) do
        if a[1] == "named" and a[2] == "key" then return nil end -- Python's max and min
    end
    if name == "eig" and which then
        say "linalg.eig gives four tensors: re and im of the values, re and im of the vectors"
    end
    local told, inverse = name == "unique" or name == "unique_consecutive", false
    for _, a in ipairs(told and node[3] or {}) do -- return_inverse, return_counts
        if a[1] == "named" and a[2]:find "^return_" then told = "several" end
        inverse = inverse or a[1] == "named" and a[2] == "return_inverse"
    end
    if name == "aminmax" then which = ({ min = 1, max = 2 })[key] or which end
    if not which then return nil end
    local two = translate.gives_indices(node)
    if two and math.type(key) and translate.of_axis(node) then -- axis= is NumPy's word, too
        if not translate.is_numpys(call[2]) then
            say(("PyTorch gives %s, NumPy a row of its one array: dim=, or np.%s, says which")
                :format(key == 0 and "the values" or "the indices", name))
        end
        two = false
    end
    if not (several[name] or told == "several" or two) then return nil end
    local text = emit(node)
    local group = call[1] == "name" and gpush[name] == nil and rawget(gpush.linalg, name)
    if group and text:find("^" .. name) then text = "linalg." .. text end -- Julia's svd(A).S
    if inverse and which == 2 then note(COUNT) end
    if which == 1 and first ~= node then return (emit(first)) end -- top = x.topk(2): the values
    return which == 1 and "(" .. text .. ")" or ("(select(%d, %s))"):format(which, text)
end

-- The indices that are between the brackets: each of a tuple's, slice(0, 2) as 0:2, and True as
-- None, which is the same where it is the only one.
local function items_of(node)
    local items = node[3]
    local of = #items == 1 and known.bare(items[1])
    if of and of[1] == "tuple" then
        local name = of ~= items[1] and items[1]
        items = { table.unpack(of, 2) }
        for i, item in ipairs(name and items or {}) do
            local number = kind(item) == "number" and not translate.is_index(of)
            items[i] = number and { "index", name, { { "number", tostring(i - 1) } } } or item
        end
    end
    items = { table.unpack(items) }
    if #items == 1 and items[1][1] == "constant" and items[1][2] == "true"
        and kind(node[2]) ~= "table" then
        items[1] = { "constant", "nil" }
    end
    local list = of and of[1] == "call" and path(of[2]) == "tuple" and of[3][1]
    if list and kind(list) == "tensor" then -- x[tuple(t)]: a tensor of indices a dim
        items[1] = { "call", { "field", { "paren", { "raw", (translate.beside_index(list)) } },
            "unbind" }, { { "number", "0" } } }
        items[1] = { "raw", emit(items[1]), kind = "table" }
    end
    for i, item in ipairs(items) do
        if item[1] == "call" and path(item[2]) == "slice" then
            local a, b, c = table.unpack(item[3])
            if a[1] == "star" then say "a range stands in the index: x[\"1:3\"]" end
            items[i] = { "range", b and a or nil, b or a, c }
        end
    end
    return items
end

-- sys.argv[1] and sys.argv[1:], the arguments after the script, which is arg[0].
local function of_argv(item)
    local function place(of, n) -- n: 1 of an index, 0 of the last of a range
        if not from_end(of) then return (plus(of, n - 1)) end
        return (plus(counts.after({ "raw", "#arg" }, of), n))
    end
    if item[1] ~= "range" then return ("arg[%s]"):format(place(item, 1)) end
    local a, b = not missing(item[2]) and item[2], not missing(item[3]) and item[3]
    if not missing(item[4]) then say "a range with a step: a loop" end
    if a and literal(a) == 1 and not b then return "arg" end
    local first = a and place(a, 1) or "0"
    if a and from_end(a) then first = ("math.max(%s, 0)"):format(first) end
    return ("{table.unpack(arg, %s%s)}"):format(first, b and ", " .. place(b, 0) or ""), 13
end

function translate.write.index(node)
    local items = items_of(node)
    if translate.is_argv(node[2]) and #items == 1 then return of_argv(items[1]) end
    local pair = translate.part_of(node[2], #items == 1 and literal(items[1]))
    if pair then return pair end
    require "shell.complex".index(node)
    local shape = translate.is_shape(node[2])
    local base = emit(node[2], 14)
    if translate.is_sample(node) then
        return ("%s:get(%s)"):format(base, counts.place("#" .. base, items[1]))
    end
    if #items == 1 and items[1][1] == "range" and translate.layer(node[2]):find "Sequential$" then
        items[1].of = node[2]
        return "nn.Sequential(" .. range_of_list(base, items[1]):sub(2, -2) .. ")"
    end
    if #items == 1 then
        local item, k = items[1], kind(node[2]) or translate.in_list(node[2]) and "table" or nil
        if item[1] == "string" then return ("%s[%s]"):format(base, (emit(item))) end
        if k == "string" then return of_string(base, item) end
        local last = k == nil and node[2][1] == "name" and (literal(item) or 0) < 0
        local v = node[2][1] == "name" and translate.value(node[2][2])
        local array = type(v) == "table" and getmetatable(v) == nil and translate.is_list(v)
        if require "shell.loops".is_dict(node[2]) then
            local first = (known.entries(node[2]) or {})[1]
            local truth = first and first[1][1] == "constant" -- {True: 1, False: 2}[n > 2]
            if truth then return ("%s[%s]"):format(base, (emit(item))) end
            if counts.open_label(item) then note(KEYS, true) end
            return ("%s[%s]"):format(base, (emit(translate.from_zero(item))))
        end
        if k == "table" or last then return of_list(base, item, shape, array, node[2]) end
    end
    return of_tensor(base, items)
end
