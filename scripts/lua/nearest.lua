--!plain
-- nearest(word, names, slips): the names that differ from the word by a typing error, as text
-- ("zeros", "sum or sub"), or nil. names: a list; slips: the number of errors allowed at least,
-- also in a short word.
local NAMES = 3 -- at most that many

-- The number of letters to insert, delete, change or swap with their neighbour to turn a into b
-- (the optimal string alignment distance).
local function distance(a, b)
    local before, last = nil, {}
    for j = 0, #b do last[j] = j end
    for i = 1, #a do
        local row = { [0] = i }
        for j = 1, #b do
            local same = a:byte(i) == b:byte(j)
            row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
            if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
                row[j] = math.min(row[j], before[j - 2] + 1)
            end
        end
        before, last = last, row
    end
    return last[#b]
end

-- A short word leaves no room for typing errors. Case only decides between names that are equally
-- near.
local function usual(word) return #word < 3 and 0 or #word < 6 and 1 or 2 end

local function far(word, name)
    if math.abs(#word - #name) > 2 then return math.huge end
    return distance(word:lower(), name:lower()) + distance(word, name) / 1000
end

return function(word, names, slips)
    local best, found, seen = math.max(usual(word), slips or 0) + 0.5, {}, { [word] = true }
    for _, name in ipairs(names) do
        local d = seen[name] and math.huge or far(word, name)
        seen[name] = true
        if d < best then
            best, found = d, { name }
        elseif d == best then
            found[#found + 1] = name
        end
    end
    if #found == 0 or #found > NAMES then return nil end
    table.sort(found)
    local last = table.remove(found)
    return #found == 0 and last or table.concat(found, ", ") .. " or " .. last
end
