--!plain
-- Candidates at the cursor: names with a line about each. Reads values with next and rawget only,
-- so that none of the user's code runs; tensors, whose methods are known, are the exception.
local require = ...
local dir = require "dir"
local gpush, shell = require "gpush", require "shell"
local native = shell.native
local know = require "shell.about"
local guarded = require "registry"["gpush.guarded"]
local about, sentence, option_text, documented = know.about, know.sentence, know.option_text,
    know.documented

local keywords = [[and break do else elseif end false for function goto if in local nil not or
    repeat return then true until while]]
local dtypes = { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool" }

-- ---- The text before the cursor ----

-- Its tokens: {kind, text, start}; kinds are "name", "string", "number", "comment" and "op". open:
-- whether the last one is incomplete.
local function tokens(text)
    local out, i = {}, 1
    local function add(kind, stop, open)
        out[#out + 1] = { kind = kind, text = text:sub(i, stop), start = i, open = open }
        i = stop + 1
    end
    while i <= #text do
        local level = text:match("^%-%-%[(=*)%[", i) or text:match("^%[(=*)%[", i)
        local c = text:sub(i, i)
        if level then
            local _, stop = text:find("]" .. level .. "]", i, true)
            add(c == "-" and "comment" or "string", stop or #text, not stop)
        elseif text:find("^%-%-", i) then
            local stop = text:find("\n", i, true)
            add("comment", stop or #text, not stop)
        elseif c == '"' or c == "'" then
            local stop = i
            repeat
                stop = text:find("[\\" .. c .. "]", stop + 1)
                if stop and text:sub(stop, stop) == "\\" then
                    stop = stop + 1
                elseif stop then
                    break
                end
            until not stop
            add("string", stop or #text, not stop)
        elseif c:find "[%a_]" then
            add("name", select(2, text:find("^[%w_]+", i)))
        elseif c:find "%d" then
            add("number", select(2, text:find("^[%w.]+", i)))
        elseif c:find "%s" then
            i = i + 1
        else
            add("op", i)
        end
    end
    return out
end

-- The chain of names that ends with token i, as "a.b:c"; nil where it does not start with a name.
local function chain(list, i)
    local out = {}
    while i > 0 do
        local t = list[i]
        if t.kind ~= "name" then return nil end
        table.insert(out, 1, t.text)
        local sep = list[i - 1]
        if not (sep and (sep.text == "." or sep.text == ":")) then return table.concat(out) end
        table.insert(out, 1, sep.text)
        i = i - 2
    end
end

local pair = { [")"] = "(", ["]"] = "[", ["}"] = "{" }

-- "" where a string in parentheses ends with token i, ("text"), and is not a call's argument; else
-- nil.
local function literal(list, i)
    if i < 3 or list[i].text ~= ")" or list[i - 1].kind ~= "string" or list[i - 2].text ~= "(" then
        return nil
    end
    local called = list[i - 3]
    if called and called.kind == "name" then
        return keywords:find("%f[%a]" .. called.text .. "%f[%A]") and "" or nil
    end
    return not (called and (called.kind == "string" or called.text == ")" or called.text == "]"))
        and "" or nil
end

-- The index of the innermost bracket that is open before token i, and of the one outside it.
local function open_bracket(list, i)
    local depth = 0
    for k = i, 1, -1 do
        local t = list[k].kind == "op" and list[k].text
        if t and pair[t] then depth = depth + 1
        elseif t == "(" or t == "[" or t == "{" then
            if depth == 0 then return k end
            depth = depth - 1
        end
    end
end

-- ---- Values ----

local lazy = { nn = true, optim = true, amp = true, data = true, checkpoint = true, cuda = true }

-- The value of a chain; the user's code is not run.
local function value_of(path)
    local v = _G
    for key in path:gmatch "[%w_]+" do
        if gpush.is_tensor(v) then
            v = native.method(key)
        elseif type(v) == "table" then
            local found = rawget(guarded[v] or v, key)
            for area in next, lazy do
                if found == nil and v == rawget(gpush, area) then found = v[key] end
            end
            v = found
        elseif type(v) == "string" then
            v = string[key]
        else
            return nil
        end
        if v == nil then return nil end
    end
    return v
end

-- The number of commas at the depth of bracket k between it and token i; and the names given there
-- by `name =`.
local function given(list, k, i)
    local n, names, depth = 0, {}, 0
    for at = k + 1, i do
        local t = list[at]
        local text = t.kind == "op" and t.text
        if text and pair[text] then depth = depth - 1
        elseif text == "(" or text == "[" or text == "{" then depth = depth + 1
        elseif depth == 0 and text == "," then n = n + 1
        elseif depth == 0 and text == "=" and list[at - 1].kind ==
            "name" then names[list[at - 1].text] = true end
    end
    return n, names
end

-- The call before bracket k, which may hold its options: its value, its name in topics, and the
-- number of arguments before, including a method's tensor.
local function call_before(list, k)
    local at, before = k - 1, 0
    if list[at] and (list[at].text == "(" or list[at].text == ",") then
        local outer = list[at].text == "(" and at or open_bracket(list, at - 1)
        if not outer or list[outer].text ~= "(" then return nil end
        before = given(list, outer, at)
        at = outer - 1
    end
    if not list[at] or list[at].kind ~= "name" then return nil end
    local path, name = chain(list, at), list[at].text
    local method = list[at - 1] and list[at - 1].text == ":"
    local v = path and value_of(path)
    if v == nil and method then v = native.method(name) end
    if v == nil then return nil end
    if method and rawequal(v, native.method(name)) then return v, name, before + 1 end
    if type(v) == "function" and method then path = (path or name):gsub("^.*[.:]", "") end
    return v, path or name, before + (type(v) == "function" and method and 1 or 0)
end

-- {name, text} of each option of the call before bracket k that is not given yet, up to token i.
local function options(list, k, i)
    local v, path, skip = call_before(list, k)
    if v == nil then return nil end
    local out, last = {}, nil
    local sig, help = native.op(v)
    local _, names = given(list, k, i)
    local listed = (help or "") == "" and documented(path) or {}
    for _, option in ipairs(listed) do
        if not names[option[1]] then out[#out + 1] = option end
    end
    if #listed > 0 then sig = nil end
    local n = 0
    for parameter in ((sig or "") .. ","):gmatch "%s*([^,]+)," do
        local kind, mark, name, default = parameter:match "^(%w+)([!?]*) ([%w_]+)=?(.*)$"
        local needed = help == "" and mark == "" and default == ""
        n, last = n + 1, kind
        if n > skip and not names[name] and not needed and kind ~= "self" and kind ~= "rest" then
            default = default ~= "" and (" [%s]"):format(default) or ""
            local text = option_text(path, name) or kind
            out[#out + 1] = { name, (text:match "^(.-[^%(]+);%s" or text):gsub(" %([^)]*$", "") ..
                default }
        end
    end
    -- ops that make tensors, as in bindings/args/names.c
    if last == "device" and (help or "") ~= "" and not path:find "^nn%."
        and not names.requires_grad then
        out[#out + 1] = { "requires_grad", option_text(path, "requires_grad") .. " [false]" }
    end
    return out
end

-- ---- Candidates ----

-- The kind of a value, as editors name it, and an op's arguments.
local function kind_of(v)
    local meta = type(v) == "table" and debug.getmetatable(v)
    local class = type(meta) == "table" and rawget(meta, "__call")
    local kind = (type(v) == "function" and "function") or (class and "class")
        or (type(v) == "table" and not meta and "module") or "instance"
    local sig = (type(v) == "function" or class) and native.op(v)
    return kind, sig and "(" .. sig .. ")" or nil
end

-- A list of words, unordered and perhaps repeated. Their help is found when they are shown:
-- help(word).
local function results(from)
    local out, helps, tables = { from = from }, {}, {}
    function out.add(text, help, word)
        if text:sub(1, #word) ~= word then return end
        out[#out + 1] = text
        helps[text] = helps[text] or help
    end
    -- The names in t that begin with word; path: the text before them.
    function out.add_names(t, path, word, method)
        local n, pattern = #out, word == "" and "^_?%a[%w_]*$" or "^" .. word .. "[%w_]*$"
        for k, v in next, t do
            if type(k) == "string" and k:find(pattern)
                and (not method or type(v) == "function") then
                n = n + 1
                out[n] = k
            end
        end
        tables[#tables + 1] = { t, path }
    end
    function out.help(text)
        local known = helps[text]
        if known then return type(known) == "function" and known() or known end
        for _, from_table in ipairs(tables) do
            local v = rawget(from_table[1], text)
            if v ~= nil then return about(v, from_table[2] .. text) end
        end
    end
    -- What the word is called: function, class, module, instance, keyword, param or path; and a
    -- function's arguments, if they are known.
    function out.kind(text)
        if text:find " = $" then return "param" end
        for _, from_table in ipairs(tables) do
            local v = rawget(from_table[1], text)
            if v ~= nil then return kind_of(v) end
        end
        if keywords:find("%f[%a]" .. text:gsub("%p", "%%%0") .. "%f[%A]") then return "keyword" end
        return text:find "[/.]" and "path" or "instance"
    end
    return out
end

-- Future members of nn, optim or data: names of files, and of classes in files of other names.
local function add_area(out, t, area, word)
    local homes, families = debug.getmetatable(t).homes, {}
    local function add(name)
        if rawget(t, name) == nil then
            -- which loads its file
            out.add(name, function() return about(t[name], area .. "." .. name) end, word)
        end
    end
    for name, file in next, homes do
        add(name)
        if not homes[file] then families[file] = true end
    end
    for _, file in ipairs(native.list(dir .. "/" .. area)) do
        local name = file:match "^(%u%w*)%.lua$"
        if name and not families[name] then add(name) end
    end
end

-- The area that t is, loaded now if it is loaded on demand; or nil.
local function area_of(t)
    for area in next, lazy do
        if t == rawget(gpush, area) then
            local _ = t.Nothing
            return area
        end
    end
end

-- The functions that a userdata has by name: its __index, or a table that this looks into.
local function methods_of(v)
    local meta = debug.getmetatable(v)
    local index = type(meta) == "table" and rawget(meta, "__index")
    if type(index) == "table" then return index, rawget(meta, "__name") end
    local up = type(index) == "function" and select(2, debug.getupvalue(index, 1))
    return type(up) == "table" and up or {}, type(meta) == "table" and rawget(meta, "__name")
end

-- path: the table's name, as help may know it.
local function add_fields(out, t, path, word, method)
    local area = area_of(t)
    out.add_names(t, path, word, method)
    if area then add_area(out, t, area, word) end
    local meta = debug.getmetatable(t)
    local index = type(meta) == "table" and rawget(meta, "__index")
    if type(index) == "table" and index ~= t then
        add_fields(out, index, guarded[t] and path or "", word, method)
    end
end

-- The members of v, whose name is path; where v is unknown, the possible ones.
local function add_members(out, v, path, sep, word)
    if gpush.is_tensor(v) or (v == nil and sep == ":") then
        if sep == ":" then out.add_names(native.methods(), "", word) end
        if sep == "." then
            for name in next, native.properties() do
                out.add(name, sentence("tensor." .. name), word)
            end
        end
    elseif type(v) == "table" then
        if (v == gpush.sync or v == gpush.sim) and sep == "." then -- their variables
            for name in next, require "help.settings" (path, v) do
                out.add(name, sentence(path .. "." .. name), word)
            end
        end
        add_fields(out, v, path .. ".", word, sep == ":")
    elseif type(v) == "string" and sep == ":" then
        add_fields(out, string, "string.", word, true)
    elseif type(v) == "userdata" then
        local methods, name = methods_of(v)
        add_fields(out, methods, tostring(name):gsub("^gpush%.", "") .. ".", word, sep == ":")
    end
end

local function add_globals(out, word)
    for k in keywords:gmatch "%a+" do out.add(k, function() return sentence(k) end, word) end
    add_fields(out, _G, "", word, false)
end

local function add_files(out, part)
    local folder, base = part:match "^(.*/)([^/]*)$"
    folder, base = folder or "", base or part
    for _, file in ipairs(native.list(folder == "" and "." or folder)) do
        if base:sub(1, 1) == "." or file:sub(1, 1) ~= "." then
            out.add(folder .. file, nil, part)
        end
    end
end

local function add_modules(out, part)
    for name in next, package.loaded do
        if type(name) == "string" then out.add(name, "loaded", part) end
    end
    for name in next, package.preload do out.add(name, nil, part) end
    local inner = part:match "^(.*%.)" or ""
    for template in package.path:gmatch "[^;]+" do
        local before, after = template:match "^(.-)%?(.*)$"
        local folder = before and before .. inner:gsub("%.", "/")
        for _, file in ipairs(folder and native.list(folder == "" and "." or folder) or {}) do
            local name = after == ".lua" and file:match "^([%w_-]+)%.lua$"
                or (after:find "^/init" and file:match "^([%w_-]+)/$")
            if name then out.add(inner .. name, nil, part) end
        end
    end
end

local function add_devices(out, part)
    for _, name in ipairs { "cpu", "gpu", "sim", "cuda" } do out.add(name, "device", part) end
    for _, name in ipairs(gpush.devices()) do out.add(name, "device", part) end
end

local function add_dtypes(out, part)
    for _, name in ipairs(dtypes) do out.add(name, "dtype", part) end
end

-- The quoted words that help lists for the option whose string token i begins.
local function add_values(out, list, i, part)
    local k = list[i - 1].text == "=" and open_bracket(list, i - 1)
    local v, path
    if k and list[k].text == "{" then v, path = call_before(list, k) end
    if v == nil then return end
    for word in (option_text(path, list[i - 2].text) or ""):gmatch "'([%w-]+)'" do
        out.add(word, nil, part)
    end
end

-- Candidates inside the string that token i begins; files only where one was begun.
local function in_string(list, i, wanted)
    local t = list[i]
    local quote = t.text:match "^%[=*%[" or t.text:sub(1, 1)
    local part, before, before2 = t.text:sub(#quote + 1), list[i - 1], list[i - 2]
    local out = results(t.start + #quote)
    if before and before.text == "(" then before, before2 = list[i - 2], list[i - 3] end
    local name = before and before.text or ""
    if name == "=" then name = before2 and before2.text or "" end
    if before and i > 2 then add_values(out, list, i, part) end
    if #out > 0 then return out end
    if name == "require" then add_modules(out, part)
    elseif name == "device" or name == "default_device" or name == "memory" or name == "synchronize"
        or name == "stream" then
        add_devices(out, part)
    elseif name == "dtype" or name == "default_dtype" then add_dtypes(out, part)
    elseif name == "to" then add_devices(out, part) add_dtypes(out, part)
    elseif name == "mode" then
        for _, mode in ipairs { "off", "warn", "error" } do out.add(mode, nil, part) end
    elseif name == "help" then
        for op, row in next, gpush.ops(true) do out.add(op, row.help, part) end
    elseif not wanted then add_files(out, part) end
    return out
end

-- Candidates after the `=` at the end: strings, with their quotes.
local function add_strings(out, list, text)
    list[#list + 1] = { kind = "string", text = '"', start = #text + 1, open = true }
    local inner = in_string(list, #list, true)
    for _, word in ipairs(inner) do
        out.add('"' .. word .. '"', function() return inner.help(word) end, "")
    end
end

local function command_line(text)
    local mark, rest = text:match "^([:%%]%%?)(%a*)$"
    if mark then
        local out, commands = results(#mark + 1), require "shell.commands"
        for _, name in ipairs(commands.names) do out.add(name, commands.list[name].help, rest) end
        return out
    end
    local name, space = text:match "^:?(%S*)()%s"
    if text:sub(1, 1) == "!" or name == "run" or name == "edit" or name == "save"
        or name == "load" then
        local start = text:match "()[^%s]*$"
        local out = results(start)
        add_files(out, text:sub(start))
        return out
    end
    if name == "reload" then
        local out = results(space + 1)
        add_modules(out, text:sub(space + 1))
        return out
    end
end

-- text up to the cursor -> {from = first byte that is replaced, word, …, help = function(word) ->
-- line} or nil.
local function at_cursor(text)
    if text:find "^[:!%%]" and not text:find "^::" then
        local out = command_line(text)
        if out then return out end
        text = text:gsub("^[:%%]%a*", function(s) return (" "):rep(#s) end)
    end
    text = text:gsub("^%?+", function(s) return (" "):rep(#s) end)
    local list = tokens(text)
    local i = #list
    local last = list[i]
    if last and last.open then return last.kind == "string" and in_string(list, i) or nil end
    local word = last and last.kind == "name" and last.start + #last.text - 1 == #text and last.text
        or ""
    local before = word == "" and i or i - 1
    local out = results(#text - #word + 1)
    local sep = list[before]
    if sep and (sep.text == "." or sep.text == ":") then
        local path = chain(list, before - 1)
        add_members(out, path and value_of(path) or literal(list, before - 1), path, sep.text, word)
        return out
    end
    local k = sep and (sep.text == "{" or sep.text == ",") and open_bracket(list, before)
    if k and list[k].text == "{" then
        for _, option in ipairs(options(list, k, before) or {}) do
            out.add(option[1] .. " = ", option[2], word)
        end
        if #out > 0 then return out end
    end
    if word ~= "" then add_globals(out, word)
    elseif sep and sep.text == "=" then add_strings(out, list, text) end
    return out
end

-- The members of v after a dot or a colon.
local function members(v, sep)
    local out = results(1)
    add_members(out, v, "", sep, "")
    return out
end

return { at_cursor = at_cursor, members = members }
