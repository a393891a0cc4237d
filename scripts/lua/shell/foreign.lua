--!plain
-- Answers text in another language, Python above all, with its Lua form. foreign.line(typed, value)
-- is the one translator: prompt, -e, scripts and other front ends ask it. A hint is Lua as a whole:
-- what is said in words stands in a comment.
local require = ...
local gpush, shell = require "gpush", require "shell"
local foreign = {}
local source, mask = require "source", require "shell.parse.mask"

-- ---- what variables hold ----

local function type_of(v)
    if v == nil then return nil end
    return gpush.is_tensor(v) and "tensor" or type(v)
end

-- The scope of translate.lua for a line, by the values of variables and, where these are not
-- known, by the assignments in the text before it.
local function scope_of(value, before)
    local scope, told, asked = {}, {}, false
    function scope.value(name)
        local v = value(name:match "^[%a_][%w_]*")
        for key in name:gmatch "%.([%a_][%w_]*)" do
            if gpush.is_tensor(v) then
                v = shell.native.properties()[key] and key ~= "grad" and v[key] or nil
            else v = type(v) == "table" and v[key] or nil end
        end
        return v
    end
    function scope.is_file(name)
        return before ~= nil and (before:find("%f[%w_]open%b()%s+as%s+" .. name .. "%f[^%w_]")
            or before:find("%f[%w_]" .. name .. "%s*=%s*open%(")) ~= nil
    end
    function scope.above(pattern) -- in one of a few lines
        local lines = require "shell.parse.inputs"(before)
        for i = 1, math.min(#lines, 5) do
            if lines[i]:find(pattern) then return true end
        end
        return false
    end
    -- The last lines above that set the variable, and what to.
    local function settings(name)
        local texts, i = require "shell.parse.inputs"(before), 0
        return function()
            while texts[i + 1] do
                i = i + 1
                local set = texts[i]:match("%f[%w_.]" .. name .. "%s*=%f[^=](.*)")
                if set then return set, texts[i] end
            end
        end
    end
    -- Whether the last line in Python that sets the variable sets it to what NumPy makes.
    function scope.is_array(name)
        for set in settings(name) do
            if set:find "%f[%w_]torch%." then return false end
            if set:find "^%s*np%." or set:find "^%s*numpy%." or set:find "%.numpy%(%)%s*$" then
                return true
            end
        end
        return false
    end
    local asking = {}
    -- Whether the last line that sets the variable sets it to indices, which count from 1 here.
    function scope.from_one(name)
        local v = scope.value(name)
        if v == nil or type(v) == "string" then return false end
        local outer = asking[name] -- of p = p:cpu(), what p was before
        asking[name] = outer or settings(name)
        local _, text = asking[name]()
        local ok, nodes = pcall(require "shell.parse".line, text or "")
        local found = ok and require "shell.counts".sets_index(nodes, name)
        asking[name] = outer
        return found
    end
    local function ask(translate)
        for line in (before or ""):gmatch "[^\n]+" do
            local ok, nodes = pcall(require "shell.parse".line, line)
            for _, node in ipairs(ok and nodes or {}) do
                local names, values = node[1] == "assign" and node[2][1] or {}, node[3]
                for i, t in ipairs(names) do
                    local v = #values == #names and values[i]
                    told[t[2]] = t[1] == "name" and v and translate.kind(v) or nil
                end
            end
        end
    end
    function scope.kind(name)
        local v = scope.value(name)
        if v ~= nil then return type_of(v) end
        if not asked then
            asked = true
            ask(require "shell.translate")
        end
        return told[name]
    end
    return scope
end

local function global(name) return rawget(_G, name) end

-- ---- one line ----

-- Whether it is Lua.
local function compiles(text)
    text = text:gsub("…", "")
    return load(text, "=", "t") or load("return " .. text, "=", "t")
        or load("repeat " .. text .. " until true", "=", "t") -- break
end

-- A line without the prompts of Python and IPython, which were pasted with it.
local function without_prompt(line)
    return (line:gsub("^>>> ?", ""):gsub("^%.%.%. ", ""):gsub("^In %[%d+%]: ?", "")
        :gsub("^Out%[%d+%]: ?", ""):gsub("^julia> ?", ""):gsub("^>> ", ""))
end

local function comment(words) return words:find "^%-%-" and words or "-- " .. words end

-- power: whether ^ is one, as in Lua; in Python it is xor.
local function translated(line, scope, power)
    local translate, statements = require "shell.translate", require "shell.statements"
    local fragment
    local text, notes, code = translate.with(scope, function()
        local nodes = require "shell.parse".line(line, power)
        scope.nodes = nodes
        local s, part = statements.line(nodes, scope.value)
        fragment = part
        return s
    end)
    if text then
        text = text:match "^%s*(.-)%s*$"
        if not (fragment or compiles(text)) then return nil end
        return text, notes[1]
    end
    if code == "power" then return translated(line, scope, true) end
    return nil, notes[1], code
end

-- Commands of IPython, Julia and shells: a pattern of the line, and the Lua of what it captures.
local commands = {
    { "^%%?%%?timeit%s+([%w_({\"'].*)$",
        "timeit(function() return %s end)  -- at the prompt: :timeit" },
    { "^%%?%%?time%s+([%w_({\"'].*)$",
        "timeit(function() return %s end, {n = 1})  -- at the prompt: :time" },
    { "^%%%%?%a.*$", "-- no magics, but commands: :help lists them" },
    { "^@show%s+(.+)$", "print(%s)" },
    { "^@b?time%s+(.+)$", "timeit(function() return %s end)  -- at the prompt: :timeit" },
    { "^!%s*([%a./].*)$", "os.execute %q" },
    { "^[%a_][%w_]*%s*=%s*!%s*([%a./].*)$", 'io.popen(%q):read "a"' },
    { "^cd%s+[%w_./~-]+$", "-- the folder stays: name files by their paths" },
    { "^run%s+([%w_./~-]+%.lua.*)$", "dofile %q  -- at the prompt: :run" },
    { "^%?+%s*([%w_.]+)$", "help %q" }, { "^([%w_.]+)%s*%?+$", "help %q" },
}

-- Programs whose names begin a line of a shell, which IPython takes as it is.
local programs = {}
for name in ("ls ll cat head tail less more grep find mkdir rmdir rm cp mv touch chmod echo git \z
    make pip pip3 conda uv python python3 which nvidia-smi man ssh curl wget tar"):gmatch "%S+" do
    programs[name] = true
end

-- Whether the line is such a one.
function foreign.of_shell(line)
    local name = line:match "^%s*([%a][%w-]*)%s+[%w_./~*\"-]"
    return programs[name or ""] and not line:find "[=({]" or false
end

local ALONE <const> = { ls = true, pwd = true, date = true, hostname = true, whoami = true,
    env = true, nproc = true, df = true, ps = true }

-- f(x) = x^2, a function of Julia's.
local function of_julia(line, value, before)
    local head, body = line:match "^([%a_][%w_]*%([%w_, ]*%))%s*=%s*([^=%s].*)$"
    local own = head and gpush.is_tensor(global(head:match "^[%w_]+")) -- MATLAB's v(i) = 0
    if own or not head or not load("function " .. head .. " end") then return nil end
    body = (foreign.line(body, value, before, true) or body):gsub("%s+%-%- .*$", "")
    return load("return " .. body) and ("function %s return %s end"):format(head, body)
end

local function command(line, value, before)
    if foreign.of_shell(line) then
        return ("os.execute %q  -- at the prompt: !%s"):format(line, line)
    end
    for _, c in ipairs(commands) do
        local found = (line:find "^@" and line:gsub("%$(%a)", "%1") or line):match(c[1])
        -- !c, !c || b and !x == y are C's, but for a command that has no argument
        local of_c = found and line:find "^[%w_%s=]*!" and (found:find "[=&|]"
            or found == "true" or found == "false"
            or not found:find "[%s/.]" and not ALONE[found] and (value or global)(found) ~= nil
            or (line:find "=" and not found:find "[%s/]" and not ALONE[found]))
        if found and not of_c then
            local code = c[2]:find "%%s" and (foreign.line(found, value, before) or found)
                :gsub("%s+%-%- .*$", "") or found:gsub("^torch%.", "")
            return c[2]:find "%%" and c[2]:format(code) or c[2]
        end
    end
end

-- The line in Lua, with a note behind --; nil where nothing in it is foreign, or nothing is known.
-- value(name): the variable's value, or nil; before: the text before the line; counted: what is in
-- the line counts from 1, as it may be Lua with a slip.
function foreign.line(typed, value, before, counted)
    local line = without_prompt(typed:match "^%s*(.-)%s*$")
    if line:find "^#" then return comment(line:gsub("^#+%s*", "") .. "") end
    local ran = command(line, value, before) or of_julia(line, value, before)
    if ran then return ran end
    local scope = scope_of(value or global, before)
    scope.language = require "shell.parse.language"(line, before)
    line = require "shell.parse.arrays"(line, scope.language)
    counted = counted or scope.language
    scope.counted, scope.line = counted, line
    local text, note, code = translated(line, scope, counted)
    if not text then return note and (code and note or comment(note)) end
    local function bare(s) return (mask(s):gsub("[%s;]", "")) end
    local same = bare(text) == bare(typed) and not typed:find "#" and not typed:find '"""'
    if same and text ~= "" then return nil end
    if text == "" then text = "-- " .. (line:find "^pass" and "nothing" or line) end
    return note and text .. "  " .. comment(note) or text
end

-- ---- hints without a translation ----

-- A pattern of a line that is no statement by itself, such as the first of several or one of C's,
-- the end of the message (a pattern), and what Lua has instead.
local phrases = {
    { "!=", "'!'$", "~= where others write !=" },
    { "&&", "'&'$", "and, or, not where others write &&, ||, !" },
    { "||", "'|'$", "and, or, not where others write &&, ||, !" },
    { "%[", "'[%[%],]'$", "lists in braces: {1, 2, 3}" },
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
    local masked = mask(line)
    for _, p in ipairs(phrases) do
        if masked:find(p[1]) and message:find(p[2]) then return comment(p[3]) end
    end
end

-- What to write for a word of Lua that stands as a name in a table, such as {repeat = 1}.
local function reserved(message, line)
    local word = message:match " near '(%l+)'$"
    if not word or not line:find("{[^{}]*%f[%w_]" .. word .. "%s*=%f[^=]") then return end
    return ("{[\"%s\"] = 1}  -- %s is a word of Lua"):format(word, word)
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

-- Words and calls that only Lua has.
local of_lua = { "%f[%w_]local%s", "%f[%w_]i?pairs%s*%(", "%f[%w_]then%f[^%w_]",
    "%f[%w_]do%f[^%w_]", "%f[%w_]end%f[^%w_]", "~=", "%f[%w_]function%f[^%w_]" }
-- Words of Python that a colon may follow on their line.
local before_colon = { ["if"] = true, elif = true, ["else"] = true, ["for"] = true,
    ["while"] = true, with = true, def = true, class = true, lambda = true, try = true,
    except = true }

-- Whether a line that fails is Lua with a slip: what it counts, it counts from 1.
function foreign.is_lua(line)
    local text = mask(line)
    for _, pattern in ipairs(of_lua) do if text:find(pattern) then return true end end
    for word in text:gmatch "%a+" do if before_colon[word] then return false end end
    return not text:find "[{%[]" and text:find "[%w_)]:[%a_][%w_]*%(" ~= nil
end

-- The Lua form of a line, or nil. message: the error about it; before: the text above it.
local function said(message, line, before)
    local dotted = message:find "function arguments expected" and with_dots(line)
    if dotted then return dotted end
    if message:find "'<\\%d+>'$" and not line:find "÷" then
        local found = beyond_ascii((mask(line):gsub("\2%d+\3", "")))
        if found then return comment(found) end
    end
    return reserved(message, (mask(line)))
        or foreign.line(line, nil, before, foreign.is_lua(line))
        or phrase(message, line)
end

-- ---- for the prompt and for scripts ----

local heads = { ["for%s+[^=]-%s+in%s"] = "'do' expected near ':'",
    ["while%f[^%w_]"] = "'do' expected near ':'", ["if%f[^%w_]"] = "'then' expected near ':'",
    ["elif%f[^%w_]"] = "", ["else%s*$"] = "", ["try%s*$"] = "", ["except%f[^%w_]"] = "",
    ["finally%s*$"] = "", ["with%s+[%a_][%w_.]*%s*%("] = "",
    ["with%s+[%a_][%w_.]*%s+as%s"] = "", ["with%s+[%a_][%w_.]*%s*$"] = "",
    ["def%s+[%w_]+%s*%("] = "",
    ["class%s+[%w_]+"] = "", ["async%s+%a"] = "" }

-- The line up to a colon outside brackets that ends it or comes before a space: for i in range(3):
local function opened(line)
    local depth, head = 0, nil
    for i = 1, #line do
        local c = line:sub(i, i)
        if c:find "[%(%[{]" then depth = depth + 1
        elseif c:find "[%)%]}]" then depth = depth - 1
        elseif c == ":" and depth == 0 and line:find("^%f[%s\0]", i + 1)
            and line:sub(i - 1, i - 1) ~= ":" then
            head = line:sub(1, i - 1)
            break
        end
    end
    if not head or line:find "%f[%w_]do%f[^%w_]" or line:find "%f[%w_]then%f[^%w_]" then
        return nil
    end
    for pattern, wrong in next, heads do
        if head:find("^%s*" .. pattern) then return wrong end
    end
end

-- The number of the first line of the text that opens a block in Python, and what is wrong with it;
-- nil if none does.
local function first_block(text)
    local n = 0
    for line in (mask(text, true) .. "\n"):gmatch "([^\n]*)\n" do
        n = n + 1
        local wrong = opened(line)
        if wrong then return n, wrong ~= "" and wrong or "syntax error near ':'" end
    end
end

-- x[[0, 2], :] and [[0] * 2 for _ in l], whose [[ begins a long string in Lua: the line's number.
local function listed(text)
    text = mask(text):gsub("\2%d+\3", "")
    local at = not text:find("]]", 1, true) and text:find("[[", 1, true)
    local closed = at and text:match("^%b[]", at)
    if not closed or closed:find "\n" then return nil end
    return 1 + select(2, text:sub(1, at):gsub("\n", ""))
end

-- Whether an incomplete text continues as in Python, or ends in x:shape, and so never becomes a
-- chunk.
function foreign.block(text)
    local last = text:match "([^\n]*)%s*$"
    return first_block(text) ~= nil or listed(text) ~= nil
        or last:find ":[%a_]+%s*$" and with_dots(last) ~= nil
end

-- The text as what to write: where an ellipsis stands for a part of the code, it says so.
function foreign.labelled(text)
    local code = text:gsub("^%-%-.*", ""):gsub("  %-%- .*", "")
    code = code:gsub('"[^"]*"', ""):gsub("'[^']*'", "")
    local open = code:find("…", 1, true)
    return (open and "in Lua, with … for your own: " or "in Lua: ") .. text
end

-- The message of a syntax error with the Lua form; terminal: and with the line.
-- The columns of line n of the text before the token at which Lua stopped with that message, or
-- nil: the least text that gives the same message ends with that token.
local function before_mistake(text, name, n, message)
    local token = message:match " near '(.*)'$"
    local line = source.line(text, n)
    if not token or not line or #line > 500 or #text > 50000 then return end
    local start = 0
    for _ = 2, n do start = text:find("\n", start + 1, true) end
    for stop = start + 1, start + #line do
        local _, said = load(text:sub(1, stop), "=" .. name)
        if said == message then
            local at = stop - #token + 1
            if at <= start or text:sub(at, stop) ~= token then return end
            return shell.native.width(line:sub(line:find "%S" or 1, at - start - 1))
        end
    end
end

function foreign.syntax(message, terminal)
    local why = message:match "(%S+ %S+) near <eof>$"
    if why == "'end' expected" or why == "unexpected symbol" then return message end -- unfinished
    local name, n = message:match "^(.-):(%d+): "
    local text = name and (source.text("=" .. name) or source.text("@" .. name))
    if not text then return message end
    local at, wrong = first_block(text)
    local list = listed(text)
    if at and at <= tonumber(n) then n, message = at, ("%s:%d: %s"):format(name, at, wrong)
    elseif list then n, message = list, ("%s:%d: syntax error near '[['"):format(name, list) end
    local line = source.line(text, tonumber(n)) or ""
    for above = tonumber(n) - 1, 1, -1 do -- the end of the text comes after its last line
        if line:find "%S" then break end
        line, n = source.line(text, above), above
    end
    local before = {}
    for i = math.max(1, tonumber(n) - 200), tonumber(n) - 1 do
        before[#before + 1] = source.line(text, i)
    end
    local hint = said(message, line, table.concat(before, "\n"))
    if terminal then
        local column = before_mistake(text, name, tonumber(n), message)
        message = ("%s\n    %d | %s"):format(message, n, line:match("^%s*(.*)$"):sub(1, 200))
        local space = column and (" "):rep(#("    | ") + 1 + #tostring(n) + column)
        if space then message = ("%s\n%s^"):format(message, space) end
    end
    return hint and message .. "\n        " .. foreign.labelled(hint) or message
end

return foreign
