-- Reads a lab's options: options{device = "gpu", rows = 500} takes --device cpu --rows 20 from the
-- command line. The values given are the defaults and say by their type what is expected; false
-- stands for a text that is not given, {} for an option without a value: true where it is given.
-- Whole numbers are at least 1, numbers such as 8e-6 above 0; options(defaults, rules) says more of
-- some: the least, or {least, most}; the words to choose from; "read" for a file, "write" for one
-- to be written, "new" for one that is not there yet, "prefix" for the beginning of such names; or
-- a function, which gives the value of a text, of the default, too, or nil and what is wrong. A
-- wrong one ends the lab before it begins. --help prints the comment at the top of the lab's file
-- and lists them. The second result is to be closed where the lab ends: of sizes for which there is
-- no memory it makes a sentence.
local refuse = dofile((arg[0]:match ".*/" or "") .. "refuse.lua")

-- The comment at the top of the lab's file, without its dashes.
local function header()
    local lines = {}
    for line in io.lines(arg[0]) do
        local text = line:match "^%-%- ?(.*)"
        if not text then break end
        lines[#lines + 1] = text
    end
    return table.concat(lines, "\n")
end

local function usage(defaults)
    local names = {}
    for name, value in pairs(defaults) do
        local default = value and type(value) ~= "table" and " (default " .. tostring(value) ..
            ")" or ""
        names[#names + 1] = ("  --%s%s"):format(name, default)
    end
    table.sort(names)
    return header() .. "\n\noptions:\n" .. table.concat(names, "\n")
end

-- ---- what a value must be ----

local function number(value, kind, from, to)
    local n = tonumber(value)
    if kind == "integer" then n = math.tointeger(n) end
    local fits = n and (from and n >= from or not from and n > 0) and n <= (to or math.huge)
    if fits then return n end
    local range = to and ("from %s to %s"):format(from, to) or from and "of at least " .. from
        or "above 0"
    return nil, ("expected %s %s"):format(kind == "integer" and "an integer" or "a number", range)
end

local function word(value, words)
    for _, known in ipairs(words) do if value == known then return value end end
    return nil, "expected " .. table.concat(words, ", ", 1, #words - 1) .. " or " .. words[#words]
end

local files = {}

function files.read(name)
    local f <close>, message = io.open(name)
    if not f then return nil, "cannot open " .. message end
    local _, wrong = f:read(0)
    if wrong then return nil, ("cannot read %s: %s"):format(name, wrong) end
    return name
end

-- Tried, without leaving a file that was not there.
function files.write(name)
    local there <close> = io.open(name)
    local f <close>, message = io.open(name, "a")
    if not f then return nil, "cannot write " .. message end
    if not there then os.remove(name) end
    return name
end

function files.new(name)
    local there <close> = io.open(name)
    if there then return nil, "it is there already: name another file" end
    return files.write(name)
end

function files.prefix(name)
    local ok, message = files.write(name .. "-0")
    return ok and name or nil, message
end

-- What options have in common that are in several labs.
local common = { host = { 1e-9, 1 }, workers = { 0, 64 }, precision = { "f32", "f16", "bf16" } }

function common.device(name)
    local ok, message = pcall(zeros, 1, { device = name })
    if ok then return name end
    return nil, message:match "zeros: (.*)"
end

function common.card(name)
    if name == "none" then return name end
    local before = sim.card
    local ok, message = pcall(function() sim.card = name end)
    sim.card = before
    if ok then return name end
    return nil, message:match "sim%.card: (.*)" .. ", or 'none', for sim as it is"
end

-- The value of an option, of the kind of its default; nil and what is wrong.
local function value_of(text, default, rule)
    local kind = math.type(default)
    if not text then return nil, "expected a value" end
    if type(rule) == "function" then return rule(text) end
    if kind then
        local least = kind == "integer" and 1 or nil
        if type(rule) == "table" then return number(text, kind, rule[1], rule[2]) end
        return number(text, kind, rule or least)
    end
    if type(rule) == "table" then return word(text, rule) end
    if rule then return files[rule](text) end
    return text
end

-- Sizes are the user's: where one is too large, its place in the lab's file says nothing.
local Sizes = {}
function Sizes.__close(_, message)
    local what = tostring(message):match "out of memory on %w[%w:]*: [^;\n]*"
    if not what then return end
    io.stderr:write(arg[0]:match "([^/]*)%.lua$" or arg[0], ": ", what, ": choose smaller sizes\n")
    os.exit(1, true)
end

return function(defaults, rules)
    local opt, i = {}, 1
    for name, value in pairs(defaults) do
        local read = value and rules and type(rules[name]) == "function" and rules[name]
        opt[name] = type(value) ~= "table" and (read and read(value) or value)
    end
    while i <= #arg do
        local name = arg[i]:match "^%-%-(%w+)$"
        local default = defaults[name]
        if arg[i] == "--help" or arg[i] == "-h" then
            print(usage(defaults))
            os.exit(true)
        end
        if default == nil then refuse("no option %s; --help lists them", arg[i]) end
        if type(default) == "table" then
            opt[name], i = true, i + 1
        else
            local rule = rules and rules[name] or common[name]
            local value, wrong = value_of(arg[i + 1], default, rule)
            if value == nil then
                refuse("--%s%s: %s", name, arg[i + 1] and " " .. arg[i + 1] or "", wrong)
            end
            opt[name], i = value, i + 2
        end
    end
    return opt, setmetatable({}, Sizes)
end
