--!plain
-- Writes operators and conditions in Lua, for translate.lua: what an if of Lua asks where 0, "" and
-- lists without elements are true, comparisons that chain, "in", and + of texts and lists.
local require = ...
local gpush = require "gpush"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, path, note, say = translate.expression, translate.kind, translate.path,
    translate.note, translate.say
local counts, known = require "shell.counts", require "shell.known"
local literal, shifted = counts.literal, counts.shifted
local value_of, is_index = translate.value, translate.is_index
local CLASSES <const> = "classes count from 1: of a tensor that counts them from 0 without + 1"
local CLASS <const> = "classes and indices count from 1 here: a number of one is 1 more"
local write, TRUTH = translate.write, '0, "" and {} are true in Lua'

-- ---- conditions ----

-- Operators of Python's whose result is a number or a tensor.
local arithmetic = { ["-"] = true, ["/"] = true, ["//"] = true, ["%"] = true, ["^"] = true }

-- What is asked of a value whose kind is not known has no form that is right for all kinds.
local function unknown_truth()
    say(TRUTH .. ': ask v ~= 0, v ~= "" or next(v) ~= nil, by what the value is')
end

-- What an if of Lua asks, for an expression of Python's.
function translate.condition(node)
    local k = node[1]
    if k == "paren" then
        local text = translate.condition(node[2])
        return "(" .. text .. ")", 14
    end
    if k == "not" then
        local text, level = translate.condition(node[2])
        local inner = text:match "^([^()]*) ~= 0$" or text:match "^([^()]*) == nil$" and nil
        if inner and level == 3 then return inner .. " == 0", 3 end
        return "not " .. (level < 11 and "(" .. text .. ")" or text), 11
    end
    if k == "binary" and (node[2] == "and" or node[2] == "or") then
        local mine = node[2] == "or" and 1 or 2
        local a, la = translate.condition(node[3])
        local b, lb = translate.condition(node[4])
        return (la < mine and "(" .. a .. ")" or a) .. " " .. node[2] .. " "
            .. (lb <= mine and lb < 3 and lb < mine and "(" .. b .. ")" or b), mine
    end
    local of = kind(node)
    if is_index(node) then return emit(node, 4) .. " ~= 1", 3 end
    if of == "number" or of == nil and arithmetic[k == "binary" and node[2]] then
        return emit(node, 4) .. " ~= 0", 3
    end
    if of == "string" then return emit(node, 4) .. ' ~= ""', 3 end
    if of == "table" then return ("next(%s) ~= nil"):format(emit(node)), 3 end
    local text, level = emit(node)
    if of == nil and k ~= "compare" and not text:find " [~=]= [%w_\"]+$" then unknown_truth() end
    return text, level or 14
end
local condition = translate.condition

-- Whether the value is true in Lua, whatever it is.
local function always(node)
    local k = kind(node)
    return k == "number" or k == "string" or k == "table" or k == "function"
end

function write.choice(node)
    local yes, cond, no = node[2], node[3], node[4]
    local c, level = condition(cond)
    if always(yes) then
        return ("%s and %s or %s"):format(level < 2 and "(" .. c .. ")" or c, emit(yes, 3),
            emit(no, 1)), 1
    end
    return ("(function() if %s then return %s else return %s end end)()"):format(c, (emit(yes)),
        (emit(no)))
end

-- a or b, where a's truth is another in Lua, as a choice.
function translate.as_choice(node)
    local a, b = node[3], node[4]
    local k = (node[2] == "or" or node[2] == "and") and (kind(a)
        or arithmetic[a[1] == "binary" and a[2]] and "number")
    if k ~= "number" and k ~= "string" and k ~= "table" then return nil end
    if node[2] == "or" then return { "choice", a, a, b } end
    return { "choice", b, a, a }
end

-- ---- operators ----

local levels = { ["or"] = 1, ["and"] = 2, ["|"] = 4, ["&"] = 6, ["<<"] = 7, [">>"] = 7,
    [".."] = 8, ["+"] = 9, ["-"] = 9, ["*"] = 10, ["/"] = 10, ["//"] = 10, ["%"] = 10, ["@"] = 10,
    ["^"] = 12, ["~"] = 5 }

