--!plain
-- Writes a line of Julia, MATLAB or R as parse reads lines: arrays(line, language) -> text. A
-- range a:b becomes span(a, b) and [a b; c d] hvcat(…) or vcat(…); MATLAB's v(1) becomes v[1] and
-- R's words and marks those of Julia. Texts in quotes stay as they are.
local require = ...
local gpush = require "gpush"

-- ---- what all three have ----

local types = { Float64 = "f64", Float16 = "f16", Int64 = "i64", Int32 = "i32", Int = "i64",
    Bool = "bool" }

-- zeros(Float64, 2): the dtype as an option.
local function typed(text)
    return (text:gsub("(%f[%w_]%a+%()(%u%a+%d*),%s*([^()]*)%)", function(head, name, rest)
        if name == "Float32" then return head .. rest .. ")" end
        return types[name] and ('%s%s, dtype="%s")'):format(head, rest, types[name])
    end))
end

-- The elements of a row that spaces divide: 1 -2 x.
local function divided(row)
    local text, n = row:match "^%s*(.-)%s*$", 1
    while n > 0 do text, n = text:gsub("([%w_%)%]'.])%s+([-+]?[%w_%(.%[])", "%1,%2") end
    return (text:gsub(",", ", "))
end

-- [1 2; 3 4] as hvcat([[1, 2], [3, 4]]), [x; y] as vcat(x, y), [x y] as hcat(x, y).
local function matrix(inner)
    local rows, plain = {}, true
    for row in (inner .. ";"):gmatch "([^;]*);" do
        if row:find "%S" then rows[#rows + 1] = divided(row) end
    end
    for _, row in ipairs(rows) do plain = plain and not row:find "[%a_]" end
    if plain then
        if #rows == 1 then return "[" .. rows[1] .. "]" end
        for i, row in ipairs(rows) do rows[i] = "[" .. row .. "]" end
        return ("hvcat([%s])"):format(table.concat(rows, ", "))
    end
    for i, row in ipairs(rows) do
        rows[i] = row:find "," and ("hcat(%s)"):format(row) or row
    end
    return #rows == 1 and rows[1] or ("vcat(%s)"):format(table.concat(rows, ", "))
end

local function matrices(text)
    return (text:gsub("()(%b[])", function(at, part)
        local inner = part:sub(2, -2)
        local index = at > 1 and text:find("^[%w_%)%]'.]", at - 1)
        local several = inner:find ";" or divided(inner) ~= inner and not inner:find ","
        if index or not several or inner:find "[%[\"]" or inner:find "%f[%w_]for%f[^%w_]" then
            return nil
        end
        return matrix(inner)
    end))
end

-- Julia's x .+= 1 and max.(x, 0), and [i for i in 1:3] over a range.
local function of_julia(text)
    return (text:gsub("%.([-+*/^])=", "%1="):gsub("%f[%w_](m[axin]+)%.%(", "each_%1(")
        :gsub("(%[[^%[%]]*%f[%w_]for%s+[%w_]+%s+in%s+)([%w_.]+):([%w_.]+):([%w_.]+)",
            "%1range(%2, %4 + 1, %3)")
        :gsub("(%[[^%[%]]*%f[%w_]for%s+[%w_]+%s+in%s+)([%w_.]+):([%w_.]+)", "%1range(%2, %3 + 1)"))
end

local OPERAND <const> = "%-?[%w_.]+"
-- 1:2:9 outside of brackets.
local function spans(text)
    if text:find "^%s*for%s" then return text end
    local kept = {}
    text = text:gsub("%b[]", function(part)
        kept[#kept + 1] = part
        return ("\4%d\5"):format(#kept)
    end)
    local three = ("(%s):(%s):(%s)%%f[^%%w_.(]"):format(OPERAND, OPERAND, OPERAND)
    local two = ("(%s):(%s)%%f[^%%w_.(]"):format(OPERAND, OPERAND)
    text = text:gsub(three, "span(%1, %2, %3)"):gsub(two, function(a, b)
        local numbers = tonumber(a) or tonumber(b)
        return numbers and ("span(%s, %s)"):format(a, b) or nil
    end)
    return (text:gsub("\4(%d+)\5", function(n) return kept[tonumber(n)] end))
end

-- ---- MATLAB ----

-- v(1, :) of a tensor, or with a range or an end between the brackets, as v[1, :].
local function indexed(text)
    return (text:gsub("%f[%w_.]([%a_][%w_.]*)(%b())", function(name, part)
        local inner = indexed(part:sub(2, -2))
        local all = inner:find "^%s*:%s*$"
        local v = rawget(_G, name)
        local index = gpush.is_tensor(v) or all or v == nil and (inner:find "%f[%w_]end%f[^%w_]"
            or inner:find "^%s*:%s*," or inner:find ",%s*:%s*$")
        if all then return ("vec(%s)"):format(name) end
        return index and ("%s[%s]"):format(name, inner) or ("%s(%s)"):format(name, inner)
    end))
end

local function of_matlab(text)
    text = text:gsub("^%s*for%s+(%w+)%s*=%s*([%w_.]+:[%w_.]+),?", "for %1 in %2")
        :gsub("^%s*%[(%w+),%s*(%w+)%]%s*=%s*(m[axin]+)%(([%w_]+)%)", "%1, %2 = %3(%4, dim=1)")
    if text:find "^%s*for%s" then text = text:gsub(",(%s*end)%s*;?$", "%1") end
    return indexed(text)
end

-- ---- R ----

local words = { TRUE = "true", FALSE = "false", NULL = "nil", NA = "nan" }

local function of_r(text)
    text = text:gsub("%s*<<?%-%s*", " = "):gsub("%%%*%%", "@"):gsub("%%%%", "%%")
        :gsub("%%/%%", "÷"):gsub("%[%s*,", "[:,"):gsub(",%s*%]", ", :]")
        :gsub("%f[%w_.]%a+%f[^%w_.]", words)
        :gsub("%f[%w_.]c(%b())", function(list) return "[" .. list:sub(2, -2) .. "]" end)
        :gsub("%f[%w_](%a+)%.(%l+)%f[^%w_.]", "%1_%2")
    return (text:gsub("%f[%w_]function(%b())%s*([^,{}]+)", function(list, body)
        local last = body:match "%)%s*$" and select(2, body:gsub("%(", ""))
            < select(2, body:gsub("%)", "")) and ")" or ""
        return ("(%s -> %s)%s"):format(list, last ~= "" and body:match "^(.*)%)" or body, last)
    end))
end

-- The text without the contents of its strings, and what they are.
local function without_texts(line)
    local kept = {}
    local function keep(before, s)
        kept[#kept + 1] = s
        return ("%s\"\2%d\3\""):format(before, #kept)
    end
    local text = line:gsub('()"([^"]*)"', function(_, s) return keep("", s) end)
    return text:gsub("([%(,=%s%[])'([^']*)'", keep), kept
end

return function(line, language)
    if not language then return line end
    local text, kept = without_texts(line)
    if language == "matlab" then text = of_matlab(text)
    elseif language == "R" then text = of_r(text)
    else text = of_julia(text) end
    text = spans(matrices(typed(text)))
    return (text:gsub("\2(%d+)\3", function(n) return kept[tonumber(n)] end))
end
