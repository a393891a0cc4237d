--!plain
-- Places in a cell's text: the protocol counts characters, Lua bytes. And the name that the cursor
-- is at, or that the cell asks about.
local places = {}

-- The number of characters; bytes that are none count as one each.
function places.count(text) return utf8.len(text) or #text end

-- The text before the cursor; at the end where no cursor is given.
function places.before(code, cursor)
    if math.type(cursor) ~= "integer" or cursor < 0 then return code end
    local n = utf8.len(code)
    if not n then return code:sub(1, cursor) end
    return cursor >= n and code or code:sub(1, utf8.offset(code, cursor + 1) - 1)
end

-- The name that ends with these bytes, with what leads to it: nn.Linear, x:sum.
local function ending(text) return text:match "[%a_][%w_.:]*$" end

-- The name of the innermost call that is open at the end: "f" of "g(1, f(2, ".
local function open_call(before)
    local depth = 0
    for i = #before, 1, -1 do
        local c = before:sub(i, i)
        if c == ")" or c == "}" then depth = depth + 1 end
        if c == "(" or c == "{" then
            if depth == 0 then
                local name = ending(before:sub(1, i - 1):gsub("%s+$", ""))
                if name then return name end
            end
            depth = math.max(depth - 1, 0)
        end
    end
end

-- The name at the cursor, or of the call that it is in; nil: there is none.
function places.name_at(code, before)
    local after = code:sub(#before + 1):match "^[%w_]*"
    local name = ending(before .. after)
    name = name and name:gsub("[.:]+$", "") or open_call(before)
    return name ~= "" and name or nil
end

-- The name that a cell asks help about, ?name or name?, and whether by ?? its source; or nil.
function places.question(code)
    local mark, name = code:match "^%s*(%??%??)([%a_][%w_.:]*%??)%s*$"
    if not name or mark .. name == name:gsub("%?", "") then return nil end
    return (name:gsub("%?", "")), mark == "??"
end

return places
