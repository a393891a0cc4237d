--!plain
-- Suggestions for an error about an unknown name, or about another language's: hint(message, line,
-- value, prompt) is "did you mean zeros?", with the nearest known name, "in Lua: #x", or nil. line:
-- the source line or nil; value(name): the name's value there; prompt: whether it was typed at the
-- prompt. In scripts only gpush's own names are suggested, so that messages of plain Lua are
-- unchanged.
local require = ...
local gpush, shell, registry = require "gpush", require "shell", require "registry"
local nearest = shell.nearest
local function elsewhere() return require "shell.elsewhere" end

local between = { ["or"] = true, ["and"] = true, with = true, ["for"] = true, one = true, of = true,
    several = true }

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
    for _, group in ipairs { "linalg", "fft", "nn", "optim", "amp", "data" } do
        if rawget(gpush[group], word) ~= nil
            or (group ~= "linalg" and group ~= "fft" and gpush[group][word] ~= nil) then
            return group .. "." .. word
        end
    end
end

-- torch.nn.Linear is nn.Linear here.
local function without_package(word, line)
    local path = elsewhere().packages[word]
        and (line or ""):match("%f[%w_](" .. word .. "%.[%w_.]*[%w_])")
    return path and (elsewhere().name(path) or in_group(path:match "[^.]*$"))
end

local areas = { "nn", "optim", "data", "checkpoint", "cuda", "linalg", "fft", "sync", "profile",
    "autograd", "nan" }

local function ours(v)
    if gpush.is_tensor(v) then return true end
    for _, area in ipairs(areas) do
        if v == rawget(gpush, area) then return true end
    end
    return v == gpush
end

-- Whether the line may read its member of the word from the name's value: loss.backward is none of
-- the function less.
local function has_member(name, word, line)
    local key = (line or ""):match("%f[%w_]" .. word .. "[.:]([%a_][%w_]*)")
    local v = rawget(_G, name)
    if not key or type(v) == "table" and not ours(v) then return true end -- or sets it
    if type(v) ~= "table" and not gpush.is_tensor(v) then return false end
    local ok, value = pcall(function() return v[key] end)
    return ok and value ~= nil
end

