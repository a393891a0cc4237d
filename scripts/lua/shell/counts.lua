--!plain
-- Writes numbers that count from 0 in Python and from 1 here, for the other parts: indices, dims,
-- and the bounds of ranges, which include their end. A number that stands in the line is made one
-- more; what is not known to be a number stays, with a note.
local require = ...
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, path, note = translate.expression, translate.kind, translate.path, translate.note
local counts = {} -- operators.lua adds open_label, which asks of tensors
local counted, origin, known = translate.counted, translate.origin, require "shell.known"

local DIMS <const> = "dims count from 1"
local FLAT <const> = "without an axis it is of all elements in a row: give it x:flatten()"
local OPEN <const> = "indices count from 1: a tensor of labels that count from 0 needs + 1"
local COUNT <const> = "indices count from 1, and a range includes its end"
local LENGTH <const> = "the bound is a length here: one of indices that count from 1 needs - 1"

local function literal(node)
    if node[1] == "paren" then return literal(node[2]) end
    if node[1] == "unary" and node[2] == "-" then
        local n = literal(node[3])
        return n and -n
    end
    return node[1] == "number" and math.tointeger(tonumber(node[2]))
end

-- ---- values that count from 1 already ----

local function names(text)
    local out = {}
    for name in text:gmatch "%a[%w_]*" do out[name] = true end
    return out
end
-- Methods and functions whose result has the numbers of the first argument.
local kept = names "item tolist cpu cuda numpy to type astype long int clone detach copy \z
    pin_memory flip roll repeat tile ravel unbind split chunk cat stack concatenate tensor \z
    as_tensor array asarray from_numpy list tuple sorted reversed set T mT copy_ squeeze_ \z
    unsqueeze_"
local own_max = names "max min" -- Python's, of numbers

-- Whether the call has the option, and it is true.
local function asks(call, option)
    for _, a in ipairs(call[3]) do
        if a[1] == "named" and a[2] == option then return a[3][2] ~= "false" end
    end
    return false
end

-- Whether the call is of NumPy's function, whose sort, max or median gives one array.
local function is_numpy(f)
    local full = path(f)
    return full and elsewhere.is_package(full, translate.value)
        and elsewhere.keys(full)[2] ~= nil
end

-- Whether the call's second result is indices: x.max(1), torch.topk(x, 2), a pool's.
local function gives_indices(node)
    node = origin(node)
    local f = node[1] == "call" and node[2]
    local name = f and (f[3] or f[2])
    return f and (elsewhere.indices(name) == 2 and not is_numpy(f)
        or asks(node, "return_indices")
        or asks(node, "return_inverse")
        or type(name) == "string" and name:find "_with_indices$" ~= nil)
end
translate.gives_indices = gives_indices

-- Whether it is x.max(axis=1) or the like, which PyTorch and NumPy have: with an index NumPy's,
-- which gives values only.
local function of_axis(node)
    node = origin(node)
    for _, a in ipairs(node[1] == "call" and node[3] or {}) do
        if a[1] == "named" and a[2] == "axis" then return true end
    end
    return false
end
translate.of_axis = of_axis

-- Whether the numbers that the expression gives count from 1 here and from 0 in Python: those of
-- x.argmax(1), x.max(1)[1].tolist(), a loop's variable over such a list.
local is_index
local function each_is_index(list, from)
    for i = from, #list do if not is_index(list[i]) then return false end end
    return #list >= from
end

-- The list whose elements the name stands for in the loop.
local function iterated(l, name)
    local targets, over = l.targets, l.over
    if targets[1][1] == "tuple" then targets = { table.unpack(targets[1], 2) } end
    local f = over[1] == "call" and path(over[2])
    for i, t in ipairs(targets) do
        if t[2] == name then
            return f == "zip" and over[3][i] or f == "enumerate" and over[3][i - 1] or over
        end
    end
end

-- The same of a call.
local function call_is_index(f, args)
    local name = f[3] or f[2]
    if f[1] == "name" then
        return (kept[name] or own_max[name]) and args[1] ~= nil
            and (own_max[name] and each_is_index(args, 1) or is_index(args[1]))
    end
    if elsewhere.indices(name) == 1 or name == "permutation" or name == "flatnonzero"
        or name == "where" and #args == 1 then
        return true
    end
    if name == "where" and #args == 3 then return is_index(args[2]) and is_index(args[3]) end
    if not kept[name] and (elsewhere.ops()[name] or {}).kind ~= "view" then return false end
    return is_index(f[2]) or args[1] ~= nil and path(f) ~= nil and is_index(args[1])
end

