--!plain
-- Answers text in another language, Python above all, with its Lua form, in the names that were
-- typed.
local _, shell, dir = ...
local foreign = {}
local python = shell.part "python"
local source = assert(loadfile(dir .. "/source.lua", "t"))()

-- ---- a line that opens a block: for i in range(3): ----

-- The line up to a colon outside brackets that ends it or comes before a space, and the rest; nil
-- if there is none.
local function at_colon(line)
    local depth = 0
    for i = 1, #line do
        local c = line:sub(i, i)
        if c:find "[%(%[{]" then
            depth = depth + 1
        elseif c:find "[%)%]}]" then
            depth = depth - 1
        end
        if c == ":" and depth == 0 and line:find("^%s", i + 1) or c == ":" and depth == 0
            and i == #line then
            if line:sub(i - 1, i - 1) == ":" then return nil end
            return line:sub(1, i - 1),
                (line:sub(i + 1):gsub("^%s*#.*$", ""):gsub("%s+#%s.*$", ""):match "^%s*(.-)%s*$")
        end
    end
end

local COUNT = "Lua counts from 1"

local function expression(e, notes) return python.expression(e, notes) end

-- The head of a loop.
local function loop(names, over, notes)
    local n = over:match "^range(%b())$"
    if n then
        local a, b, step = table.unpack(python.split(n:sub(2, -2), ","))
        local last = b or a
        local number = math.tointeger(tonumber(last))
        if b then last = number and tostring(number - 1) or last .. " - 1" end
        if not b then notes[#notes + 1] = COUNT end
        return ("for %s = %s, %s%s do"):format(
            names, b and a or "1", expression(last, notes), step and ", " .. step or "")
    end
    local steps = over:match "^tqdm(%b())$"
    if steps then
        local count = steps:match "^%(range%(([^,]*)%)%)$"
        return ("for %s in progress(%s) do"):format(
            names, count or expression(steps:sub(2, -2), notes))
    end
    local first, second = table.unpack(python.split(names:gsub("[()]", ""), ","))
    local list = over:match "^enumerate(%b())$"
    if list and second then
        local form = list:find "loader%)$" and "for %s in %s() do" or "for %s in ipairs(%s) do"
        return form:format(names:gsub("[()]", ""), expression(list:sub(2, -2), notes))
    end
    list = over:match "^zip(%b())$"
    if list and second then
        local xs, ys = table.unpack(python.split(list:sub(2, -2), ","))
        return ("for i, %s in ipairs(%s) do local %s = %s[i]"):format(first, xs, second, ys or "ys")
    end
    list = over:match "^(.*)%.items%(%)$"
    if list and second then return ("for %s, %s in pairs(%s) do"):format(first, second, list) end
    local value = rawget(_G, over)
    if type(value) == "table" and getmetatable(value) == nil and value[1] == nil then
        return ("for %s in pairs(%s) do"):format(names, over)
    end
    if over:find "loader$" then return ("for step, %s in %s() do"):format(names, over) end
    local text = over:match "^(.*)%.split%(%)$"
    if text then return ('for %s in %s:gmatch "%%S+" do'):format(names, text) end
    over = expression(over, notes)
    if over:find "[.:]named_[%w_]+%(%)$" then return ("for %s in %s do"):format(names, over) end
    return ("for _, %s in ipairs(%s) do"):format(names, over)
end

local function parameters(list)
    local names = {}
    for _, p in ipairs(python.split(list, ",")) do
        names[#names + 1] = p:match "^[*]*([%a_][%w_]*)"
    end
    local method = names[1] == "self" and table.remove(names, 1)
    return table.concat(names, ", "), method ~= false and method ~= nil
end

-- Options of PyTorch's profiler that profile.run takes, too.
local recorded = { with_stack = true, record_shapes = true, profile_memory = true,
    with_flops = true }

-- with profile(with_stack=True) as prof: a function is recorded here.
local function recording(options, name)
    local list = {}
    for key, value in options:gmatch "([%a_]+)%s*=%s*(%a+)" do
        if recorded[key] then list[#list + 1] = key .. " = " .. value:lower() end
    end
    return ("%s = profile.run(%sfunction()"):format(name, #list > 0 and "{"
        .. table.concat(list, ", ") .. "}, " or "")
end

-- The start of each kind of block: pattern of its head, the start in Lua, its end, and what Lua
-- lacks there.
local blocks = {
    { "^for%s+(.-)%s+in%s+(.+)$", loop, " end", "'do' expected near ':'" },
    { "^while%s+(.+)$", function(c, _, notes) return "while " .. expression(c, notes) .. " do" end,
        " end", "'do' expected near ':'" },
    { "^if%s+(.+)$", function(c, _, notes) return "if " .. expression(c, notes) .. " then" end,
        " end", "'then' expected near ':'" },
    { "^elif%s+(.+)$",
        function(c, _, notes) return "elseif " .. expression(c, notes) .. " then" end, "" },
    { "^else$", function() return "else" end, "" },
    { "^try$", function() return "local ok, message = pcall(function()" end, " end)" },
    { "^except.*$", function() return "if not ok then" end, " end" },
    { "^finally$", function() return "do" end, " end" },
    { "^with%s+[%w_.]-profile%((.*)%)%s+as%s+([%w_]+)$",
        recording, " end)" },
    { "^with%s+torch%.cuda%.stream%((.+)%)$",
        function(s, _, notes) return expression(s, notes) .. ":use(function()" end, " end)" },
    { "^with%s+(.+)%s+as%s+([%w_]+)$",
        function(v, name, notes)
            return ("do local %s <close> = %s"):format(name, expression(v, notes))
        end, " end" },
    { "^with%s+(.+)$",
        function(v, _, notes) return "do local _ <close> = " .. expression(v, notes) end, " end" },
    { "^def%s+([%w_]+)%s*%((.*)%)", function(name, list)
        local names, method = parameters(list)
        if method then
            name = "Name:" .. name:gsub("^__init__$", "init"):gsub("^__call__$", "forward")
        end
        return ("function %s(%s)"):format(name, names)
    end, " end" },
    { "^class%s+([%w_]+)%s*%(([%w_.]*Module)%)$",
        function(name)
            return ('%s = nn.module "%s" function %s:forward(x)'):format(name, name, name)
        end, " end" },
    { "^class%s+([%w_]+)%s*%(([%w_.]*Dataset)%)$",
        function(name)
            return ("%s = data.Dataset{size = n, get = function(self, i)"):format(name)
        end, " return … end}" },
    { "^class%s+([%w_]+)",
        function(name)
            return ("%s = {} %s.__index = %s function %s.new()"):format(name, name, name, name)
        end,
        (" return setmetatable({}, Name) end") },
}

local function opened(line)
    local head, body = at_colon(line:match "^%s*(.-)%s*$")
    if not head or head:find "%f[%w_]do%f[^%w_]" or head:find "%f[%w_]then%f[^%w_]" then
        return nil
    end
    if body:find "%f[%w_]do%f[^%w_]" or body:find "%f[%w_]then%f[^%w_]" then return nil end
    for _, block in ipairs(blocks) do
        local a, b = head:match(block[1])
        if a then return block, a, b, body end
    end
end

-- ---- a line that is a statement ----

-- Pattern of the masked line, and the statement; nil if it is not one after all.
local statements = {
    { "^print%s+([^(=.].*)$", function(e, notes)
        return not e:find "^[\"']\2%d+\3[\"']$" and "print(" .. expression(e, notes) .. ")" or nil
    end },
    { "^del%s+([%w_., ]+)$", function(e) return e .. " = nil" end },
    { "^raise%s+[%w_.]+(%b())$", function(e, notes) return "error" .. expression(e, notes) end },
    { "^raise%s+([%w_.]+)$", function(e) return ('error("%s")'):format(e) end },
    { "^pass$", function() return "--[[ nothing ]]" end },
    { "^raise$", function() return "error(message)" end },
    { "^assert%s+(.+),%s*(f?[\"'].*[\"'])$",
        function(e, m, notes)
            return ("assert(%s, %s)"):format(expression(e, notes), expression(m, notes))
        end },
    { "^assert%s+(.+)$", function(e, notes) return "assert(" .. expression(e, notes) .. ")" end },
    { "^yield%s+(.+)$",
        function(e, notes) return "coroutine.yield(" .. expression(e, notes) .. ")" end },
    { "^print%((.*),%s*file%s*=%s*sys%.stderr%)$",
        function(e, notes)
            return ('io.stderr:write(tostring(%s), "\\n")'):format(expression(e, notes))
        end },
    { "^print%((.*),%s*sep%s*=%s*([\"'].-[\"'])%)$",
        function(e, mark, notes)
            return ("print(table.concat({%s}, %s))"):format(expression(e, notes), mark)
        end },
    { "^print%((.*),%s*end%s*=%s*([\"'].-[\"'])%)$",
        function(e, last, notes)
            return ("io.write(%s, %s)"):format(expression(e, notes), last)
        end },
    { "^let%s+(.+)$", function(e, notes) return "local " .. expression(e, notes) end },
    { "^var%s+(.+)$", function(e, notes) return "local " .. expression(e, notes) end },
    { "^const%s+(.+)$", function(e, notes) return "local " .. expression(e, notes) end },
    { "^([%a_][%w_]*)%s*=%s*([%a_][%w_]*)%s*=%s*([^=].*)$",
        function(a, b, e, notes)
            return ("%s = %s; %s = %s"):format(b, expression(e, notes), a, b)
        end },
    { "^([%w_]*)%s*=?%s*%[(.+)%s+for%s+([%w_, ]+)%s+in%s+([^%]]+)%]$",
        function(name, e, var, over, notes)
        name = name == "" and "list" or name
        local head = loop(var, over:match "^(.-)%s+if%s" or over, notes)
        local cond = over:match "%sif%s+(.+)$"
        local add = ("%s[#%s + 1] = %s"):format(name, name, expression(e, notes))
        return ("%s = {} %s %s end"):format(name, head,
            cond and ("if %s then %s end"):format(expression(cond, notes), add) or add)
    end },
    { "^([%w_]*)%s*=?%s*{([^:]+):%s*(.+)%s+for%s+([%w_, ]+)%s+in%s+(.+)}$",
        function(name, key, e, var, over, notes)
            name = name == "" and "t" or name
            return ("%s = {} %s %s[%s] = %s end"):format(name, loop(var, over, notes), name,
                expression(key, notes), expression(e, notes))
        end },
    -- sum(e for v in list)
    { "^([%w_]*)%s*=?%s*sum%(%[?(.+)%s+for%s+([%w_, ]+)%s+in%s+([^%]]+)%]?%)$",
        function(name, e, var, over, notes)
            name = name == "" and "n" or name
            return ("%s = 0 %s %s = %s + %s end"):format(name, loop(var, over, notes), name, name,
                expression(e, notes))
        end },
    { "^(.-)=%s*next%(iter%(([%w_.]+)%)%)$",
        function(to, loader) return ("step, %s= %s()()"):format(to, loader) end },
    { "^([%w_.]+)[.:]load_state_dict%(torch%.load%(([^,)]+).*%)%)$",
        function(model, file) return python.functions["torch.load"](file, nil, model) end },
    -- out, (h, c) = lstm(x)
    { "^([%w_., ]-),%s*%(([%w_, ]+)%)%s*=%s*([^=].*)$", function(a, b, e, notes)
        return ("%s, %s = %s"):format(a, b, expression(e, notes))
    end },
    { "^([%w_.%[%]\"'\2\3]+)%.append%((.*)%)$",
        function(t, e, notes) return ("%s[#%s + 1] = %s"):format(t, t, expression(e, notes)) end },
    { "^([^=]-)%s*([-+*/%%^@|&]+)=%s*([^=].*)$", function(t, op, e, notes)
        t, e = expression(t, notes), expression(e, notes)
        if e:find "[^%w_.()%[%]]" and not e:find "^%b()$" then e = "(" .. e .. ")" end
        if op == "+" or op == "-" or op == "*" or op == "/" then
            notes[#notes + 1] = ("of a tensor in place: %s:%s_(…)"):format(
                t, ({ ["+"] = "add", ["-"] = "sub", ["*"] = "mul", ["/"] = "div" })[op])
        end
        return ("%s = %s %s %s"):format(t, t, op == "**" and "^" or op, e)
    end },
    -- settings of CUDA's libraries, which are functions here
    { "^torch%.backends%.([%w_.]+)%s*=%s*(.+)$", function(path, e, notes)
        local setting = ({ ["cudnn.benchmark"] = "benchmark", ["cudnn.allow_tf32"] = "tf32",
            ["cudnn.deterministic"] = "deterministic", ["cuda.matmul.allow_tf32"] = "tf32" })[path]
        return setting and ("cuda.%s(%s)"):format(setting, expression(e, notes))
    end },
    { "^([%w_.]+)%+%+$", function(t) return ("%s = %s + 1"):format(t, t) end },
    { "^([%w_]+)%s*:=%s*(.+)$",
        function(t, e, notes) return t .. " = " .. expression(e, notes) end },
    { "^([%w_]+)%s*:%s*[%a][%w_.]*%s*=%s*(.+)$",
        function(t, e, notes) return t .. " = " .. expression(e, notes) end },
    { "^(return)%s+(.+)$", function(r, e, notes) return r .. " " .. expression(e, notes) end },
    { "^(local%s+[%w_, ]+=)%s*([^=].*)$",
        function(t, e, notes) return t .. " " .. expression(e, notes) end },
    { "^([%w_.]+%s*,[%w_., ]+=)%s*(%b())$",
        function(t, list, notes) return t .. " " .. expression(list:sub(2, -2), notes) end },
    { "^([%w_.]+%s*,[%w_., ]+=)%s*(%b[])$",
        function(t, list, notes) return t .. " " .. expression(list, notes):sub(2, -2) end },
    { "^([%w_., ]+)=%s*([^=].*)$",
        function(t, e, notes) return expression(t, notes) .. "= " .. expression(e, notes) end },
    { "^([%w_.]+)(%b[])%s*=%s*([^=].*)$",
        function(t, i, e, notes)
            return expression(t .. i, notes) .. " = " .. expression(e, notes)
        end },
}

local function statement(line, notes)
    for _, s in ipairs(statements) do
        local a, b, c, d, e = line:match(s[1])
        if a then
            local given = { a, b, c, d, e }
            given[#given + 1] = notes
            local text = s[2](table.unpack(given))
            if text then return text end
        end
    end
    return expression(line, notes)
end

-- Python's comments, and strings that only document.
local function comments(line, typed)
    if line:find "^#" then return "-- " .. line:gsub("^#+%s*", "") end
    if typed:find '^"""' or typed:find "^'''" then return "-- " .. line:sub(2, -2) end
    return line:gsub("%s+#%s.*$", "")
end

-- Python's functions without a counterpart here.
local builtins = { map = true, filter = true, reversed = true, super = true, set = true,
    tuple = true, iter = true, vars = true, sorted = true }

-- Whether it is Lua, without a package's names or Python's words.
local function compiles(text)
    text = text:gsub("…", "")
    for package in text:gmatch "%f[%w_.]([%a_][%w_]*)%." do
        if python.packages[package] and rawget(_G, package) == nil then return false end
    end
    for name in text:gmatch "%f[%w_.:]([%a_][%w_]*)%(" do
        if builtins[name] and rawget(_G, name) == nil then return false end
    end
    if text:find("[:.]split%(") then return false end
    return load(text, "=", "t") or load("return " .. text, "=", "t")
        or load("repeat " .. text .. " until true", "=", "t") -- break
end

-- The line in Lua, and notes; nil where nothing in it is foreign, or the result is not Lua either.
function foreign.line(typed)
    local rest = typed:match "^%s*(.-)%s*$"
    local notes, fragment = {}, nil
    local text = python.masked(rest, function(line)
        local block, a, b, body = opened(line)
        if not block then return (statement(comments(line, rest), notes)) end
        fragment = block[3] == ""
        local inside = body ~= "" and " " .. statement(body, notes) or fragment and "" or " …"
        return block[2](a, b or nil, notes) .. inside .. (block[3]:gsub("Name", a))
    end)
    local bare = python.masked(rest, function(line) return line end) -- without a comment of Lua's
    local same = not text or text:gsub("%s", "") == bare:gsub("%s", "")
    if same or not (fragment or compiles(text)) then return nil end
    return text, notes
end

-- ---- hints without a translation ----

local import = "nothing to import: ones, nn, optim are here; require \"name\" reads a file"
local logic = "and, or, not where others write &&, ||, !"

-- Pattern of the line, the end of the message (a pattern; nil: any), and the Lua form.
local phrases = {
    { "[:.]repeat%s*%(", "'repeat'$", "x:tile(…)" },
    { "%.split%(", nil, 'for part in text:gmatch "[^,]+" do … end' },
    { "^%s*import%f[%s]", nil, import },
    { "^%s*from%s.-%simport%f[%s]", nil, import },
    { "^%s*@torch%.no_grad", nil,
        "no_grad(function() … end), or do local _ <close> = no_grad() … end" },
    { "^%s*@", "'@'$", "f = decorator(f), after function f() … end" },
    { "^%s*global%s", nil, "nothing to declare: variables are global unless they are local" },
    { "^%s*nonlocal%s", nil, "nothing to declare: a function sees the local variables around it" },
    { "^%s*%%%%?timeit%s+(.+)$", nil, ":timeit %1" },
    { "^%s*%%%%?time%s+(.+)$", nil, ":time %1" },
    { "^%s*%%%%?%a", "'%%'$", "no magics, but commands: :help lists them" },
    { "%f[%w_]lambda%f[^%w_]", nil, "function(x) return … end" },
    { "%f[%w_]elif%f[^%w_]", nil, "elseif" },
    { "!=", "'!'$", "~= where others write !=" },
    { "&&", "'&'$", logic },
    { "||", "'|'$", logic },
    { "!", "'!'$", logic },
    { "%*%*", nil, "x ^ 2 where others write x ** 2" },
    { "%f[%w_]not%s+in%f[^%w_]", nil, "t[key] == nil" },
    { "[%w_]%s+in%s", "'in'$", "t[key] ~= nil" },
    { "^%s*e?l?if%s.-%sin%s", nil, "if t[key] ~= nil then … end" },
    { "[%w_%]%)]%s*%b[]", "'[,:]'$",
        "x[{1, 2}], or x[\"1:4, :, -1\"]: from 1, both ends included" },
    { "%[.*%]", "'[%[%],]'$", "lists in braces: {1, 2, 3}" },
    { "[=(,]%s*%[[^%]]*$", "'%['$", "lists in braces: {1, 2, 3}" },
    { "%b()", "'='$", "options stand in a table at the end: sum(x, {dim = 1})" },
    { "[-=]>", "'>'$", "function(x) return … end" },
    { "//", "'/'$", "-- begins a comment; // divides and rounds down" },
}

-- Typographic characters and the ASCII that programs use.
local plain = { ["“"] = '"', ["”"] = '"', ["„"] = '"', ["‘"] = "'", ["’"] = "'",
    ["−"] = "-", ["–"] = "-", ["—"] = "-", ["×"] = "*", ["·"] = "*", ["÷"] = "/",
    ["≤"] = "<=", ["≥"] = ">=", ["≠"] = "~=", ["…"] = "...", ["。"] = ".", ["、"] = ",",
    ["　"] = " ",
    ["\u{a0}"] = " " }

-- Describes the first character of the line that Lua does not know.
local function beyond_ascii(line)
    local from, to = line:gsub("%-%-.*", ""):find("[\xC2-\xFD][\x80-\xBF]*")
    if not from then return end
    local char = line:sub(from, to)
    local ok, code = pcall(utf8.codepoint, char)
    if not ok then return end
    local ascii = plain[char] or code > 0xff00 and code < 0xff5f and string.char(code - 0xfee0)
    if ascii then
        return ("%s where the line has %s"):format(
            ascii == " " and "a plain space" or ascii, ("U+%04X, %s"):format(code, char))
    end
    return ("names have letters of ASCII, digits and _, and no %s; strings may contain any")
        :format(char)
end

local function phrase(message, line)
    for _, p in ipairs(phrases) do
        local captured = line:match(p[1])
        if captured and (not p[2] or message:find(p[2])) then
            if p[3]:find "^:time" then captured = expression(captured, {}) end
            return (p[3]:gsub("%%1", function() return captured end))
        end
    end
end

-- What to write for a word of Lua that stands as a name in a table, such as {repeat = 1}.
local function reserved(message, line)
    local word = message:match " near '(%l+)'$"
    if not word or not line:find("{[^{}]*%f[%w_]" .. word .. "%s*=%f[^=]") then return end
    return ("{[\"%s\"] = …}: %s is a word of Lua"):format(word, word)
end

-- The line with x.shape where it has x:shape, which wants brackets; nil where there is none.
local function with_dots(line)
    local properties = shell.native.properties()
    local text = line:gsub(":([%a_]+)()", function(name, at)
        local call = line:find("^%s*[({\"']", at) or line:find("^%s*%[%[", at)
        return not call and properties[name] and "." .. name or nil
    end)
    return text ~= line and text or nil
end

-- The Lua form of a line, or nil. message: the error about it.
local function said(message, line)
    local dotted = message:find "function arguments expected" and with_dots(line)
    if dotted then return dotted end
    if message:find "'<\\%d+>'$" then
        return beyond_ascii((python.mask(line):gsub("\2%d+\3", "")))
    end
    local text, notes = foreign.line(line)
    if text then return table.concat({ text, table.unpack(notes, 1, 1) }, "; ") end
    return python.masked(line, function(masked)
        return reserved(message, masked) or phrase(message, masked)
    end)
end

-- ---- for the prompt and for scripts ----

-- The number of the first line of the text that opens a block in Python, and what is wrong with it;
-- nil if none does.
local function first_block(text)
    local n = 0
    for line in (python.mask(text, true) .. "\n"):gmatch "([^\n]*)\n" do
        n = n + 1
        local block = opened(line)
        if block then return n, block[4] or "syntax error near ':'" end
    end
end

-- Whether an incomplete text continues as in Python, or ends in x:shape, and so never becomes a
-- chunk.
function foreign.block(text)
    local last = text:match "([^\n]*)%s*$"
    return first_block(text) ~= nil or last:find ":[%a_]+%s*$" and with_dots(last) ~= nil
end

-- The message of a syntax error with the Lua form; terminal: and with the line.
function foreign.syntax(message, terminal)
    local name, n = message:match "^(.-):(%d+): "
    local text = name and (source.text("=" .. name) or source.text("@" .. name))
    if not text then return message end
    local at, wrong = first_block(text)
    if at and at <= tonumber(n) then n, message = at, ("%s:%d: %s"):format(name, at, wrong) end
    local line = source.line(text, tonumber(n)) or ""
    for above = tonumber(n) - 1, 1, -1 do -- the end of the text comes after its last line
        if line:find "%S" then break end
        line = source.line(text, above)
    end
    local hint = said(message, line)
    if terminal then
        message = ("%s\n    %d | %s"):format(message, n, line:match("^%s*(.*)$"):sub(1, 200))
    end
    return hint and message .. "\n        in Lua: " .. hint or message
end

local constants = { True = "true", False = "false", None = "nil" }

-- True, False and None are variables to Lua, and nil: a note for each in the text that is not set,
-- once.
function foreign.constants(text)
    text = python.mask(text):gsub("\2%d+\3", "")
    for name in text:gmatch "%f[%w_.:]%u%l+%f[^%w_]" do
        local lua = constants[name]
        constants[name] = nil
        if lua and rawget(_G, name) == nil and not text:find(name .. "%s*=[^=]") then
            io.stderr:write(("%s is a variable that was never set, so nil: Lua writes %s\n")
                :format(name, lua))
        end
    end
end

return foreign
