--!plain
-- help: finds what a name refers to, and describes it: a class, a function, a value, a source.
-- help/op.lua describes ops, help/search.lua looks for words, help/page.lua prints; longer texts
-- and examples stand beside what they describe (help/topics.lua).
local require = ...
local gpush, registry = require "gpush", require "registry"
local safe = registry["gpush.safe"]

local dir, op_name = require "dir", registry["gpush.signature"]
local composites = registry["gpush.composites"]
local topic, page, search = require "help.topic", require "help.page", require "help.search"
local print, put, plain, wrapped = page.print, page.put, page.plain, page.wrapped
local about = require "help.op"
local call_text, show_op, show_topic = about.call_text, about.show, about.show_topic
local find -- below

-- ---- Source ----

-- The function of a composite that ops/cast_args.lua or ops/round_once.lua calls with other
-- arguments.
local function wrapped_by(f)
    for i = 1, debug.getinfo(f, "u").nups do
        local name, inner = debug.getupvalue(f, i)
        if name == "fn" and type(inner) == "function" then return wrapped_by(inner) end
    end
    return f
end

local function function_of(f)
    if op_name(f) and type(f) == "function" and debug.getinfo(f, "S").what == "C" then
        local _, inner = debug.getupvalue(f, 2)
        return type(inner) == "function" and wrapped_by(inner) or nil
    end
    return f
end