function is_index(node)
    local k, base = node[1], node[2]
    if translate.language() then return false end -- its indices are numbers as here
    if k == "name" then return translate.from_one(base) end
    local second = k == "index" and literal(node[3][1]) == 1 and not of_axis(base)
        or k == "field" and node[3] == "indices"
    if second and gives_indices(base) then return true end
    if k == "paren" or k == "index" or k == "star" or k == "field" and kept[node[3]] then
        return is_index(base)
    end
    if k == "list" or k == "tuple" then return each_is_index(node, 2) end
    if k == "choice" then return is_index(base) and is_index(node[4]) end
    if k == "comprehension" then
        local value = base == "dict" and node[4] or node[3]
        for _, l in ipairs(value[1] == "name" and node.loops or {}) do
            local over = iterated(l, value[2])
            if over then return is_index(over) end
        end
        return is_index(value)
    end
    return k == "call" and call_is_index(base, node[3])
end
translate.is_index = is_index

-- Whether the last of the statements that sets the variable sets it to indices: p = x.argmax(1),
-- _, p = x.max(1).
function counts.sets_index(nodes, name)
    local found = false
    for _, node in ipairs(nodes) do
        local list = node[1] == "assign" and node[2][1] or {}
        if #list == 1 and list[1][1] == "tuple" then list = { table.unpack(list[1], 2) } end
        for k, t in ipairs(list) do
            local v = #node[3] == #list and node[3][k]
            if t[2] == name then
                found = v and is_index(v)
                    or k == 2 and #node[3] == 1 and gives_indices(node[3][1]) or false
            end
        end
    end
    return found
end

-- The text of node + n, with the sum of numbers at its end made; length: a bound of a range, which
-- is a number of elements where a tensor holds it.
local function plus(node, n, length)
    local value = literal(node)
    if value then return tostring(value + n), value + n < 0 and 11 or 14 end
    if node[1] == "paren" then return plus(node[2], n, length) end
    local right = node[1] == "binary" and (node[2] == "+" or node[2] == "-") and literal(node[4])
    if right then
        local classes = node[2] == "+" and emit(node[3]):find "%f[%w]max%(" -- y.max() + 1
        return plus(node[3], n + (node[2] == "-" and -right or right), length and not classes)
    end
    local one = node[1] == "name" and translate.of_loop(node[2]) == "one"
    local open = not one and not is_index(node) and counts.open_label(node)
    if open then note(length and LENGTH or OPEN, true) end
    if one or open and not length or is_index(node) then n = n - 1 end
    local text = one and node[2] or emit(node, 9)
    if n == 0 then return text, 9 end
    return ("%s %s %d"):format(text, n < 0 and "-" or "+", math.abs(n)), 9
end

-- Raises words for lens - 1 as an index, where it is not known whether the tensor holds lengths, of
-- which that is the last element, or indices, which count from 1 here.
local function check_less(node)
    local of = known.bare(node)
    local k, base = of[1], of[2]
    if k == "index" then return check_less(base) end
    if k == "call" and base[1] == "field" then return check_less(base[2]) end
    local number = k == "call" and (base[2] == "int" or base[2] == "list") and of[3][1]
    if number then return check_less(number) end
    local n = k == "binary" and base == "-" and literal(of[4])
    if not n or n < 1 or counted() or is_index(of[3]) then return end
    if not counts.open_label(of[3]) then return end
    translate.say(("%s as an index: of lengths it is %s; of indices, which count from 1, it stays")
        :format(emit(of), (plus(of, 1, true))))
end

-- Whether the number counts from the end: what is known to be negative, and -n of another n.
local function from_end(node)
    local n = known.number(node)
    if n then return n < 0 end
    local _, high = known.bounds(node)
    if high then return high < 0 end
    node = origin(node)
    if node[1] == "unary" and node[2] == "-" then return true end
    return node[1] == "binary" and node[2] == "-" and from_end(node[3]) -- -1 - i
end

local may_wrap
-- A dim or an index of a number; what is not known to be one stays, with a note.
local function position(node, words)
    if node[1] == "constant" or counted() then return emit(node) end
    if is_index(node) then
        note(words or COUNT)
        return emit(node)
    end
    local k = kind(node)
    if not words then check_less(node) end
    if words and may_wrap(node) then
        local text = emit(node, 4)
        note(words)
        return ("%s < 0 and %s or %s"):format(text, text, (plus(node, 1))), 1
    end
    if k == "number" and from_end(node) or k == "tensor" and words then return emit(node) end
    if node[1] == "choice" then
        return emit { "choice", { "raw", (position(node[2], words)) }, node[3],
            { "raw", (position(node[4], words)) } }
    end
    local of_loop = k == "tensor" and node[1] == "name" and translate.of_loop(node[2])
    local open = of_loop == "open" and not words
    note(open and OPEN or words or COUNT, open)
    if of_loop == "zeros" and not words then return plus(node, 1) end
    local computed = node[1] == "binary" and literal(node[4])
        and (not words or node[2] == "+" or node[2] == "-")
    if k == "number" or computed then return plus(node, 1) end
    local member = k == nil and (node[1] == "index" and kind(node[2]) == "table"
        or node[1] == "name" and translate.of_loop(node[2]) == "unknown")
    if member or k == "table" and node[1] == "name" and not words then -- of what is not known
        translate.say(words or COUNT)
    end
    return emit(node)