local function repeated(list, times) -- [0] * 3
    local n, out = literal(times), {}
    if list[1] ~= "list" and list[1] ~= "tuple" or not n or n > 20 then
        return ("(function(t, n) local r = {} for _ = 1, n do table.move(t, 1, #t, #r + 1, r) end \z
            return r end)(%s, %s)"):format(emit(list), (emit(times)))
    end
    for _ = 1, n do
        for i = 2, #list do out[#out + 1] = emit(list[i]) end
    end
    return "{" .. table.concat(out, ", ") .. "}", 13
end

local function percent(node) -- "a %s" % x
    if node[3][2]:find "%%%(" then say "a format with names: (\"%d\"):format(t.name)" end
    local list = node[4][1] == "tuple" and { table.unpack(node[4], 2) } or { node[4] }
    return ("%s:format(%s)"):format(emit(node[3], 14), translate.joined(list, emit))
end

-- An index as a number of Python's: one less.
local function from_zero(node)
    if kind(node) == "boolean" and node[1] ~= "name" then -- True + True
        return { "paren", { "raw", emit(node, 3) .. " and 1 or 0" } }
    end
    local minus = is_index(node) and { "raw", emit(node) .. " - 1", kind = kind(node) }
    return minus and { "paren", minus } or node
end
translate.from_zero = from_zero

-- Whether the value has a fraction: Python's ^ refuses it, so that a power is meant.
local function is_float(node)
    local k, v = node[1], node[1] == "name" and value_of(node[2])
    if k == "number" then return not literal(node) end
    if k == "paren" or k == "index" then return is_float(node[2]) end
    if k == "unary" then return is_float(node[3]) end
    if k == "binary" then return node[2] == "/" or is_float(node[3]) or is_float(node[4]) end
    return math.type(v) == "float" or gpush.is_tensor(v) and v:is_floating_point()
end

local function is_mask(node)
    if node[1] == "paren" then return is_mask(node[2]) end
    if node[1] == "binary" then
        return (node[2] == "and" or node[2] == "or" or node[2] == "&" or node[2] == "|")
            and is_mask(node[3]) and is_mask(node[4])
    end
    local v = node[1] == "name" and value_of(node[2])
    local f = node[1] == "call" and node[2][1] == "field" and node[2][3]
    if f == "numpy" or f == "cpu" then return is_mask(node[2][2]) end
    return node[1] == "compare" or f == "all" or f == "any"
        or gpush.is_tensor(v) and v.dtype == "bool"
end

translate.is_mask = is_mask

-- Julia's and others' quotient, which is cut toward 0.
local function quotient(a, b)
    if kind(a) == "tensor" or kind(b) == "tensor" then
        return ('div(%s, %s, {rounding_mode = "trunc"})'):format(emit(a), (emit(b)))
    end
    local x, y = known.number(a), known.number(b)
    if x and y and x >= 0 and y > 0 then
        return ("%s // %s"):format(emit(a, 10), emit(b, 11)), 10
    end
    return ("math.tointeger((math.modf(%s / %s)))"):format(emit(a, 10), emit(b, 11))
end

-- Julia's and MATLAB's A * B of matrices, or of a matrix and a vector; nil where the ranks are
-- others or not known.
local function matrix_product(left, right)
    if not translate.language() then return nil end
    local a = known.rank(left.quote and left[2] or left)
    local b = known.rank(right.quote and right[2] or right)
    return a == 2 and (b == 1 or b == 2)
        and ("%s @ %s"):format(emit(left, 10), (emit(right, 11))) or nil
end

