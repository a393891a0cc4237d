-- The declarations for editors: they are Lua, have every function that there is with its
-- parameters, and every name that the labs and the documents' programs use is in them.
local t = require "tap"
local gpush = require "gpush"
local root = os.getenv "GPUSH_ROOT" or "."

local function read(path)
    local f <close> = assert(io.open(path))
    return f:read "a"
end

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
local made = os.execute(("'%s' -E '%s/scripts/dev/docs.lua' %s"):format(arg[-1], root, folder))
t.ok(made, "docs.lua writes the documents")
local text = read(folder .. "/gpush.lua")
os.execute("rm -r " .. folder)
t.ok(load(text, "=gpush.lua", "t", {}), "the declarations are Lua")
t.ok(not text:find(root .. "/scripts", 1, true), "no path of this machine is in them")

-- What is declared: functions by their whole name, methods by their last.
local functions, methods, tables = {}, {}, {}
for where, mark, name in text:gmatch "\nfunction ([%w_.]+)([.:])([%w_]+)%(" do
    if mark == ":" then methods[name] = true else functions[where .. "." .. name] = true end
    tables[where] = true
end
for where, name in text:gmatch '\n([%w_.]+)%["(%w+)"%] = function' do
    methods[name], functions[where .. "." .. name] = true, true
end
for name in text:gmatch "\n(gpush%.[%w_.]+) = {}" do tables[name] = true end

-- Every function of the module and of the tables in it.
local missing, n = {}, 0
local function walk(v, path)
    for k, f in next, v do
        if type(k) == "string" and not k:find "^_" then
            if type(f) == "function" then
                n = n + 1
                if not functions[path .. "." .. k] then missing[#missing + 1] = path .. "." .. k end
            elseif type(f) == "table" and not path:find "%..*%." and f ~= gpush and f ~= _G
                and not (debug.getmetatable(f) or {}).__call then
                walk(f, path .. "." .. k)
            end
        end
    end
end
walk(gpush, "gpush")
t.ok(n > 600, n .. " functions were looked for")
t.is(table.concat(missing, " "), "", "each is declared")
for name in pairs(debug.getregistry()["gpush.tensor.methods"]) do
    if not name:find "^_" and not methods[name] then missing[#missing + 1] = name end
end
t.is(table.concat(missing, " "), "", "and each method of tensors")

-- Parameters and operators, by hand.
local function has(lines) return text:find("\n" .. lines .. "\n", 1, true) ~= nil end
t.ok(has [[
---normal numbers, mean 0 and standard deviation 1
---@param shape integer|integer[]
---@param dtype? gpush.dtype|table
---@param device? gpush.device|table
---@return gpush.Tensor ...
---@overload fun(...: integer|table): gpush.Tensor ...
function gpush.randn(shape, dtype, device) end]], "randn(3, 4) and randn({3, 4})")
t.ok(text:find("function gpush.nn.Linear(in_features, out_features, bias, dtype, device)", 1,
    true), "a layer has its parameters")
t.ok(text:find("---@return gpush.Optimizer\nfunction gpush.optim.AdamW(params, lr,", 1, true),
    "an optimizer is one")
t.ok(text:find("\nfunction Tensor:sum(dim, keepdim, dtype) end", 1, true), "a method leaves x out")
t.ok(text:find("\nfunction Profile:table(", 1, true), "a profile has methods")
t.ok(has "---@field [gpush.index] gpush.Tensor", "tensors are indexed")
for name in text:gmatch "@operator (%l+)" do
    local meta = debug.getmetatable(gpush.ones(1))
    t.ok(meta["__" .. name], "operator " .. name)
end

-- Labs and documents: names after nn., optim. and the like, and after colons.
local lua = {}
for name in ("upper lower format rep sub gsub find match gmatch byte len reverse close read write \z
    lines seek setvbuf flush"):gmatch "%S+" do lua[name] = true end
local function undeclared(program, defined_elsewhere)
    local wrong, own = {}, defined_elsewhere or {}
    program = program:gsub("%-%-%[(=*)%[.-%]%1%]", ""):gsub("%[(=*)%[.-%]%1%]", "''")
        :gsub("%-%-[^\n]*", ""):gsub('"[^"\n]*"', "''"):gsub("'[^'\n]*'", "''")
    for defined in program:gmatch "[.:]([%a_][%w_]*)%s*%(" do
        if program:find("function%s+[%w_.]+[.:]" .. defined .. "%s*%(") then own[defined] = true end
    end
    for defined in program:gmatch "([%a_][%w_]*)%s*=%s*function" do own[defined] = true end
    for chain in program:gmatch "%f[%w_.:][%a_][%w_.]*" do
        local head, last = chain:match "^(.*)%.([%w_]+)$"
        local where = head and "gpush." .. head:gsub("^gpush%.", "")
        if where and tables[where] and not functions[where .. "." .. last]
            and not tables[where .. "." .. last] and rawget(gpush, head:match "^%w+") ~= nil
            and program:find("%f[%w_.:]" .. chain:gsub("%.", "%%.") .. "%s*[({\"']") then
            wrong[#wrong + 1] = chain
        end
    end
    for method in program:gmatch "[%w_%])}]:([%a_][%w_]*)%s*[({\"']" do
        if not (methods[method] or lua[method] or own[method]) then
            wrong[#wrong + 1] = ":" .. method
        end
    end
    return table.concat(wrong, " ")
end
t.is(undeclared 'x = nn.Linaer(2, 3) "a" opt = optim.SGD({}):stpe() -- x:nosuch()',
    "nn.Linaer :stpe", "a wrong name is found")
local all = ("ls %/scripts/labs/*.lua %/docs/*.md %/README.md"):gsub("%%", { ["%"] = root })
local files <close> = io.popen(all)
for path in files:lines() do
    local program, ops = read(path), {}
    if path:find "%.md$" then
        for block in program:gmatch "\n```c[^\n]*\n(.-)\n```" do -- of a library
            for name in block:gmatch '"([%a_][%w_]*)"' do ops[name] = true end
        end
        local blocks = {}
        for block in program:gmatch "\n```lua[^\n]*\n(.-)\n```" do blocks[#blocks + 1] = block end
        program = table.concat(blocks, "\n")
    end
    t.is(undeclared(program, ops), "", path:match "[^/]*$" .. " uses names that are declared")
end
t.done()