end

-- The negative number as one from the end of a list, whose length is an expression.
local function after(length, node)
    local n = literal(node)
    if n then return { "binary", "+", length, { "number", tostring(n) } } end
    if node[1] == "paren" then return after(length, node[2]) end
    if node[1] == "unary" then return { "binary", "-", length, node[3] } end
    if node[1] == "binary" then return { "binary", "-", after(length, node[3]), node[4] } end
    return { "binary", "+", length, node }
end

-- Whether the number is negative for some values of a loop's variable, and not for others.
function may_wrap(node)
    local low, high = known.bounds(node)
    return low ~= nil and low < 0 and high >= 0
end

-- The place in a list, or along a dim, of the length, for Python's, which counts from the end where
-- it is negative.
local place
function place(length, node)
    if node[1] == "paren" and node[2][1] == "choice" then return place(length, node[2]) end
    if node[1] == "choice" then
        return emit { "choice", { "raw", (place(length, node[2])), kind = "number" }, node[3],
            { "raw", (place(length, node[4])), kind = "number" } }
    end
    if may_wrap(node) then return ("(%s) %% %s + 1"):format(plus(node, 0), length) end
    if not from_end(node) then return (position(node)) end
    return (plus(after({ "raw", length }, node), 1))
end

local ZERO <const>, ONE <const> = { "number", "0" }, { "number", "1" }
local LISTS <const> = { tuple = true, list = true, reversed = true, sorted = true }
local raised

-- [0, *others, [1]]
local function raised_each(node, words)
    local out = { node[1] }
    for i = 2, #node do
        local v = node[i]
        out[i] = v[1] == "star" and { "star", raised(v[2], words) or v[2] }
            or raised(v, words) or { "raw", (position(v, words)) }
    end
    return out
end

-- range(…), unless its first number counts from the end.
local function raised_range(node)
    local first, last, step = table.unpack(node[3])
    if not last then first, last = ZERO, first end
    return not from_end(first) and { "call", node[2], { { "raw", (plus(first, 1)) },
        { "binary", "+", last, ONE }, step } }
end

-- Whether each value of the comprehension is one of a range, or more, and so none is negative.
local function of_ranges(node)
    for _, l in ipairs(node.loops) do
        if path(l.over[2]) ~= "range" or from_end(l.over[3][1]) then return false end
    end
    return node[3][1] == "name" or node[3][1] == "binary" and node[3][2] == "+"
end

local COMPUTED <const> = { comprehension = true, binary = true, index = true, list = true,
    tuple = true, call = true }

-- The list of indices, or of dims, whose words are given, that the expression makes, with its
-- numbers counted from 1: an expression. nil of any other value.
function raised(node, words)
    local k, name = node[1], node[1] == "call" and path(node[2])
    if counted() or kind(node) ~= "table" or is_index(node) then return nil end
    if k == "paren" then return raised(node[2], words) end
    if k == "list" or k == "tuple" then return raised_each(node, words) end
    if LISTS[name] and #node[3] == 1 then
        local of = raised(node[3][1], words)
        return of and { "call", node[2], { of } }
    end
    local over = k == "comprehension" and node.loops[1].over[2]
    local known = not (over and over[3] == "tolist") and (words or name == "range"
        or k ~= "call" and COMPUTED[origin(node)[1]])
    if not known then return nil end
    note(words or COUNT)
    local range = name == "range" and raised_range(node)
    if range then return range end
    if over and of_ranges(node) then
        return { k, node[2], { "binary", "+", node[3], ONE }, loops = node.loops }
    end
    local v = translate.unused "v" -- a negative number counts from the end
    return { "comprehension", "list", { "raw", ("%s < 0 and %s or %s + 1"):format(v, v, v) },
        loops = { { targets = { { "name", v } }, over = node } } }
end

local function dims(node)
    local list = raised(node, DIMS)
    if list then return emit(list) end
    return position(node, DIMS)
end

-- An exclusive upper bound as an inclusive one.
local function stop(node) return plus(node, -1, true) end