function write.binary(node)
    local op, left, right = node[2], node[3], node[4]
    local a, b = kind(left), kind(right)
    if op == "or" or op == "and" then
        local choice = translate.as_choice(node)
        if choice then return write.choice(choice) end
        if a == nil and left[1] ~= "compare" then note(TRUTH) end
    end
    local test = op == "or" and left[1] == "binary" and left[2] == "and" and left[3]
    if test and kind(test) == "tensor" and is_mask(test) then -- mask and a or b
        return ("where(%s, %s, %s)"):format((emit(test)), (emit(left[4])), (emit(right))), 14
    end
    if (op == "and" or op == "or") and a == "tensor" and b == "tensor" then
        if not (is_mask(left) and is_mask(right)) then
            say "a tensor has no truth: where(cond, a, b) chooses elementwise, & and | join masks"
        end
        local mark = op == "and" and "&" or "|"
        return ("%s %s %s"):format(emit(left, 8), mark, emit(right, 8)), mark == "&" and 6 or 4
    end
    if op == "%" and a == "string" then return percent(node) end
    if op == "÷" then return quotient(left, right) end
    if translate.language() and (a == "table" or b == "table") and arithmetic[op == "+" and "-"
        or op == "*" and "/" or op] then -- its arrays
        local function array(e)
            local made = kind(e) == "table" and translate.made_tensor(e, "i64")
            return made and { "raw", made, kind = "tensor" } or e
        end
        return write.binary { "binary", op, array(left), array(right) }
    end
    local pairs_of, binds = require "shell.complex".binary(op, left, right)
    if pairs_of then return pairs_of, binds end
    if op == "*" and a == "table" then return repeated(left, right) end
    if op == "*" and b == "table" then return repeated(right, left) end
    if op == "\\" and a == "number" then op, left, right, a, b = "/", right, left, b, a end
    if op == "\\" then
        note "of a square matrix; linalg.lstsq of another"
        if b == "table" then right = { "raw", translate.made_tensor(right, "i64") } end
        return ("linalg.solve(%s, %s)"):format(emit(left), (emit(right)))
    end
    local product = op == "*" and not node.each -- not Julia's .*
    local matrices = product and translate.language() ~= "R" and matrix_product(left, right)
    if matrices then return matrices, 10 end
    if product and (left.quote or right.quote) and a ~= "string" and b ~= "string" then
        say "where A' is the transpose, * is the matrix product: matmul(a, b.T); \z
            here it is elementwise"
    end
    if op == "*" and a == "string" and b == "string" then op = ".." end -- Julia's
    if op == "*" and a == "string" then
        return ("%s:rep(%s)"):format(emit(left, 14), (emit(right)))
    end
    if op == "+" and (a == "table" or b == "table") then
        return ("(function(a, b) return table.move(b, 1, #b, #a + 1, {table.unpack(a)}) end)\z
            (%s, %s)"):format(emit(left), (emit(right)))
    end
    if op == "+" and (a == "string" or b == "string") then op = ".." end
    local is_dict = require "shell.loops".is_dict
    if op == "|" and is_dict(left) and is_dict(right) then
        return emit { "table", { "options", left }, { "options", right } }
    end
    if op == "^" and is_mask(left) and is_mask(right) then op = "~" end -- no power of masks
    if op == "~" and (is_float(left) or is_float(right)) then say(nil, "power") end
    if op == "+" and literal(right) == 1 and counts.greatest_label(left) then
        say(("the number of classes is %s where these count from 1, and %s + 1 of other numbers")
            :format(emit(left), emit(left, 9)))
    end
    local level = levels[op]
    local alike = op == "-" and (is_index(left) and counts.open_label(right)
        or is_index(right) and counts.open_label(left)) -- x.argmax(1) - labels
    if alike then note(counts.OPEN, true)
    elseif op ~= "or" and op ~= "and" and op ~= ".." then
        left, right = from_zero(left), from_zero(right)
    end
    local less = (op == "^" or op == "..") and 1 or 0
    return ("%s %s %s"):format(emit(left, level + less), op, emit(right, level + 1 - less)), level
end

function write.unary(node)
    local of = node[2] ~= "#" and from_zero(node[3]) or node[3]
    if node[2] == "+" then return emit(of) end
    return node[2] .. emit(of, 11), 11
end

write["not"] = function(node)
    if kind(node[2]) == "tensor" then return "not " .. emit(node[2], 11), 11 end
    return condition(node)
end

-- x in t, of a text, of a list that is written in place, and of a dict.
local function member(value, holder, negated)
    if holder[1] == "tuple" or holder[1] == "list" then
        local out, index = {}, is_index(value)
        for i = 2, #holder do
            out[#out + 1] = ("%s %s %s"):format(emit(value, 4), negated and "~=" or "==",
                (index and translate.beside_index or emit)(holder[i], 4))
        end
        return table.concat(out, negated and " and " or " or "), #out > 1 and 1 or 3
    end
    local op = negated and "==" or "~="
    local h = holder[1] == "call" and holder[2][3] == "keys" and holder[2][2] or holder
    if kind(h) == "string" then
        return ("%s:find(%s, 1, true) %s nil"):format(emit(h, 14), (emit(value)), op), 3
    end
    local held = h[1] == "name" and value_of(h[2])
    local dict = type(held) == "table" and not translate.is_list(held) and next(held) ~= nil
    if kind(h) == "tensor" then return ("(%s == %s):any()"):format(emit(h, 4), emit(value, 4)) end
    local list = type(held) == "table" and translate.is_list(held)
        or h[1] ~= "name" and kind(h) == "table" and not require "shell.loops".is_dict(h)
    if kind(value) ~= "number" and h[1] == "name" and translate.of_loop(h[2]) == "unknown" then
        say 't:find("a", 1, true) ~= nil of a text, t.a ~= nil of names, a loop through a list'
    end
    if list or not dict and (kind(value) == "number" or kind(value) == "table") then
        local alike = kind(value) == "table" and "json.encode(v) == json.encode(%s)" or "v == %s"
        return ("%s(function() for _, v in ipairs(%s) do if %s then return true end end \z
            return false end)()"):format(negated and "not " or "", emit(h),
            alike:format((emit(value, 4)))), 11
    end
    return ("%s[%s] %s nil"):format(emit(h, 14), (emit(value)), op), 3
