-- For tests/bindings/audit.lua: mistakes in a valid call. A call is a list of texts, one for each
-- argument; each mistake is a complete call, with a note of the change.
local M = {}

-- Values that are wrong for a type of parameter, as text: the first list must be refused wherever a
-- parameter has the type; the second depends on the op.
M.wrong = {
    tensor = { "'abc'", "7", "true", "print", "{1, 2}", "{}", "{f(2)}" },
    operand = { "'abc'", "{1, 2}", "print", "{f(2)}" },
    tensors = { "7", "'abc'", "true", "{7}", "{'abc'}", "{f(2), nil, f(2)}", "f(2)",
        "{f(2), {f(2)}}", "{[0] = f(2), f(2)}", "{f(2), f(2), nosuch = 1}", "endless(1)" },
    number = { "'1'", "{1}", "print", "{}" },
    float = { "'1'", "true", "print", "{1}" },
    int = { "'1'", "1.5", "true", "print", "{1}", "0/0", "math.huge" },
    bool = { "0", "1", "'true'", "print", "f(1)", "{true}" },
    dim = { "'1'", "1.5", "true", "print", "0/0", "{1, 2}", "0", "99", "-99" },
    dims = { "'1'", "1.5", "{1.5}", "{'1'}", "true", "print", "0/0", "0", "{0}", "99", "{-99}",
        "{nil, 1}", "{1, 1}", "{[0] = 1, 2}", "{1, nosuch = 1}", "{{1}}", "endless(1)" },
    shape = { "'1'", "1.5", "{1.5}", "{'1'}", "true", "print", "0/0", "{2, -3}",
        "{math.maxinteger, 2}", "{[0] = 2, 3}", "{2, 3, dtype = 'f64'}", "{{2, 3}}",
        "{2, nil, 3}", "endless(1)" },
    ints = { "'1'", "1.5", "{1.5}", "{'1'}", "true", "print", "0/0", "{nil, 1}", "{[0] = 1, 2}",
        "{1, nosuch = 1}", "{{1}}", "endless(1)" },
    padding = { "1.5", "{1.5}", "{'1'}", "true", "print", "'nosuch'", "-1", "{[0] = 1, 2}",
        "{1, nosuch = 1}", "endless(1)" },
    str = { "'nosuch'", "7", "true", "print", "{}", "''" },
    dtype = { "'nosuch'", "7", "true", "print", "''" },
    device = { "'nosuch'", "7", "true", "print", "''", "'cpu:9'" },
    any = { "print", "true", "endless(1)", "gives(1)" },
    numbers = { "print", "true", "'1'", "{'1'}", "f(2)", "{f(2)}", "endless(1)" },
    order = { "print", "true", "{1}", "f(2)" },
    text = { "7", "true", "print", "{1}" }, table = { "7", "'abc'", "true", "print" },
    list = { "7", "'abc'", "true", "print", "{[0] = f(2), f(2)}", "{f(2), nosuch = 1}",
        "{f(2), nil, f(2), nil}", "{nil, f(2)}", "endless(1)" },
    ["function"] = { "7", "'abc'", "true" },
}
M.doubtful = {
    operand = { "true", "0/0", "math.huge" },
    number = { "true", "0/0", "math.huge", "-math.huge", "0", "-1" },
    float = { "0/0", "math.huge", "-1", "0", "2" },
    int = { "0", "-1", "-99", "99", "2.0", "math.maxinteger", "math.mininteger" },
    dim = { "2.0", "-1" },
    dims = { "{}", "2.0", "{2.0}" },
    shape = { "{}", "{0}", "-1" },
    ints = { "{}", "0", "-1", "{0}", "{1, 1}", "{1, 1, 1}", "{1, 1, 1, 1}", "9",
        "math.maxinteger" },
    padding = { "{}", "{1, 1, 1, 1}", "9", "'same'", "'valid'" },
    any = { "0", "1.5", "-1", "{}", "{1.5}", "{0}", "'nosuch'", "f(2)", "0/0" },
    numbers = { "0", "1.5", "-1", "{}", "{1.5}", "{0}", "0/0" },
    order = { "0", "1.5", "-1", "{}", "'nosuch'", "0/0" },
    tensors = { "{}", "{f(2)}", "{f(2), f(3, 1)}" },
}
for _, list in ipairs { M.wrong, M.doubtful } do list.varargs = list.tensors end
-- Changes to a tensor that is not the first one: of its device, type and shape.
M.tensors = { device = "(%s):to 'sim'", bool = "(%s):gt(0)", i64 = "(%s):to 'i64'",
    f64 = "(%s):to 'f64'", column = "(%s):unsqueeze(-1)",
    row = "(%s):unsqueeze(1)", short = "(%s):narrow(-1, 1, 1)", scalar = "(%s):reshape(-1)[1]",
    empty = "(%s):narrow(1, 1, 0)" }

-- "tensor! x, int dim=1" as a list of {type, name, optional, mark}.
function M.parameters(sig)
    local list = {}
    for type, mark, name, default in sig:gmatch "(%a+)([?!]*) ([%w_]+)(=?)" do
        if type ~= "self" then
            list[#list + 1] = { type = type, mark = mark, name = name,
                optional = mark:find "?" ~= nil or default == "=" }
        end
    end
    return list
end

-- The texts of the arguments of a call: split at the commas outside of brackets and quotes.
function M.split(text)
    local list, depth, from, quoted = {}, 0, 1, false
    for at, c in text:gmatch "()([%(%){},'])" do
        if c == "'" then quoted = not quoted
        elseif quoted then -- no bracket
        elseif c == "(" or c == "{" then depth = depth + 1
        elseif c == ")" or c == "}" then depth = depth - 1
        elseif depth == 0 then
            list[#list + 1] = text:sub(from, at - 1):match "^%s*(.-)%s*$"
            from = at + 1
        end
    end
    if text:find "%S" then list[#list + 1] = text:sub(from):match "^%s*(.-)%s*$" end
    return list
end

local function with(args, k, text, last)
    local out = {}
    for i = 1, last or math.max(#args, k) do out[i] = i == k and text or args[i] or "nil" end
    return table.concat(out, ", ")
end

-- try(what, parameter, arguments, value) for every mistake in a call of the signature with these
-- arguments.
function M.each(sig, args, try)
    local list = M.parameters(sig)
    for k, p in ipairs(list) do
        local before = table.concat(args, ", ", 1, math.min(k - 1, #args))
        local named = (k > 1 or p.optional) and k > #args and before ..
            (before ~= "" and ", {" or "{") .. p.name .. " = %s}" or nil
        for _, kind in ipairs { "wrong", "doubtful" } do
            for _, v in ipairs(M[kind][p.type] or {}) do
                try(kind, p, with(args, k, v), v)
                if named then try(kind, p, named:format(v), v) end
            end
        end
        if not p.optional then
            try("missing", p, before)
            if k < #args then try("nil", p, with(args, k, "nil")) end
        end
        if k > 1 and (p.type == "tensor" or p.type == "operand")
            and (args[k] or "nil"):find "^[fisb]" then
            for what, form in pairs(M.tensors) do
                try(what, p, with(args, k, form:format(args[k])))
            end
        end
    end
    local all = {}
    for k = 1, math.max(#list, #args) do all[k] = args[k] or "nil" end
    all[#all + 1] = "print"
    if (list[#list] or {}).type ~= "rest" then try("surplus", nil, table.concat(all, ", ")) end
    try("option", nil, table.concat(args, ", ") .. (#args > 0 and ", " or "") .. "{nosuch = 1}")
end

return M
