--!plain
-- nearest(word, names, slips): the names that differ from the word by a typing error, as text
-- ("zeros", "sum or sub"), or nil. names: a list; slips: the number of errors allowed at least,
-- also in a short word.
local NAMES = 3 -- at most that many

-- The number of letters to insert, delete, change or swap with their neighbour to turn a into b
-- (the optimal string alignment distance); any larger number where it is more than the limit.
local function distance(a, b, limit)
    local before, last, least, nearest = nil, {}, 0
    local bytes = { b:byte(1, -1) }
    for j = 0, #b do last[j] = j end
    for i = 1, #a do
        local row, c, earlier = { [0] = i }, a:byte(i), a:byte(i - 1)
        least, nearest = i, least
        for j = 1, #b do
            local changed = last[j - 1] + (c == bytes[j] and 0 or 1)
            local d = math.min(last[j] + 1, row[j - 1] + 1, changed)
            if i > 1 and c == bytes[j - 1] and earlier == bytes[j] then
                d = math.min(d, before[j - 2] + 1)
            end
            row[j], least = d, math.min(least, d)
        end
        if least > limit and nearest > limit then return math.huge end -- a swap looks two rows back
        before, last = last, row
    end
    return last[#b]
end

-- A short word leaves no room for typing errors. Case only decides between names that are equally
-- near.
local function usual(word) return #word < 3 and 0 or #word < 6 and 1 or 2 end

-- How far the name is from the word; any larger number where it is more than the limit.
local function far(word, name, limit)
    if math.abs(#word - #name) > math.min(limit, 2) then return math.huge end
    local d = distance(word:lower(), name:lower(), limit)
    return d > limit and d or d + distance(word, name, math.huge) / 1000
end

return function(word, names, slips)
    local best, found, seen = math.max(usual(word), slips or 0) + 0.5, {}, { [word] = true }
    for _, name in ipairs(names) do
        local d = seen[name] and math.huge or far(word, name, best)
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
