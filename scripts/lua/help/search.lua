--!plain
-- What help answers where words are no name: the entries that the words fit best, a line each. A
-- word counts most where it is part of a name, or where help/asked.lua has it among the words by
-- which people ask; less within a name, and least in a text.
local require = ...
local topic, page, public = require "help.topic", require "help.page", require "help.op".public
local M = {}

local asked -- name -> " word word "
local ITSELF, NAME, ASKED, WITHIN, TEXT = 8, 6, 6, 3, 1

-- Words that say nothing about what is looked for.
local EMPTY = " a an and are can cannot do does for from get gpush have how i in is it make me my \z
    of on or out script t that the there this to use what when where which with you "

local function stem(word)
    local short = #word > 3 and word:match "^(.*[^s])s$" or word
    return short
end

local function words_of(text)
    local all, useful = {}, {}
    for word in text:lower():gmatch "%w+" do
        all[#all + 1] = stem(word)
        if not EMPTY:find(" " .. word .. " ", 1, true) then useful[#useful + 1] = stem(word) end
    end
    return #useful > 0 and useful or all
end

-- " word word " of a text, each reduced to its stem.
local function set_of(text)
    local list = {}
    for word in text:lower():gmatch "%w+" do list[#list + 1] = stem(word) end
    return " " .. table.concat(list, " ") .. " "
end

local function load_asked()
    asked = {}
    for name, words in next, require "help.asked" do
        asked[name] = set_of(words)
    end
end

-- How well one word fits an entry: 0 for not at all.
local function fit(word, name, own, text)
    local whole = " " .. word .. " "
    if stem(name:lower()) == word then return ITSELF end
    if set_of(name):find(whole, 1, true) then return NAME end
    if own and own:find(whole, 1, true) then return ASKED end
    if #word > 2 and name:lower():find(word, 1, true) then return WITHIN end
    return text:find("%f[%w]" .. word) and TEXT or 0
end

-- How well a word fits an entry that has an option, or a parameter, of that name; a word without
-- _ is rather one of the language, which counts where nothing else fits.
local function fit_option(option, name, fits)
    local t, row = topic(name) or {}, page.rows()[name] or {}
    local whole = option:match "^[%a_][%w_]*$" and "%f[%w_]" .. option .. "%f[^%w_]"
    local text = (row.sig or "") .. " " .. (t.call or "") .. " " .. (t.options or "")
    if not whole or not text:find(whole) then return 0 end
    return option:find "_" and NAME or fits and 0 or TEXT
end

-- All entries that fit any of the words, best first: {name, help, score, whether all words fit}.
local function search(words, line)
    local found, list = {}, words_of(words)
    if not asked then load_asked() end
    local function judge(name, help)
        local text, score, fits = (help .. " " .. ((topic(name) or {}).text or "")):lower(), 0, 0
        for _, word in ipairs(list) do
            local one = fit(word, name, asked[name] or asked[public(name)], text)
            score, fits = score + one, fits + (one > 0 and 1 or 0)
        end
        local option = fit_option(words, name, score > 0)
        score, fits = score + option * #list, option > 0 and #list or fits
        if score > 0 then found[#found + 1] = { name, help, score, fits == #list } end
    end
    for name, row in next, page.rows() do judge(name, row.help) end
    local _, topics = topic ""
    for name, t in next, topics do
        if name ~= 1 and not page.rows()[name] and not name:find "%.any%." then
            judge(name, t.text or t.call or t.options or t.shapes or "")
        end
    end
    for name in next, asked do -- functions that have a signature and a line, and no topic
        local row = name:gsub("%.", "_")
        if not topic(name) and not page.rows()[row] then judge(name, line(name)) end
    end
    table.sort(found, function(a, b)
        if a[3] ~= b[3] then return a[3] > b[3] end
        if #a[1] ~= #b[1] then return #a[1] < #b[1] end
        return a[1] < b[1]
    end)
    return found
end

-- Prints the first n, one per line; the rest is summarised.
local function put_found(found, n)
    local wide, most = 18, page.terminal()
    for i = 1, n do wide = math.max(wide, #public(found[i][1])) end
    for i = 1, n do
        local name, text = public(found[i][1]), found[i][2]:gsub("%s+", " ")
        local room = math.max(most - wide - 2, 20)
        if #text > room then text = text:sub(1, room - 2):match "^(.*%w)%W+%w*$" .. " …" end
        page.put("%-" .. wide .. "s %s", name, text)
    end
    if #found > n then page.put("and %d more", #found - n) end
end

--- Prints what the words fit, all of them or, of several, some; false if nothing does. line(name):
--- the line of help of a function that has no topic.
function M.show(words, line)
    local found, all = search(words, line), {}
    if #found == 0 or not (found[1][4] or words:find "%w%s+%w") then return false end
    for _, row in ipairs(found) do if row[4] then all[#all + 1] = row end end
    if not found[1][4] then page.print "nothing mentions all of these words; some of them:" end
    put_found(found[1][4] and all or found, math.min(20, found[1][4] and #all or #found))
    return true
end

--- ", did you mean zeros?" where a name that help knows is similar; else nil.
function M.meant(name)
    local names, _, topics = {}, topic ""
    for op in next, page.rows() do names[#names + 1] = public(op) end
    for known in next, topics do names[#names + 1] = type(known) == "string" and known or nil end
    local near = require "nearest"(name, names)
    return near and (", did you mean %s?"):format(near)
end

return M