local ARITHMETIC <const> = { ["+"] = true, ["-"] = true, ["*"] = true, ["//"] = true, ["%"] = true }
local KEEP <const> = names "cat stack flip roll sort unique squeeze unsqueeze clone flatten reshape"
local constructors = { tensor = true, zeros = true, ones = true, full = true, arange = true,
    randint = true }

-- Whether numbers are made in place: torch.tensor([0, 2]).long()[:, None]; no mask, and no indices
-- of gpush's own, as argmax's.
-- Methods that make numbers of a mask.
local OF_MASKS <const> = names "long int short sum cumsum count_nonzero"

local made_in_place
-- The same as an operand: arithmetic takes gpush's indices less one.
local function from_zero(node)
    return made_in_place(node) or is_index(node) and kind(node) == "tensor"
        or counts.from_zero(node)
end

function made_in_place(node)
    node = known.bare(node)
    if node[1] == "field" then return node[3] == "T" and made_in_place(node[2]) end
    if node[1] == "unary" then return node[2] == "-" and from_zero(node[3]) end
    if node[1] == "binary" then
        local a, b = node[3], node[4]
        local left, right = from_zero(a), from_zero(b)
        local mask = translate.is_mask(a) and kind(b) == "number"
            or translate.is_mask(b) and kind(a) == "number"
        if not ARITHMETIC[node[2]] then return false end
        return mask or (left or right) and (left or kind(a) == "number")
            and (right or kind(b) == "number")
    end
    local f = node[1] == "index" and node or node[1] == "call" and node[2]
    if not f then return false end
    local name = path(f)
    local first = node[1] == "call" and name and elsewhere.is_package(name, translate.value)
        and KEEP[elsewhere.canonical(name)] and node[3][1]
    if first and first[1] ~= "list" and first[1] ~= "tuple" then return made_in_place(first) end
    if first then
        for i = 2, #first do if not made_in_place(first[i]) then return false end end
        return #first > 1
    end
    if node[1] == "call" and name and constructors[elsewhere.canonical(name)] then
        local first = node[3][1]
        local boolean = first and (first[1] == "list" and first[2] or first)[1] == "constant"
        for _, a in ipairs(node[3]) do
            boolean = boolean or a[1] == "named" and (path(a[3]) or ""):find "bool$"
        end
        return not boolean
    end
    local method = node[1] == "call" and (f[1] == "field" or f[1] == "method") and f[3]
    if method and OF_MASKS[method] and translate.is_mask(known.bare(f[2])) then return true end
    if method == "bool" or method and elsewhere.indices(method) == 1 then return false end
    return (node[1] == "index" or method ~= false) and made_in_place(f[2])
end

local function has_negative(node)
    if (node[1] == "unary" or node[1] == "binary") and node[2] == "-" then return true end
    local of = known.bare(node)
    if of ~= node then return has_negative(of) end
    for _, part in next, node do
        if type(part) == "table" and has_negative(part) then return true end
    end
    return false
end

-- A tensor of indices that is written in place, [0, 2], list(range(2)) or torch.tensor([0, 2]),
-- with its numbers counted from 1; else the value as it is.
local function shifted(node)
    check_less(node)
    if is_index(node) then return (position(node)) end
    local name = node[1] == "call" and path(node[2])
    local op = name and elsewhere.canonical(name)
    if op == "arange" or name == "range" or op == "randint" then
        local made = op == "randint" and node or { "call", { "name", "torch.arange" }, node[3] }
        note(COUNT)
        return emit(made) .. " + 1", 9
    end
    if name == "list" and node[3][1] then return shifted(node[3][1]) end
    local written = op == "tensor" and node[3][1] or node
    if written[1] == "list" or written[1] == "tuple" or written == node then
        local list = raised(written) or written[1] == "list" and written
        local text = list and emit(list)
        if list and name == "tuple" then return text end
        if list then return "tensor" .. (text:find "^{" and text or "(" .. text .. ")") end
    end
    if made_in_place(node) and not counted() then
        note(COUNT)
        local text = emit(node, 9)
        if has_negative(node) and kind(node) == "number" then
            return ("%s < 0 and %s or %s + 1"):format(text, text, text), 1
        elseif has_negative(node) then
            return ("where(%s < 0, %s, %s + 1)"):format(text, text, text), 14
        end
        return text .. " + 1", 9
    end
    return (position(node))
end

counts.COUNT, counts.DIMS, counts.FLAT, counts.OPEN = COUNT, DIMS, FLAT, OPEN
counts.literal, counts.plus, counts.from_end, counts.position = literal, plus, from_end, position
counts.place, counts.after, counts.may_wrap, counts.dims = place, after, may_wrap, dims
counts.raised, counts.stop, counts.shifted = raised, stop, shifted
counts.check_less = check_less

return counts
