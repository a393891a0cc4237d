--!plain
-- What somebody meant whose error is about a name that is not there: hint(message, line, value, prompt) is the nearest name
-- that is, as "zeros", or nil. line: the source line or nil; value(name): what a name stands for there; prompt: was it typed at
-- the prompt? In scripts only gpush's own names are told, so that messages of plain Lua are as they are.
local gpush, shell = ...
local nearest = shell.nearest

local between = { ["or"] = true, ["and"] = true, with = true, ["for"] = true, one = true, of = true, several = true }

local function words(text)
    local out = {}
    for word in text:gmatch "[%a_][%w_]*" do out[#out + 1] = not between[word] and word or nil end
    return out
end

local function keys(t, out)
    for k in next, t do
        if type(k) == "string" then out[#out + 1] = k end
    end
    return out
end

-- svd(x) and x:svd() are linalg.svd(x).
local function in_group(word)
    for _, group in ipairs { "linalg", "fft", "nn", "optim", "data" } do
        if rawget(gpush[group], word) ~= nil or (group ~= "linalg" and group ~= "fft" and gpush[group][word] ~= nil) then return group .. "." .. word end
    end
end

-- torch.nn.Linear is nn.Linear here.
local packages = { torch = true, np = true, numpy = true, F = true, tf = true, jnp = true, plt = true }

local function without_package(word, line)
    local path = packages[word] and (line or ""):match("%f[%w_]" .. word .. "%.([%w_.]*[%w_])")
    local last = path and path:match "[^.]*$"
    local v = gpush
    if last == "Tensor" then return "tensor" end
    for key in (path or ""):gmatch "[^.]+" do v = type(v) == "table" and v[key] or nil end
    return path and (v ~= nil and path or gpush[last] ~= nil and last or in_group(last)) or nil
end

-- gpush's names are globals of the shell; what came into _G otherwise is the user's or Lua's.
local function global(word, line, prompt)
    local same = without_package(word, line) or in_group(word) or (prompt and shell.part "foreign".functions[word])
    if same then return same end
    return nearest(word, keys(gpush, prompt and keys(_G, {}) or {}))
end

local areas = { "nn", "optim", "data", "checkpoint", "cuda", "linalg", "fft", "sync", "profile", "autograd" }

local function ours(v)
    if gpush.is_tensor(v) then return true end
    for _, area in ipairs(areas) do
        if v == rawget(gpush, area) then return true end
    end
    return v == gpush
end

-- What "a.b" before .word or :word in the line stands for, the mark behind it, and whether a is ours; nil where only running
-- would tell, as in f(x).word.
local function holder(line, word, value)
    local path, sep = line:match("([%a_][%w_.]*)([.:])" .. word .. "%f[^%w_]")
    local v, own
    for key in (path or ""):gmatch "[^.]+" do
        if v == nil then
            v = value(key)
            own = ours(v)
        else
            v = type(v) == "table" and rawget(v, key) or nil
        end
        if v == nil then return nil end
    end
    return v, sep, own
end

local function member(word, line, value, prompt)
    local v, sep, own = holder(line or "", word, value)
    if v == nil or not (prompt or own) then return nil end
    return nearest(word, shell.part "complete".members(v, sep))
end

-- What writes into a view's dims has no place here: a view is a new tensor.
local function method(word)
    local group = in_group(word)
    if group then return group .. "(x)" end
    if word == "numpy" then return "x:tolist()" end
    local new = word:match "^(.*)_$"
    if new and gpush.ones(1)[new] then return "x = x:" .. new .. "(…)" end
    local complete = shell.part "complete"
    local names = complete.members(nil, ":")
    for name in next, shell.native.properties() do names[#names + 1] = name end
    return nearest(word, names)
end

return function(message, line, value, prompt)
    message = message:match "^[^\n]*"
    local kind, name = message:match "a nil value %((%a+) '([%a_][%w_]*)'%)$"
    if kind == "global" then return global(name, line, prompt) end
    if kind == nil and message:find "call a table value %(field 'shape'%)$" then return "x:size()" end
    if kind then return member(name, line, value, prompt) end
    name = message:match "no method or property '([%w_]+)'"
    if name then return method(name) end
    -- What could have been there instead is in the message: "unknown option 'strid' (expected stride, padding or groups)".
    local _, word, rest = message:match "(['\"])([%w_]+)%1 %(expected (.*)%)$"
    if not word then _, word, rest = message:match "(['\"])([%w_]+)%1.-; %a+ %a+ (.*)$" end
    return word and nearest(word, words(rest), 1)
end
