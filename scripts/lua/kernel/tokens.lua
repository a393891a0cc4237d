--!plain
-- The tokens of a kernel's text.
local OPEN <const> = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- The end of the string or character that begins at `at`.
local function string_end(text, at)
    local quote, i = text:sub(at, at), at + 1
    while i <= #text do
        local c = text:sub(i, i)
        if c == "\\" then i = i + 1
        elseif c == quote or c == "\n" then return i end
        i = i + 1
    end
    return #text
end

-- The end of a directive of the preprocessor: of its last line, of comments in it, too.
local function directive_end(text, at)
    local stop = text:find("\n", at, true) or #text + 1
    while text:sub(1, stop - 1):find "\\%s*$" and stop <= #text do
        stop = text:find("\n", stop + 1, true) or #text + 1
    end
    return stop - 1
end

-- The end of the raw string of C++ at `at`, R"mark(…)mark".
local function raw_end(text, at)
    local first, mark = text:match('^[^"]*"()([^(]*)', at)
    return select(2, text:find(")" .. mark .. '"', first, true)) or #text
end

-- The end of a number, which in C++ may have marks, as in 1'000.
local function number_end(text, at)
    local stop = select(2, text:find("^[%w_.]+", at))
    while text:find("^'%w", stop + 1) do stop = select(2, text:find("^'[%w_.]+", stop + 1)) end
    return stop
end

-- Tokens of the text: {text =, at =, kind = "word", "string", "directive", "number" or "sign"}.
local function tokens(text)
    local list, at, fresh = {}, 1, true
    local function add(kind, stop)
        list[#list + 1] = { kind = kind, at = at, text = text:sub(at, stop) }
        at, fresh = stop + 1, false
    end
    while at <= #text do
        local c, two = text:sub(at, at), text:sub(at, at + 1)
        if c == "\n" then at, fresh = at + 1, true
        elseif c:find "%s" then at = at + 1
        elseif two == "//" then at = text:find("\n", at, true) or #text + 1
        elseif two == "/*" then at = (select(2, text:find("*/", at + 2, true)) or #text) + 1
        elseif c == "#" and fresh then add("directive", directive_end(text, at))
        elseif c == '"' or c == "'" then add("string", string_end(text, at))
        elseif text:find('^u?8?[LU]?R"[^%s()\\]*%(', at) then add("string", raw_end(text, at))
        elseif c:find "[%a_\x80-\xff]" then -- names may be of UTF-8
            add("word", select(2, text:find("^[%w_\x80-\xff]+", at)))
        elseif c:find "%d" then add("number", number_end(text, at))
        else add("sign", at) end
    end
    return list
end

-- The index of the token that closes the bracket at index i; nil: none does.
local function closing(list, i)
    local depth = 0
    for k = i, #list do
        local t = list[k]
        if t.kind == "sign" then
            if OPEN[t.text] then depth = depth + 1
            elseif t.text == ")" or t.text == "]" or t.text == "}" then depth = depth - 1 end
            if depth == 0 then return k end
        end
    end
end

local function line_of(text, at) return select(2, text:sub(1, at - 1):gsub("\n", "")) + 1 end

return { tokens = tokens, closing = closing, line_of = line_of, OPEN = OPEN }
