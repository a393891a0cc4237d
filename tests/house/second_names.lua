-- Second names of an op and its parameters stand in its row (tensor/ops/table), those of other
-- functions in bindings/args/names.def: each works, and there is no other second name in the
-- module, among the methods or in the sources.
local t = require "tap"
local g = require "gpush"
local root = os.getenv "GPUSH_ROOT"
local methods = debug.getregistry()["gpush.tensor.methods"]

local function text_of(path)
    local f <close> = assert(io.open(path))
    return f:read "a"
end

-- KIND(a, b, …) of the list, as {KIND, a, b, …}; of the op table .also = "a b" and .options =
-- "x=a y=b" as SYNONYM(op, a) and OPTION(op, x, a).
local function rows_of(text)
    local rows = {}
    for line in text:gmatch "[^\n]+" do
        local kind, list = line:match "^(%u+)%((.-)%)$"
        if kind then
            local row = { kind }
            for name in list:gmatch "[^%s,]+" do row[#row + 1] = name end
            rows[#rows + 1] = row
        end
    end
    return rows
end
local function columns_of(text)
    local rows, op = {}, nil
    for line in text:gmatch "[^\n]+" do
        op = line:match "^%u[%u%d]*%(([%w_]+)," or op
        for second in (line:match '%.also = "(.-)"' or ""):gmatch "%S+" do
            rows[#rows + 1] = { "SYNONYM", (op:gsub("^linalg_", "linalg.")), second }
        end
        for first, second in (line:match '%.options = "(.-)"' or ""):gmatch "(%S+)=(%S+)" do
            rows[#rows + 1] = { "OPTION", op, first, second }
        end
    end
    return rows
end
local rows = rows_of(text_of(root .. "/bindings/args/names.def"))
local tables <close> = assert(io.popen(("ls '%s'/tensor/ops/table/*.def"):format(root)))
for path in tables:lines() do
    for _, row in ipairs(columns_of(text_of(path))) do rows[#rows + 1] = row end
end
t.is(columns_of 'UNARY(abs, REAL, x, "an .also", .also = "absolute",\n    .options = "x=a b=c")',
    { { "SYNONYM", "abs", "absolute" }, { "OPTION", "abs", "x", "a" },
        { "OPTION", "abs", "b", "c" } }, "the columns of a row are read")

-- ---- ops ----

local function named(path)
    local v = g
    for key in path:gmatch "[^.]+" do v = v[key] end
    return v
end

local first_of, wrong, members = {}, {}, {}
for _, row in ipairs(rows) do
    local kind, first, second = table.unpack(row)
    if kind == "SYNONYM" then
        first_of[second] = first
        local of_linalg = first:find "^linalg%." -- torch.pinverse(x), x:pinverse()
        local fn = named(first)
        local same = type(fn or methods[first]) == "function" and rawequal(g[second], fn)
            and rawequal(methods[second], of_linalg and fn or methods[first])
            and rawequal(methods[second .. "_"], methods[first .. "_"])
        if not same then wrong[#wrong + 1] = second .. " of " .. first end
    end
end
local of_profiles = select(2, debug.getupvalue(debug.getregistry()["gpush.profile"].__index, 1))
for _, row in ipairs(rows) do
    local kind, area, first, second = table.unpack(row)
    if kind == "MEMBER" then
        members[area] = members[area] or {}
        members[area][second] = first
        local into = g[area][first] and g[area] or of_profiles
        if type(into[first]) ~= "function" or not rawequal(into[first], into[second]) then
            wrong[#wrong + 1] = second .. " of " .. area .. "." .. first
        end
    end
end
t.ok(next(first_of), "the list has second names of ops")
t.ok(next(members), "and of functions in tables")
t.is(wrong, {}, "each is the same function, as a method and in place, too")

-- Names in the table of one function that are not a row's: "second first".
local function strangers(functions, known)
    local by, out = {}, {}
    for name, f in next, functions do
        if type(f) == "function" then
            by[f] = by[f] or {}
            table.insert(by[f], name)
        end
    end
    for _, names in next, by do
        local firsts = {}
        for _, name in ipairs(names) do
            local plain = name:gsub("_$", ""):gsub("^linalg_", "linalg.")
            firsts[known[plain] or plain] = name
        end
        local one = next(firsts)
        if next(firsts, one) then
            table.sort(names)
            out[#out + 1] = table.concat(names, " ")
        end
    end
    return out
end
t.is(strangers(g, first_of), {}, "no function of the module has another second name")
t.is(strangers(methods, first_of), {}, "nor has a method")
for _, area in ipairs { "linalg", "fft", "cuda", "sync", "profile", "autograd", "nan",
    "checkpoint" } do
    local _ = g[area].any -- loaded on first use
    t.is(strangers(g[area], members[area] or {}), {}, "nor has a function of " .. area)
end
t.is(strangers({ sub = print, minus = print, neg = next, negative = next },
    { negative = "neg" }), { "minus sub" }, "a second name that no row has is found")

-- ---- options ----

-- The parameters of every op, composite or function that takes options by name.
local flags = "bool? stack, bool? memory, bool? shapes, int? limit, bool? flops"
local signatures = { ["profile.schedule"] = { g.profile.schedule,
    "int wait=0, int warmup=0, int active=1, int repeats=0, function? on_trace_ready, " .. flags
    .. ", int skip_first=0, bool? lua" },
    ["profile.start"] = { g.profile.start, flags .. ", bool? lua" },
    ["profile.table"] = { of_profiles.table,
        "self profile, text? group, text? sort, int? limit" },
    ["averages.table"] = { function(prof, ...) -- of its list
        return prof:key_averages():table(...)
    end, "self profile, text? sort, int? limit" } }
for name, op in next, g.ops(true) do
    signatures[name] = { named((name:gsub("^(%l+)_", function(group)
        return type(g[group]) == "table" and g[group][name:sub(#group + 2)] and group .. "."
    end))), op.sig }
end
local function parameters(sig)
    local list = {}
    for part in (sig .. ", "):gmatch "(.-), " do
        local kind, name = part:match "^(%l+)[?!]* ([%w_]+)"
        if kind then list[#list + 1] = { kind = kind, name = name } end
    end
    return list
end

-- Whether the row is about parameter p of the op.
local function means(row, op, p, second)
    local kind, a, b, c = table.unpack(row)
    if kind == "DIMS" then return p.kind == "dims" and p.name == a and second == b end
    return kind == "OPTION" and (a == "any" or a == op) and p.name == b and second == c
end
local function row_for(op, p, second)
    for _, row in ipairs(rows) do
        if means(row, op, p, second) then return row end
    end
end

-- The op's parameter of that name: its own name comes first.
local function parameter(op, list, key)
    for k, p in ipairs(list) do if p.name == key then return k end end
    for k, p in ipairs(list) do
        local row = row_for(op, p, key)
        if row then return k, row end
    end
end

local x = g.ones(2, 2)
local samples = { tensor = x, operand = x, tensors = { x }, number = 1, int = 1, float = 1.5,
    bool = true, dim = 1, dims = { 1 }, shape = { 2 }, ints = { 1 }, padding = { 1 }, str = "sum",
    dtype = "f32", device = "cpu", any = 1, value = 1, numbers = 1, order = 1, text = "a",
    table = {}, ["function"] = print, rest = 1, self = g.profile.run(function() end) }

-- The parameter that the function takes the option for: given a second time, the error is "argument
-- #k and as an option". nil: none.
local function taken(f, list, key)
    for k = #list, 1, -1 do
        local args = {}
        for i = 1, k do args[i] = samples[list[i].kind] end
        args[k + 1] = { [key] = 1 }
        local message = tostring(select(2, pcall(f, table.unpack(args))))
        local at = message:match("'" .. key .. "' is given twice, as argument #(%d+)")
        if at or message:find "unknown option" then return tonumber(at) end
    end
end

local seconds, tried, bad = {}, {}, {}
for _, row in ipairs(rows) do
    if row[1] == "OPTION" or row[1] == "DIMS" then seconds[row[#row]] = true end
end
local options = 0
for name, op in next, signatures do
    local list = parameters(op[2])
    for key in next, seconds do
        local want, row = parameter(name, list, key)
        if row then
            tried[row] = true
            options = options + 1
        end
        local got = taken(op[1], list, key)
        if got ~= want then
            bad[#bad + 1] = ("%s {%s}: parameter %s, want %s"):format(name, key, got, want)
        end
    end
end
-- profile.run reads its options itself.
for _, row in ipairs(rows) do
    local kind, op, first, second = table.unpack(row)
    if kind == "OPTION" and op == "profile.run" then
        tried[row] = true
        local _, one = pcall(g.profile.run, { [second] = true }, function() end)
        local _, both = pcall(g.profile.run, { [second] = true, [first] = true }, function() end)
        if type(one) ~= "userdata" or not tostring(both):find "are one option" then
            bad[#bad + 1] = ("profile.run {%s}: %s, %s"):format(second, one, both)
        end
    end
end
table.sort(bad)
t.is(bad, {}, options .. " options by their second names reach the parameters that the rows say")
local idle = {}
for _, row in ipairs(rows) do
    if (row[1] == "OPTION" or row[1] == "DIMS") and not tried[row] then
        idle[#idle + 1] = table.concat(row, " ")
    end
end
t.is(idle, {}, "every row of an option is some op's")

-- ---- the sources ----

-- Second names as strings in C or Lua, which would be another list: "PATH: name". Words with
-- another meaning there do not count.
local common = { A = 1, B = 1, axis = 1, concat = 1, det = 1, dim = 1, dims = 1, divide = 1,
    ["end"] = 1, fix = 1, greater = 1, input = 1, inverse = 1, less = 1, mat = 1,
    multiply = 1, other = 1, pin_memory = 1, qr = 1, size = 1, start = 1, vec = 1,
    weight = 1, x = 1, y = 1, ["repeat"] = 1 }
local all = {}
for _, row in ipairs(rows) do all[row[#row]] = not common[row[#row]] or nil end

local function texts(source)
    local found = {}
    for word in source:gmatch '"([%w_%.]+)"' do found[word] = true end
    for word in source:gmatch '([%a_][%w_]*) = "' do found[word] = true end
    return found
end
-- Rows of functions in C, {"name", "signature", function}, whose signature and function are another
-- row's: "first second". What stands in a row of a larger table, regions and metamethods have more
-- that sets them apart.
local function same_rows(source)
    local by, out = {}, {}
    for before, name, rest in source:gmatch '(.){"([%w_.]+)", (".-", l_[%w_]+)}' do
        local apart = before == "{" or name:find "^__" or rest:find "l_[%w_]*region$"
        if by[rest] and not apart then out[#out + 1] = by[rest] .. " " .. name end
        by[rest] = by[rest] or name
    end
    return out
end
local elsewhere, rows_of_one = {}, {}
local files = io.popen(("cd '%s' && find tensor kernels bindings shell scripts/lua -name '*.[ch]' \z
    -o -name '*.lua' -o -name '*.def'"):format(root))
for path in files:lines() do
    if path:find "%.c$" then
        for _, names in ipairs(same_rows(text_of(root .. "/" .. path))) do
            rows_of_one[#rows_of_one + 1] = path .. ": " .. names
        end
    end
    local lists = path:find "^tensor/ops/table/" or path == "bindings/args/names.def"
    if not lists and not path:find "/help[./]" then
        for word in next, texts(text_of(root .. "/" .. path)) do
            if all[word] then elsewhere[#elsewhere + 1] = path .. ": " .. word end
        end
    end
end
files:close()
t.is(elsewhere, {}, "no second name is a text in the sources")
t.is(rows_of_one, {}, "no function in C has two rows")
t.is(same_rows ' {"size", "self tensor", l_size}, {"extent", "self tensor", l_size},',
    { "size extent" }, "it would be found")
t.ok(texts 'called[] = {{"slope", "negative_slope"}}'.negative_slope
    and texts '{ keepdims = "keepdim" }'.keepdims, "one would be found")
t.done()