end

-- Whether a variable's value, or a view of it, is an integer tensor whose smallest number is 0, but
-- for negative ones, and whether it has these: it is read where that waits for no device.
local function counts_from_zero(node)
    if node[1] == "paren" or node[1] == "index" then return counts_from_zero(node[2]) end
    if node[1] == "call" and node[2][1] == "field" then return counts_from_zero(node[2][2]) end
    local name = path(node)
    local v = name and value_of(name)
    local readable = gpush.is_tensor(v) and v.device == "cpu" and v.dtype:find "^[iu]%d"
    if not readable or v:numel() == 0 then return false end
    return v:eq(0):any():item(), v:amin():item() < 0
end

-- Arithmetic of labels, y * 3 + p, with one less for each that may count from 1; whether one may.
local function less_one(node)
    local changed = counts.open_label(node)
    if changed then return { "paren", { "raw", emit(node) .. " - 1" } }, true end
    if node[1] == "paren" then return less_one(node[2]) end
    if node[1] ~= "binary" or node[2] ~= "*" and literal(node[4]) then return node, false end
    local a, one = less_one(node[3])
    local b, other = less_one(node[4])
    return { "binary", node[2], a, b }, one or other
end

-- A tensor of indices or labels, as what takes such ones has it, or what an index is compared with:
-- what the line itself counts is counted from 1, and so is a tensor that holds 0. Of others it is
-- not known.
local function beside_index(node)
    if is_index(node) or translate.counted() then return emit(node, 4) end
    local less, changed = less_one(known.bare(node))
    if changed and less[1] == "binary" then
        say(("%s + 1 where labels count from 1, and %s + 1 where they count from 0"):format(
            emit(less, 9), emit(node, 9)))
    end
    local text = shifted(node)
    if kind(node) == "number" or text ~= emit(node) then return text, 9 end
    local zero, negative = counts_from_zero(node)
    if not zero then
        note(counts.OPEN, true)
        return emit(node, 4)
    end
    note("indices count from 1, this tensor from 0", true)
    if negative then return ("where(%s < 0, %s, %s + 1)"):format(text, text, emit(node, 9)), 14 end
    return emit(node, 9) .. " + 1"
end
translate.beside_index = beside_index

-- What counts labels or indices in a variable that an earlier line set: not known from where.
local function label(node)
    if node[1] == "paren" or node[1] == "index" then return label(node[2]) end
    local f = node[1] == "call" and node[2]
    if f then
        local of = f[1] == "field" and f[2] or (f[2] == "int" or f[2] == "list") and node[3][1]
        return of and label(of) or nil
    end
    local of = node[1] == "name" and translate.of_loop(node[2])
    if of == "labels" or of == "open" then return node end
    local v = node[1] == "name" and value_of(node[2])
    return gpush.is_tensor(v) and v.dtype:find "^[iu]%d" and node or nil
end

-- Whether the number is such a tensor's, which holds no 0, by which it would count from there.
function counts.open_label(node)
    if translate.counted() then return false end
    local root = label(node)
    return root ~= nil and not counts_from_zero(root)