-- The lines of a file, or of what was typed at the prompt (shell/inputs.c).
local function lines_of(info)
    local f = info.source:sub(1, 1) == "@" and io.open(info.source:sub(2))
    local typed = (registry["gpush.inputs"] or {})[info.source]
    local text = {}
    for line in f and f:lines() or (typed and typed .. "\n" or ""):gmatch "([^\n]*)\n" do
        text[#text + 1] = line
    end
    if f then f:close() end
    return text
end

-- Prints where a function is defined, and its text if that is known.
local function show_source(f, name)
    local inner = function_of(f)
    local info = inner and debug.getinfo(inner, "S")
    if not info or info.what == "C" then
        local row = op_name(f)
        put("%s is written in C%s", name,
            row and (": %s's row is in tensor/ops/table, its kernel in kernels/cpu")
                :format(row)
                or "")
        return
    end
    put("%s:%d", info.short_src, info.linedefined)
    local text = lines_of(info)
    for i = info.linedefined, math.min(info.lastlinedefined, #text) do print(plain(text[i])) end
    if #text == 0 then print "(its text is not known)" end
end

-- A class of gpush's own has its own file, or one with its family.
local function show_class(t, name)
    local file
    for _, key in ipairs { "init", "forward" } do
        local f = rawget(t, key)
        local source = type(f) == "function" and debug.getinfo(f, "S").source
        if source and source:sub(2, #dir + 1) == dir and not source:find "/init.lua$" then
            file = source
        end
    end
    if not file then return false end
    put("%s: %s", name, file:sub(2))
    for _, line in ipairs(lines_of { source = file }) do print(line) end
    return true
end

-- The comment right above a function.
local function comment(f)
    local info = debug.getinfo(f, "S")
    local text, first = lines_of(info), info.linedefined - 1
    while first > 0 and (text[first] or ""):find "^%s*%-%-" do first = first - 1 end
    for i = first + 1, info.linedefined - 1 do put("    %s", (text[i]:gsub("^%s*%-+%s?", ""))) end
end

-- ---- Values ----

local function show_tensor(x)
    local shape = table.concat(x.shape, "x")
    put("a tensor: %s, %s, on %s", x.dtype, shape == "" and "0-d" or shape, x.device)
    put("    %d elements, %d bytes, strides {%s}%s%s", x:numel(), x:numel() * x:element_size(),
        table.concat(x:stride(), ", "), x:is_contiguous() and "" or ", not contiguous",
        x.requires_grad and ", requires gradients" or "")
    print "    its values were not read; x:<Tab> lists its methods, ?x.sum tells about one"
end

-- What topics say about v under that name, unless the user has redefined it.
local function known_as(v, name)
    local t, own = topic(name), gpush
    local method = rawequal(v, registry["gpush.tensor.methods"][name:match "[^.]*$"])
    if not t or method or (name:find "%." and type(v) == "userdata") then return t end
    for key in name:gmatch "[^.]+" do own = type(own) == "table" and rawget(own, key) or nil end
    if own == nil and type(v) == "table" then own = name == "arg" and v or package.loaded[name] end
    if own ~= nil then return rawequal(v, own) and t or nil end
    if type(v) ~= "function" then return t end
    local info = debug.getinfo(v, "S")
    return (info.what == "C" or info.source:sub(2, #dir + 1) == dir) and t or nil
end

-- The name under which topics describe v, if any.
local function name_of(v)
    local method = registry["gpush.kernel.methods"]
    if method and method[v] and topic(method[v]) then return method[v] end
    for name, f in next, registry["gpush.tensor.methods"] do
        if rawequal(f, v) then return topic("tensor." .. name) and "tensor." .. name or name end
    end
    local _, topics = topic ""
    for name in next, topics do
        local at = _G
        for key in tostring(name):gmatch "[^.]+" do
            at = type(at) == "table" and rawget(at, key) or nil
        end
        if at ~= nil and rawequal(at, v) then return name end
    end
end

local lazy = { nn = true, optim = true, amp = true, data = true, checkpoint = true, cuda = true }

-- The names in a table that help lists, in order. Classes of nn, optim and the like are loaded when
-- they are first used: topics have their names, and what stands there besides has a signature.
local function members(t, name)
    local names, area = {}, lazy[name] and rawequal(t, rawget(gpush, name)) and t.Nothing == nil
    for k, v in next, registry["gpush.guarded"][t] or t do
        local listed = not area or type(v) ~= "function" or op_name(v) or topic(name .. "." .. k)
        if type(k) == "string" and k:find "^%a[%w_]*$" and listed then names[k] = true end
    end
    local _, all = topic ""
    for full in next, area and all or {} do
        local group, member = tostring(full):match "^([%w.]+)%.([%w_]+)$"
        if group == name and member ~= "any" then names[member] = true end
    end
    local list = {}
    for k in next, names do list[#list + 1] = k end
    table.sort(list)
    return list
end

local function show_table(t, name)
    local meta = debug.getmetatable(t)
    local call = type(meta) == "table" and rawget(meta, "__call")
    for i = 1, 4 do
        local _, up = debug.getupvalue(call or print, i)
        local op, sig, help = op_name(up)
        if call and op then return show_op(op, sig, help) end
    end
    local known = known_as(t, name)
    if not known then
        local class = type(meta) == "table" and rawget(meta, "__name")
        put("%s: a %s", name, type(class) == "string" and safe(class) or "table")
        local text = type(meta) == "table" and rawget(meta, "__help")
        if type(text) == "string" then wrapped(text, "    ") end
    end
    local Module = rawget(gpush.nn, "Module")
    if Module and type(meta) == "table" and rawget(meta, "__tostring") == Module.__tostring then
        return print(tostring(t))
    end
    local names = members(t, name)
    if known then page.call(known.call or name) show_topic(known) end
    if #names > 0 then wrapped("fields: " .. table.concat(names, ", "), "    ") end
end

local function show_value(v, name, how)
    local op, sig, help = op_name(v)
    if how.source and type(v) == "function" then return show_source(v, name) end
    if how.source and type(v) == "table" and show_class(v, name) then return end
    if op and help ~= "" then return show_op(op, sig, help) end
    if gpush.is_tensor(v) then return show_tensor(v) end
    if type(v) == "table" then return show_table(v, name) end
    local known = known_as(v, name)
    if type(v) ~= "function" then
        put("%s: a %s, %s", name, type(v), safe(tostring(v)))
        return known and show_topic(known)
    end
    page.call(known and known.call or sig and call_text(name, sig) or name)
    if known and known.text then return show_topic(known) end
    v = function_of(v) or v
    local info = debug.getinfo(v, "Su")
    local arguments = info.nparams .. " argument" .. (info.nparams == 1 and "" or "s")
    if not sig and not known then
        put("    a function of %s, %s", info.isvararg and "any number of arguments" or arguments,
            info.what == "C" and "written in C" or info.short_src .. ":" .. info.linedefined)
    end
    local n = page.count()
    if info.what ~= "C" then comment(v) end
    local commented = page.count() > n
    local area = info.source:sub(2, #dir + 1) == dir and info.source:sub(#dir + 3):match "^%w+"
    local member = area and topic(area .. ".any." .. name:match "[^.:]*$")
    if member and commented then member = { waits = member.waits } end -- beside its comment
    if known or member then show_topic(known or member) end
end

-- ---- Names and words ----

-- The functions that a userdata has by name: its __index, or a table that this looks into.
local function methods_of(v)
    local meta = debug.getmetatable(v)
    local index = type(meta) == "table" and rawget(meta, "__index")
    if type(index) == "table" then return index, rawget(meta, "__name") end
    local i, up = 1
    repeat
        up, i = select(2, debug.getupvalue(type(index) == "function" and index or print, i)), i + 1
    until up == nil or type(up) == "table"
    return up or {}, type(meta) == "table" and rawget(meta, "__name")
end

-- The value of from[key], without the user's metamethods; and its name in topics, which is path if
-- no other is known.
local function step(from, key, path)
    if gpush.is_tensor(from) then
        local method = registry["gpush.tensor.methods"][key]
        return method, method and not topic("tensor." .. key) and key or "tensor." .. key
    end
    if type(from) == "userdata" then
        local index, name = methods_of(from)
        return rawget(index, key), tostring(name):gsub("^gpush%.", "") .. "." .. key
    end
    if type(from) == "string" then return string[key], "string." .. key end
    local v
    if type(from) == "table" then v = rawget(from, key) end
    for area in next, lazy do
        if v == nil and from == rawget(gpush, area) then
            -- loads the area, or the class's file
            local class = from[key:find "^%u" and key or "Nothing"]
            v = class or rawget(from, key)
        end
    end
    if from == _G or from == gpush then return v == nil and gpush[key] or v, key end
    local class = type(from) == "table" and debug.getmetatable(from)
    -- a method of an object's class, or of one of its base classes
    while v == nil and type(class) == "table" do
        class = rawget(class, "__index")
        if type(class) ~= "table" then break end
        v, class = rawget(class, key), debug.getmetatable(class)
    end
    return v, path
end

-- The value of a dotted name, and its name in topics.
function find(name)
    if ("." .. name):gsub("[.:][%w_]+", "") ~= "" then return nil end
    local v, path = _G, ""
    for key in name:gmatch "[^.:]+" do
        v, path = step(v, key, path == "" and key or path .. "." .. key)
        if v == nil then break end
    end
    return v, path
end

-- The op that a name means although there is no such variable: "sum_", "linalg_svd", a method's
-- name.
local function find_op(name)
    local plain = name:gsub("^linalg_", "linalg.")
    if composites[plain] then return composites[plain] end
    local v = registry["gpush.tensor.methods"][name] or find((name:gsub("_", ".", 1)))
    for _, group in ipairs { "linalg", "fft" } do v = v or rawget(gpush[group], name) end
    return v
end

local function way_in()
    wrapped("?name or help \"name\" tells about an op, a class, a variable; ??name shows its \z
        source; help \"words\" searches.", "")
    wrapped("Tab completes: x:su<Tab>, nn.<Tab>, zeros(3, {<Tab>. :help lists the prompt's \z
        commands, Ctrl-D ends.", "")
    for _, part in ipairs(topic(1)) do wrapped(part[1] .. ": " .. part[2], "    ") end
    put("    and %d more ops: help \"words\" finds them, ops(true) is their table", 0 + (function()
        local n = 0
        for _ in next, page.rows() do n = n + 1 end
        return n
    end)())
end

-- The first sentence of scripts/lua/data/Loader.lua, for "data.Loader"; false without such a file.
local function file_help(name)
    local folder, file = name:match "^(%w+)%.(%w+)$"
    local f = folder and io.open(("%s/%s/%s.lua"):format(dir, folder, file))
    for line in f and f:lines() or function() end do
        if not line:find "^%-%-" then break end
        if line ~= "--!plain" then print((line:gsub("^%-%-%s?", ""))) end
    end
    if f then f:close() end
    return f ~= nil
end

-- Describes what a name refers to; false if nothing does.
local function show_name(name, how)
    local v, path = find(name)
    local known = topic(path or name)
    local c = type(v) == "function" and not op_name(v) and debug.getinfo(v, "S").what == "C"
        and not known_as(v, path)
    -- Lua's own select hides the op's name
    if v == nil and not known or c then v = find_op(name) or v end
    local _, _, text = op_name(v)
    if (text or "") == "" and not how.source and file_help(name) and not name:find "^nn" then
        show_topic(topic(name) or {})
        return true
    end
    if v ~= nil then
        show_value(v, known and path or name, how)
    elseif known then
        page.call(known.call or name)
        show_topic(known)
        if known.list then known.list(page.print) end
    end
    return v ~= nil or known ~= nil
end

local function line_of(name) return select(3, op_name((find(name)))) or "" end

-- The rows of a package's function in shell/rows.lua, as "np.median(x, axis): in Lua quantile(x,
-- 0.5, axis)", and what they call; false where it has none.
local function show_rows(name, how)
    local elsewhere = require "shell.elsewhere"
    local forms = elsewhere.forms[elsewhere.keys(name)[1]]
    local function words(text)
        return (text:gsub(",? ?%*%*", ""):gsub("%f[%w_](%u[%u%d_]*)%f[^%w_]%??", string.lower))
    end
    local called
    for _, form in ipairs(forms or {}) do
        called = called or form.text:match "^(%l[%w_.]*)[({]"
        local call = words(("%s(%s)"):format(name, table.concat(form.words, ", ")))
        wrapped(("%s: in Lua %s%s"):format(call, words(form.text), form.note
            and "  -- " .. form.note or ""), "")
    end
    if called then show_name(called, how) end
    return forms ~= nil
end

-- Describes what a name of PyTorch's or NumPy's is here; false where none is known.
local function show_elsewhere(name, how)
    local elsewhere = require "shell.elsewhere"
    if not elsewhere.is_package(name, find) then return false end
    if show_rows(name, how) then return true end
    local own = elsewhere.value(name, true) or elsewhere.name(name)
    local words, known = elsewhere.advice(name)
    if not own and not known then return false end
    print(("%s: in Lua %s"):format(name, own or words))
    if own and own:find "^[%a_][%w_.]*$" then show_name(own, how) end
    return true
end

local function help_name(name, how)
    if show_name(name, how) or show_elsewhere(name, how) then return end
    local meant = search.meant(name)
    if not (meant and name:find "^[%a_][%w_]*[.:]") and search.show(name, line_of) then return end
    -- an object, so that nobody gets a traceback
    local message = ("help: nothing is called '%s'%s"):format(safe(name), meant or
        ', and nothing mentions it; try other words, such as help "slow" or help "matrix \z
            product", or help() for the way in')
    error(setmetatable({}, { __tostring = function() return message end }), 0)
end

local function help(what, how)
    if what == nil then return way_in() end
    if type(what) == "string" then return help_name(what, how) end
    if type(what) == "number" or type(what) == "boolean" then
        error("help: expected the name of an op, its function or words to search for, got " ..
            type(what), 0)
    end
    return show_value(what, op_name(what) or name_of(what) or "it", how)
end

-- Prints the page. quiet: returns it as text, of a name only; nil: nothing is called so.
return function(what, source, quiet)
    page.start()
    if quiet then
        local how = { source = source }
        return (show_name(what, how) or show_elsewhere(what, how)) and page.text() or nil
    end
    help(what, { source = source })
    _G.print(page.text())
end
