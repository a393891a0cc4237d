--!plain
-- What somebody typed who speaks another language, Python above all.
local foreign = {}

local import = "nothing to import: ones, nn, optim are here by name; require \"name\" reads a file of Lua"
local logic = "and, or, not where others write &&, ||, !"
local index = "x[{1, 2}], or x[\"1:4, :, -1\"]: from 1, both ends included"

-- What the line has, what the message ends with (a pattern; nil: anything), and how Lua says it.
local phrases = {
    { "!=", "'!'$", "~= where others write !=" },
    { "^%s*import%f[%s]", nil, import },
    { "^%s*from%s.-%simport%f[%s]", nil, import },
    { "^%s*def%s+[%w_]+%s*%(", nil, "function name(a, b) … end" },
    { "%f[%w_]lambda%f[^%w_]", nil, "function(x) return … end" },
    { "^%s*with%s.*:", nil, "do local _ <close> = … end" },
    { "^%s*for%s.*%sin%s.*:%s*", "':'$", "for i, v in ipairs(t) do … end, and for i = 1, n do … end" },
    { "^%s*while%s.*:", "':'$", "while … do … end" },
    { "^%s*try%s*:", nil, "local ok, message = pcall(function() … end)" },
    { "^%s*class%s", nil, "local Name = nn.module \"Name\" makes a class of layers; else a table with a metatable" },
    { "^%s*if%s.*:", "':'$", "if … then … elseif … else … end" },
    { "%f[%w_]elif%f[^%w_]", nil, "elseif" },
    { "%f[%w_]is%s+not%s+None", nil, "x ~= nil" },
    { "%f[%w_]is%s+None", nil, "x == nil" },
    { "&&", "'&'$", logic },
    { "||", "'|'$", logic },
    { "!", "'!'$", logic },
    { "%*%*", nil, "x ^ 2 where others write x ** 2" },
    { "[%w_%]%)]%s*%+%+", nil, "x = x + 1" },
    { "[-+*/]=", nil, "x = x + 1; of a tensor in place: x:add_(1)" },
    { "@", "'@'$", "x:matmul(y)" },
    { "%b()", "'='$", "options stand in a table at the end: sum(x, {dim = 1})" },
    { "[%w_%]%)]%s*%b[]", "'[,:]'$", index },
    { "[%w_%]%)]%s*%[%s*:", nil, index },
    { "%[.*%]", "'[%[%],]'$", "lists in braces: {1, 2, 3}" },
    { "^%s*#", nil, "-- begins a comment" },
    { "%s#%s", nil, "-- begins a comment" },
    { "//", "'/'$", "-- begins a comment; // divides and rounds down" },
    { "%?.*:", "'%?'$", "c and x or y" },
    { "%f[%w_]f['\"]", nil, "(\"%d of %s\"):format(n, name), or \"n is \" .. n" },
    { "^%s*%%%%?timeit%f[^%w]", nil, ":timeit expr" },
    { "^%s*%%%%?time%f[^%w]", nil, ":time expr" },
    { "^%s*%%%%?%a", "'%%'$", "no magics, but commands: :help lists them" },
    { "[-=]>", "'>'$", "function(x) return … end" },
    { "[%w_]%s*:=", nil, "x = 1" },
    { "^%s*print%s+[%w_]", "near '[%w_]*'$", "print(x)" },
    { "%f[%w_]let%s", nil, "local x = 1" },
    { "%f[%w_]var%s", nil, "local x = 1" },
}

-- The line without what its strings hold, where nothing is foreign.
local function bare(line)
    return (line:gsub("\\.", ""):gsub("(['\"])[^'\"]*%1", "%1%1"))
end

-- What a text for people has where a program has ASCII.
local plain = { ["“"] = '"', ["”"] = '"', ["„"] = '"', ["‘"] = "'", ["’"] = "'", ["−"] = "-", ["–"] = "-", ["—"] = "-", ["×"] = "*",
    ["·"] = "*", ["÷"] = "/", ["≤"] = "<=", ["≥"] = ">=", ["≠"] = "~=", ["…"] = "...", ["。"] = ".", ["、"] = ",", ["　"] = " ",
    ["\u{a0}"] = " " }

-- About the first character of the line that Lua does not know.
local function beyond_ascii(line)
    local from, to = line:gsub("%-%-.*", ""):find("[\xC2-\xFD][\x80-\xBF]*")
    if not from then return end
    local char = line:sub(from, to)
    local ok, code = pcall(utf8.codepoint, char)
    if not ok then return end
    local ascii = plain[char] or code > 0xff00 and code < 0xff5f and string.char(code - 0xfee0)
    if ascii then return ("%s where the line has %s"):format(ascii == " " and "a plain space" or ascii, ("U+%04X, %s"):format(code, char)) end
    return ("names have letters of ASCII, digits and _, and no %s; texts may hold any"):format(char)
end

-- How Lua says what is in a line with a syntax error, or nil. message: the compiler's.
function foreign.syntax(message, line)
    line = bare(line)
    if message:find "'<\\%d+>'$" then return beyond_ascii(line) end
    for _, p in ipairs(phrases) do
        if line:find(p[1]) and (not p[2] or message:find(p[2])) then return p[3] end
    end
end

-- Functions of Python's, by what does the same.
foreign.functions = { len = "#x", str = "tostring", int = "math.floor", float = "tonumber", list = "{…}", dict = "{…}",
    enumerate = "ipairs", isinstance = "type", input = "io.read", open = "io.open", sys = "os", exit = ":quit", quit = ":quit" }

local constants = { True = "true", False = "false", None = "nil" }

-- True, False and None are variables to Lua, and nil: a note for each in the text that nobody has set, once.
function foreign.constants(text)
    text = bare(text)
    for name in text:gmatch "%f[%w_.:]%u%l+%f[^%w_]" do
        local lua = constants[name]
        constants[name] = nil
        if lua and rawget(_G, name) == nil and not text:find(name .. "%s*=[^=]") then
            io.stderr:write(("%s is a variable that nobody has set, so nil: Lua writes %s\n"):format(name, lua))
        end
    end
end

return foreign