end

-- Whether it is the greatest of such a tensor: labels.max(), int(labels.max()).
function counts.greatest_label(node)
    node = known.bare(node)
    local f, args = node[1] == "call" and node[2], node[3]
    if not f then return false end
    if f[3] == "item" then return counts.greatest_label(f[2]) end
    if f[2] == "int" then return counts.greatest_label(args[1]) end
    local of = f[1] == "field" and #args == 0 and f[2] or args[1]
    local max = f[3] == "max" or f[3] == "amax" or f[2] == "max"
    return max and of ~= nil and #args < 2 and counts.open_label(of)
end

-- Whether it is such a tensor's that holds 0, and no negative numbers.
function counts.from_zero(node)
    local root = not translate.counted() and label(node)
    local zero, negative = false, nil
    if root then zero, negative = counts_from_zero(root) end
    return zero and not negative
end

-- Whether an expression of the line is indices or labels that count from 1 here.
function translate.has_indices()
    local function has(node)
        if type(node) ~= "table" then return false end
        if (node[1] == "call" or node[1] == "name") and is_index(node) then return true end
        for _, part in next, node do if has(part) then return true end end
        return false
    end
    return has(translate.nodes())
end

local function compared(a, op, b)
    if op == "in" or op == "not in" then return member(a, b, op == "not in") end
    if op == "is" or op == "is not" then
        local tensors = kind(a) == "tensor" and kind(b) == "tensor"
        local text = tensors and ("rawequal(%s, %s)"):format(emit(a), (emit(b)))
        if text then return op == "is" and text or "not " .. text, 11 end
        op = op == "is" and "==" or "~="
    end
    local name = a[1] == "call" and path(a[2]) == "type" and path(b)
    if name and (op == "==" or op == "~=") then
        local text = elsewhere.kind(emit(a[3][1], 14), name)
        return op == "==" and text or "not (" .. text .. ")", 3
    end
    if is_index(a) or is_index(b) then
        return ("%s %s %s"):format(beside_index(a), op, beside_index(b)), 3
    end
    local same = op == "==" or op == "~="
    local number = kind(a) == "tensor" and (b[1] == "name" and translate.of_loop(b[2])
        or same and literal(b) and "literal")
    if number and counts.open_label(a) then
        local one = number == "literal" and translate.has_indices() -- beside x.argmax(1) == 1
        local class = (number == "one" or number == 0 or one) and same
        if literal(b) == 0 and not one then
            say(("%s %s 1 of classes, which count from 1 here; %s %s 0 of other numbers"):format(
                emit(a, 4), op, emit(a, 4), op))
        elseif number == "literal" and not one then note(CLASS)
        else note(class and CLASSES or counts.OPEN, true) end
        if class then return ("%s %s %s"):format(emit(a, 4), op, (counts.plus(b, 1))), 3 end
    end
    local lists = kind(a) == "table" and kind(b) == "table" and same
    if kind(a) == "table" and kind(b) == "table" and not same then
        say "lists are not compared in Lua: a loop to the first values that differ"
    end
    local function size(e) -- tuple(x.shape) is x.shape
        local of = e[1] == "call" and (path(e[2]) == "list" or path(e[2]) == "tuple") and e[3][1]
        return translate.is_shape(of or e) and (of or e) or path(e[2]) == "torch.Size" and e or nil
    end
    if lists and (size(a) or size(b)) then a, b = size(a) or a, size(b) or b
    elseif lists then
        return ("json.encode(%s) %s json.encode(%s)"):format(emit(a), op, (emit(b))), 3
    end
    if kind(a) == "table" and (b[1] == "list" and #b == 1) and (op == "==" or op == "~=") then
        return ("next(%s) %s nil"):format(emit(a), op), 3
    end
    return ("%s %s %s"):format(emit(a, 4), op, emit(b, 4)), 3
end

function write.compare(node)
    if #node == 4 then return compared(node[2], node[3], node[4]) end
    local out, masks = {}, kind(node) == "tensor"
    for i = 2, #node - 2, 2 do
        local text = compared(node[i], node[i + 1], node[i + 2])
        out[#out + 1] = masks and "(" .. text .. ")" or text
    end
    return table.concat(out, masks and " & " or " and "), masks and 6 or 2
end
