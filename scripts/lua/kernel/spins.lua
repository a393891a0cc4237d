--!plain
-- Loops around volatile variables, which may wait for another thread: GP_SPIN in their condition
-- lets that one go on, in unchecked kernels (kernels/common/simt/prelude.inc); the checks see each
-- read themselves. Loops that count in a for, and texts without volatile, stay as they are.
local require = ...
local closing = require "kernel.tokens".closing

local AFTER_NAME <const> = { ["["] = true, ["="] = true, [";"] = true, [","] = true, [")"] = true }

-- Names of what the text declares as volatile, and that word; nil: nothing is.
local function names_of(list)
    local names
    for i, t in ipairs(list) do
        if t.text == "volatile" and not (list[i - 1] or t).text:find "^_*asm_*$" then
            names = names or { volatile = true }
            for k = i + 1, #list - 1 do
                local text = list[k].text
                if text == ";" or text == ")" or text == "{" then break end
                if list[k].kind == "word" and AFTER_NAME[list[k + 1].text] then
                    names[text] = true
                end
            end
        end
    end
    return names
end

-- The last index of the statement at index i.
local function statement_end(list, i)
    if list[i].text == "{" then return closing(list, i) or #list end
    while list[i] and list[i].text ~= ";" do i = (closing(list, i) or i) + 1 end
    return math.min(i, #list)
end

-- The index after which the condition of the loop at index i begins, and the loop's last; nil: its
-- condition declares something, or it counts.
local function condition(list, i)
    local open = i + 1
    local close = (list[open] or {}).text == "(" and closing(list, open)
    if not close then return nil end
    local at = open
    if list[i].text == "for" then
        repeat at = at + 1 until at >= close or list[at].text == ";"
        if list[close - 1].text ~= ";" or at >= close - 1 then return nil end
    elseif list[open + 1].kind == "word" and list[open + 2].kind == "word" then return nil end
    return at, close
end

-- The index of the do whose while is at index i; nil: that begins a loop.
local function do_of(list, i)
    local depth = 0
    if list[i - 1].text ~= "}" and list[i - 1].text ~= ";" then return nil end
    for k = i - 1, 1, -1 do
        local t = list[k].text
        if t == "}" then depth = depth + 1 elseif t == "{" then depth = depth - 1 end
        if depth < 0 then return nil end
        if t == "do" and depth == 0 then return k end
        if t == "while" and depth == 0 then return nil end
    end
end

-- All loops of the text.
local function of_text(w)
    local list = w.list
    local names = names_of(list)
    for i = 2, names and #list - 1 or 0 do
        local kind = list[i].text
        local at, close
        if kind == "while" or kind == "for" then at, close = condition(list, i) end
        local first = at and kind == "while" and do_of(list, i) or i
        local last = at and (first < i and close or statement_end(list, close + 1)) or 0
        for k = first, last do
            if names[list[k].text] then
                w:insert(list[at].at, list[at + 1].text == ";" and " GP_SPIN 1" or " GP_SPIN ")
                break
            end
        end
    end
end

return { of_text = of_text }
