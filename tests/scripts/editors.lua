-- The declarations for editors: they are Lua, and have every function that there is with its
-- parameters. The labs and the documents' programs fit them, by a checker of our own, and luacheck
-- finds nothing in them by the names that are made for it.
local t = require "tap"
local gpush = require "gpush"
local root = os.getenv "GPUSH_ROOT" or "."

local function read(path)
    local f <close> = assert(io.open(path))
    return f:read "a"
end

local function write(path, text)
    local f <close> = assert(io.open(path, "w"))
    f:write(text)
end

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
local made = os.execute(("'%s' -E '%s/scripts/dev/docs.lua' %s"):format(arg[-1], root, folder))
t.ok(made, "docs.lua writes the documents")
local text = read(folder .. "/gpush.lua")
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
    for k, f in pairs(v) do
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
t.ok(text:find("\n---the PNG files of a folder's folders, each of which is a class\n\z
    ---@param folder any", 1, true), "help that goes on in the line of the call is its sentence")
for line in text:gmatch "\n(%-%-%-[^@\n][^\n]*)" do
    if line:find "%-%->" or line:find "os%.execute" then t.ok(false, "no sentence: " .. line) end
end
t.ok(text:find("---@return gpush.Optimizer\nfunction gpush.optim.AdamW(params, lr,", 1, true),
    "an optimizer is one")
t.ok(text:find("\nfunction Tensor:sum(dim, keepdim, dtype) end", 1, true), "a method leaves x out")
t.ok(text:find("\nfunction Profile:table(", 1, true), "a profile has methods")
t.ok(has "---@field [gpush.index] gpush.Tensor", "tensors are indexed")
for name in text:gmatch "@operator (%l+)" do
    local meta = debug.getmetatable(gpush.ones(1))
    t.ok(meta["__" .. name], "operator " .. name)
end

-- Settings, and what is loaded at its first use.
t.ok(has '---@class gpush.sync\n---@field mode "off"|"warn"|"error"\n---@field warn boolean',
    "sync's settings have types")
for _, name in ipairs { "nn.utils.clip_grad_norm_", "nn.utils.rnn.pad_sequence",
    "nn.parallel.DistributedDataParallel", "optim.lr.StepLR" } do
    t.ok(functions["gpush." .. name], name)
end
t.ok(has "---@overload fun(fn: any, ...: any): gpush.Profile, any ...\n\z
    function gpush.profile.run(options, fn, ...) end", "profile.run's options may be left out")

-- ---- Labs and documents ----

local programs = {} -- by the names of their files
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
    programs[path:match "[^/]*$"] = { text = program, ops = ops }
end

-- By a checker of our own: names, how many arguments, options, and kinds of literals.
local checker = require "declarations"
local declared = checker.read(text)
local function findings(program, own)
    return table.concat(checker.check(program, declared, own), "; ")
end
t.is(findings [[
x = nn.Linaer(2, 3) "a" opt = optim.SGD({}, {lr = 1}):stpe() -- x:nosuch()
y = randn(3, 4):sum(1, true, "f32", 5, 6) + conv2d(x, w, {padidng = 1}) + nn.Linear(2)
z = y:view("all") + profile.run(function() local a, b = 1, 2 end) + matmul(y, x, y)]],
    "nn.Linaer; conv2d: no option padidng; nn.Linear: no out_features; matmul: too many \z
        arguments; :stpe; :sum: too many arguments; :view: shape is no integer|integer[]",
    "what does not fit is found")
for name, program in pairs(programs) do
    t.is(findings(program.text, program.ops), "", name .. " fits the declarations")
end

-- By luacheck, with the names that are installed for it. Its parser knows no tensor syntax.
local function luacheck(program, name)
    write(folder .. "/" .. name .. ".lua", (program:gsub(" @ ", " * ")))
    local found <close> = io.popen(("cd %s && env -u LUA_PATH -u LUA_CPATH luacheck \z
        --config luacheckrc --no-color --codes -q %s.lua"):format(folder, name))
    local out = {}
    for line in found:lines() do
        out[#out + 1] = line:match "%([WE](%d+%) .*)$"
    end
    return table.concat(out, "; ")
end
-- the page's own file
local rules = read "docs/editors.md":match "```\n(stds%.gpush.-)```"
write(folder .. "/luacheckrc", (rules:gsub("/usr/share/gpush", folder)))
if not os.execute "command -v luacheck >/dev/null" then
    t.skip(1, "luacheck is not installed")
else
    t.is(luacheck("local x = nn.Linaer(2, 3) print(x, sunm(x)) sync.mode = 'off' sync.mdoe = 'off'",
        "wrong"), "143) accessing undefined field 'Linaer' of global 'nn'; 113) accessing \z
        undefined variable 'sunm'; 142) setting undefined field 'mdoe' of global 'sync'",
        "luacheck knows gpush's names")
    for name, program in pairs(programs) do
        local added = "" -- ops of a library
        for op in pairs(program.ops) do added = added .. " " .. op end
        added = added ~= "" and "-- luacheck: read globals" .. added .. "\n" or ""
        t.is(luacheck(added .. program.text, name), "", name .. ": luacheck finds nothing")
    end
end
os.execute("rm -r " .. folder)
t.done()