-- gpush's names are globals of the shell; other names in _G are the user's or Lua's. indexed: what
-- was read is a member of the word.
local function global(word, line, prompt, indexed)
    if elsewhere().packages[word] then return without_package(word, line) end
    local same = shell.of_notebook(word) or elsewhere().same[word] or in_group(word)
        or gpush.profile[word] ~= nil and "profile." .. word
    if same then return same end
    local names = {}
    for _, name in ipairs(keys(gpush, prompt and keys(_G, {}) or {})) do
        if not indexed or nearest(word, { name }) and has_member(name, word, line) then
            names[#names + 1] = name
        end
    end
    return nearest(word, names)
end

-- The value of "a.b" before .word or :word in the line, the mark after it, and whether a is ours;
-- nil where only running would tell, as in f(x).word.
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
    return nearest(word, require "shell.complete".members(v, sep))
end

-- Methods that write into a view's dims do not exist here: a view is a new tensor.
local function method(word)
    local group = in_group(word)
    if group then return group .. "(x)" end
    local new = word:match "^(.*)_$"
    if new and registry["gpush.tensor.methods"][new] then
        return "x = x:" .. (elsewhere().keyword[new] or new) .. "(…)"
    end
    local complete = require "shell.complete"
    local names = complete.members(nil, ":")
    for name in next, shell.native.properties() do names[#names + 1] = name end
    return nearest(word, names)
end

-- x:dtype() and x.shape() call what is not a function: the value is x.dtype.
local function property(message, line, value)
    local word = message:match "call a [%w ]+ value %(%a+ '([%a_]+)'%)$"
    if not word or shell.native.properties()[word] == nil then return nil end
    local path = (line or ""):match("([%a_][%w_.]*)[.:]" .. word .. "%(")
    if path and gpush.is_tensor((holder(line, word, value))) or word == "shape" then
        return ("%s.%s, without brackets"):format(path or "x", word)
    end
end

-- ---- names of other languages ----

-- Names of Python's, global or in a library, and the hint for each.
local elsewhere_names = {
    __class__ = "nn.class_of(model) of a module, type(x) of another value",
    self = "function Name:method(…), with a colon, has self",
    functional = "the functions stand alone, as in relu(x)",
    super = "nothing to call: a class inherits from its base",
    torchvision = "data.ImageFolder(folder), data.TensorDataset(x, y), data.transforms",
    datasets = "data.ImageFolder(folder), or data.TensorDataset(x, y)",
    random = "math.random(), or rand(…)",
    dbg = "dbg(x:sum()) is a line of its own, at the prompt; _ is then its value",
    plt = "plot, hist, heatmap and imshow draw at once",
    save = "checkpoint.save(file, {model = model}), or npz.save(file, {x = x}) for NumPy" }

-- Messages that only a line in another language brings.
local foreign_error = { "call it with a colon, ", "call a method with a colon: ",
    "index 0 is out of range", "dim 0 is out of range", ": sample [0-][%d]* of %d+$",
    "attempt to compare two table values", "pow: 3 arguments given", "a list has no index 0: ",
    "module%[[-0]%d*%]: ",
    "attempt to call a tensor value",
    "tensor: the value is a string", "call a %a+ value %(%a+ 'f'%)$",
    "index: expected .* got nil$", ": expected [^,]+, got nothing$",
    "index a nil value %(field 'functional'%)$", "requires_grad: expected .* got nil$",
    "index a function value %(global 'copy'%)$", "a function value %(field 'size'%)$",
    "expected a tensor[%a ]*, got function$", "arithmetic on a table value" }
-- Messages that a slip in Lua may bring, too: what is in the line counts from 1 already.
local either_error = { "attempt to index a number value", "arithmetic on a boolean value",
    "attempt to compare boolean with number",
    "attempt to compare number with boolean", "pow: dtype bool of argument",
    "bad argument #1 to '%l+' %(string expected", "range: argument 'last'",
    "expected a tensor, got ", ": pow: expected a tensor$",
    "the truth value of a tensor with %d+ elements", "call a nil value %(method '",
    "attempt to %a+ a 'string' with a '%a+'$", "attempt to %a+ a '%a+' with a 'string'$",
    "length of a nil value" }

local function any(patterns, message)
    for _, pattern in ipairs(patterns) do if message:find(pattern) then return true end end
end

-- Messages of Lua's own about values that may be tensors, and what to write.
local of_values = { ["invalid replacement value %(a userdata%)$"] =
        "x:item()  -- or tostring(x), of a tensor",
    ["attempt to call a tensor value %(for iterator"] =
        "for i, row in ipairs(x) do … end  -- of a tensor" }


-- Tables of the module that PyTorch's names may be looked for in.
local holders = { nn = true, optim = true, data = true, utils = true, rnn = true, linalg = true,
    fft = true, lr = true, lr_scheduler = true, init = true, special = true, functional = true,
    cuda = true, os = true }

-- What to write for a name of PyTorch's that gpush lacks: of a package, torch.addr(x), of one of
-- its own tables, nn.LPPool2d(…), or of a tensor, x:addr(…).
local function of_torch(message, line)
    local advice = elsewhere().advice
    local name = message:match "no method or property '([%w_]+)'"
    if name then return (advice(name)) end
    name = message:match "%(field '([%w_]+)'%)$"
    local holder = name and line:match("([%w_]+)%." .. name .. "%f[^%w_]")
    if holders[holder or ""] then return (advice(name)) end
    local package = message:match "%(%a+ '([%w_]+)'%)$"
    if not package or not elsewhere().packages[package] then return nil end
    for path in line:gmatch("%f[%w_](" .. package .. "%.[%w_.]*[%w_])") do
        name = path:match "[^.]*$"
        if not elsewhere().known(path) then
            local method = name:find "_$" and registry["gpush.tensor.methods"][name]
            return (advice(name)) or method and ("x:%s()"):format(name)
        end
    end
end

-- Whether the line has an index 0, or calls what only Python has: list(d.values()).
local function evident(line)
    if line:find "%[0[%],]" or line:find "%f[%w_]%w+%.index%(" then return true end
    for word in line:gmatch "%f[%w_.:]([%a_]+)%(" do
        if elsewhere().builtins[word] and rawget(_G, word) == nil then return true end
    end
end

-- Whether the message is one that a line in another language brings.
local function says_foreign(message, line)
    if any(foreign_error, message) then return true end
    if message:find "nil value %(field '%?'%)$"
        or message:find "nil value %(field 'integer index'%)$" then -- of a list, from 1
        return line:find "%[0%]" ~= nil or line:find "%[%-%d+%]" ~= nil
    end
    local kind, name = message:match "nil value %((%a+) '([%a_][%w_]*)'%)$"
    name = name or message:match "no method or property '([%w_]+)'"
    if not name then return false end
    local t = elsewhere()
    -- local F = nn.functional is nil, and F then a local variable
    if kind ~= "field" and t.packages[name] or kind == "global" and (t.builtins[name]
        or require "shell.foreign".of_shell(line)) then
        return true
    end
    for path in line:gmatch "%f[%w_.][%a_][%w_.]*" do
        if t.known(path) and path:find("%f[%w_]" .. name .. "%f[^%w_]") then return true end
    end
    if evident(line) then return true end
    local holder = line:match("([%a_][%w_]*)%." .. name)
    local base = name:gsub("_$", "")
    local composite = base ~= name and not t.keyword[base]
        and (t.ops()[base] or {}).kind == "composite"
    return composite or (t.forms["." .. name] or t.forms["torch." .. name]
        or t.forms["torch." .. base] or t.property(name)) ~= nil
        or type(rawget(_G, holder or "")) == "string"
end

local function is_foreign(message, line)
    return says_foreign(message, line) or require "shell.parse.language"(line, nil, true)
end

-- A line of Lua in which a method is called with a dot: with a colon, and else as it is.
local function with_colon(message, line)
    local fixed, name = message:match "call .- with a colon[:,] (.*):([%a_][%w_]*)%("
    if not fixed then return nil end
    local of = fixed:match "[%a_][%w_]*$"
    local before = of and "%f[%w_]" .. of or "[%)%]]"
    local text, n = line:gsub("(" .. before .. ")%." .. name .. "(%s*%()", "%1:" .. name .. "%2")
    return n > 0 and text or nil
end

-- The line in Lua where it may count from 1, as Lua with a slip, or from 0: words for both.
local function either_way(line, value)
    local translated = require "shell.foreign".line
    local one, zero = translated(line, value, nil, true), translated(line, value)
    if require "shell.parse.language"(line) == false then return zero end -- Python's are above
    if not one or not zero or one:find "^%-%-" or zero:find "^%-%-" then return one end
    one, zero = one:gsub("  %-%- .*", ""), zero:gsub("  %-%- .*", "")
    if one == zero then return one end
    return ("-- where the line counts from 1: %s  -- from 0, as in Python: %s"):format(one, zero)
end

-- The Lua form of a line in another language.
local function in_lua(message, line, value)
    local either = any(either_error, message)
    local foreign = is_foreign(message, line) or either and evident(line)
    local is_lua = (foreign or either) and require "shell.foreign".is_lua(line)
    local text = is_lua and with_colon(message, line)
    if not text and (foreign or is_lua) then
        text = require "shell.foreign".line(line, value, nil, is_lua)
    elseif not text and either then text = either_way(line, value) end
    if text == line:match "^%s*(.-)%s*$" then text = nil end -- it is what raised
    if text and not text:find "^%-%-" then return text end
    local instead = of_torch(message, line)
    if instead or text then return instead or text end
    if message:find "call a table value %(global 'profile'%)$" then
        return (line:gsub("%f[%w_]profile%s*%(", "profile.run("))
    end
    local name = message:match "nil value %(%a+ '([%a_][%w_]*)'%)$"
    return name and elsewhere_names[name] and "-- " .. elsewhere_names[name]
end

-- gpush's own where a variable has its name: gpush.sum after sum = 0 and sum(x).
local function replaced(message, line, value)
    local what, of, where, name = message:match
        "attempt to (%l+) a (%l+) value %((%l+) '([%a_][%w_]*)'%)$"
    local own = name and gpush[name]
    local variable = where == "global" or (where == "local" or where == "upvalue") and of ~= "nil"
    if own == nil or not variable or rawequal(own, value(name)) then return nil end
    if what == "call" then return type(own) == "function" and "gpush." .. name or nil end
    local key = line and line:match("%f[%w_]" .. name .. "[.:]([%a_][%w_]*)")
    return key and type(own) == "table" and own[key] ~= nil and "gpush." .. name or nil
end

local function meant(message, line, value, prompt)
    if message:find "; did you mean " then return nil end
    local of, option = message:match "([%w_.]+): unknown option '([%w_]+)'"
    local typed = registry["gpush.typed_options"]
    local needless = of and elsewhere().needless[option]
    if needless then return nil, "-- nothing to give: " .. needless end
    local renamed = of and ((typed[of] or {})[option] or typed.any[option])
    if renamed and message:find("%f[%w_]" .. renamed .. "%f[^%w_]") then return renamed end
    local called = property(message, line, value) or replaced(message, line, value)
    if called then return called end
    local kind, name = message:match "a nil value %((%a+) '([%a_][%w_]*)'%)$"
    if kind == "global" then
        return global(name, line, prompt, message:find "attempt to index" ~= nil)
    end
    if kind then return member(name, line, value, prompt) end
    name = message:match "no method or property '([%w_]+)'"
    if name then return method(name) end
    -- The message lists the possible names: "unknown option 'strid' (expected stride, padding or
    -- groups)".
    local _, word, rest = message:match "(['\"])([%w_]+)%1 %(expected (.*)%)$"
    if not word then _, word, rest = message:match "(['\"])([%w_]+)%1.-; %a+ %a+ (.*)$" end
    return word and nearest(word, words(rest), 1)
end

-- The first variable that the line reads and that is nil; nil where the line sets names of its own.
local function unset_name(line, value)
    local code = line:gsub("%-%-.*", ""):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
    for word in code:gmatch "%a+" do
        if word == "local" or word == "for" or word == "function" then return nil end
    end
    for at, name, after in code:gmatch "()([%a_][%w_]*)()" do
        local field = code:sub(1, at - 1):find "[.:%w]%s*$"
        local set = code:find("^%s*=[^=]", after) or code:find("^%s*,[%w_,%s]*=[^=]", after)
        local word = not load("local " .. name)
        if not (field or set or word) and value(name) == nil then return name end
    end
end

-- Of a message about a nil: the line with Lua's own for the numbers of other languages that it
-- names, 0/0 for nan; else which variable is nil, where the message does not say so.
local function unset(message, line, value, prompt)
    local plain = not prompt and message:find "attempt to " -- Lua's own, in a script
    local of_nil = message:find "%f[%a]nil%f[%A]"
    if plain or not (of_nil or message:find "%f[%a]table%f[%A]") then return nil end -- nan.watch's
    local n = 0
    local text = line:gsub("()%f[%w_.:]([%a_][%w_.]*)%f[^%w_]()", function(at, path, after)
        local own = value(path:match "^[^.]*")
        local quoted = select(2, line:sub(1, at - 1):gsub("[\"']", "")) % 2 == 1
        if quoted then return nil end
        local number = own == nil or path == "nan" and rawequal(own, gpush.nan)
        local form = number and elsewhere().numbers[path]
            or rawequal(own, math) and elsewhere().value(path, math[path:sub(6)] == nil)
        if not form then return nil end
        n = n + 1
        local alone = line:sub(1, at - 1):find "[=,({]%s*$" and (line:find("^%s*[,)}]", after)
            or line:find("^%s*$", after))
        return (alone or form ~= "0/0") and form or "(0/0)"
    end)
    if n > 0 then return text end
    local named = message:find "a nil value %(%a+ '"
    local name = of_nil and not named and unset_name(line, value)
    return name and not message:find("'" .. name .. "'", 1, true)
        and ("-- the variable '%s' is nil"):format(name) or nil
end

return function(message, line, value, prompt)
    message = message:match "^[^\n]*"
    for pattern, advice in next, of_values do
        if message:find(pattern) then return require "shell.foreign".labelled(advice) end
    end
    local text = line and (in_lua(message, line, value) or unset(message, line, value, prompt))
    if text then return require "shell.foreign".labelled(text:match "^%s*(.*)$") end
    local name, words = meant(message, line, value, prompt)
    if words then return "in Lua: " .. words end
    return name and ("did you mean %s?"):format(name)
end
