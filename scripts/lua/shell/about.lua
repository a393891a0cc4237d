--!plain
-- The meaning of a name, in one line, for the candidates of completion: from the op table, from
-- help's topics, from the comment above a function of gpush's own Lua, or from the value itself.
local require = ...
local dir = require "dir"
local gpush, shell = require "gpush", require "shell"
local native = shell.native
local guarded = require "registry"["gpush.guarded"]

local function topic(name) return require "help.topics"[name] or {} end

-- The file of a function of gpush's own Lua, and its first line.
local function place(f)
    local info = debug.getinfo(f, "S")
    if info.source:sub(2, #dir + 1) == dir then return info.source:sub(2), info.linedefined end
end

-- The first line of the comment above such a function.
local read = {}
local function comment(f)
    local file, line = place(f)
    if not file then return nil end
    if not read[file] then
        read[file] = {}
        for line in io.lines(file) do table.insert(read[file], line) end
    end
    local at, found = line - 1, nil
    while (read[file][at] or ""):find "^%s*%-%-" do found, at = read[file][at], at - 1 end
    return found and found:gsub("^%s*%-+%s*", "")
end

-- The value of a dotted name in t.
local function inside(t, name)
    for key in name:gmatch "[^.]+" do
        t = type(t) == "table" and rawget(guarded[t] or t, key) or nil
    end
    return t
end

-- Whether v is what topics describe under that name: gpush's own, a method of tensors, or of Lua's
-- library.
local function is_known(v, name)
    local own = inside(gpush, name)
    if own == nil then own = name == "arg" and v or inside(package.loaded, name) end
    if own ~= nil and rawequal(v, own) or rawequal(v, native.method(name:match "[^.]*$")) then
        return true
    end
    return own == nil and type(v) == "function"
        and (debug.getinfo(v, "S").what == "C" or place(v) ~= nil)
end

-- The first sentence of a topic.
local function sentence(name)
    local text = topic(name).text
    return text and ((text:match "^.-[.;]%f[%s\0]" or text):gsub(";$", "."))
end

-- The meaning of members of that name in all classes of an area: nn.any.forward.
local function member(f, name)
    local area = debug.getinfo(f, "S").source:match("^@" .. dir:gsub("%p", "%%%0") .. "/(%w+)/")
    return area and sentence(area .. ".any." .. name:match "[^.]*$")
end

-- The first sentence of scripts/lua/data/Loader.lua about data.Loader, after the colon.
local function head(name)
    local folder, class = name:match "^(%l+)%.(%u%w*)$"
    local f = folder and io.open(("%s/%s/%s.lua"):format(dir, folder, class))
    local text = f and f:read(1000):gsub("\n%-%- ?", " ")
    if f then f:close() end
    return text and text:match(class .. ".-: (.-)[;.]%s")
end

-- The Lua function that a declared one calls once its arguments are checked; any other function
-- itself.
local function inner(v)
    local _, f = debug.getupvalue(native.op(v) and type(v) == "function" and v or print, 2)
    return type(f) == "function" and f or v
end

local function about(v, name)
    local _, help = native.op(v)
    if help and help ~= "" then return help end
    name = name and name:gsub("^gpush%.", "")
    local own = name and inside(gpush, name)
    if native.op(own) and not rawequal(v, own) and type(v) == "function"
        and debug.getinfo(v, "S").what == "C" then
        return select(2, native.op(own)) -- Lua's select, which shadows the op's
    end
    local method = name and topic("tensor." .. name).text and rawequal(v, native.method(name))
    local text = name and is_known(v, name) and sentence(method and "tensor." .. name or name)
    if text then return text end
    if gpush.is_tensor(v) then
        return ("tensor, %s %s %s"):format(v.dtype, table.concat(v.shape, "x"), v.device)
    end
    if type(v) == "string" then return #v < 30 and ("%q"):format(v):gsub("\n", "n") or "string" end
    if type(v) == "number" or type(v) == "boolean" then return tostring(v) end
    local line = type(v) == "function" and (comment(inner(v)) or member(inner(v), name or ""))
    return line or name and rawequal(v, own) and head(name) or type(v)
end

-- The "name: what; name: what" of a topic's options, pair by pair; a text may itself contain
-- semicolons.
local function listed(text)
    return (text:gsub("; ([%w_]+): ", "\n%1: ")):gmatch "([%w_]+): ([^\n]+)"
end

-- The text of an option, by the topic of its op or only by its name.
local function option_text(path, name)
    local option_texts = require "help.options"
    -- nn.Conv2d: conv2d
    local known = topic(path).options or topic((path:gsub("^nn%.", ""):lower())).options or ""
    local own
    for option, text in listed(known) do own = own or option == name and text end
    return own or option_texts[path .. "." .. name] or option_texts[name]
end

-- Options of other functions than ops: as in help, or as the head of a file of scripts/data lists
-- them.
local function documented(path)
    local out, area, file = {}, path:match "^(data)%.(%u%w*)$"
    for name, help in listed(topic(path).options or "") do out[#out + 1] = { name, help } end
    local f = file and io.open(("%s/%s/%s.lua"):format(dir, area, file))
    for line in f and f:lines() or function() end do
        local name, help = line:match "^%-%- (%l[%w_]*)  +(%S.*)$"
        if not line:find "^%-%-" then break end
        out[#out + 1] = name and { name, help:match "^(.-)[;.]%s" or help }
    end
    if f then f:close() end
    return out
end

return { about = about, sentence = sentence, option_text = option_text, documented = documented }
