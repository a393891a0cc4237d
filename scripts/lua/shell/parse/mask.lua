--!plain
-- mask(text, long): the text with a mark, "\2N\3", for the content of each string, and without
-- Lua's comments; and the contents. long: long strings are removed, too.
return function(text, long)
    local kept, out, at = {}, {}, 1
    while true do
        local s = text:find("[\"'%-%[]", at)
        if not s then break end
        local c, stop = text:sub(s, s), s
        local comment = c == "-" and text:sub(s + 1, s + 1) == "-"
        local level = (comment or long and c == "[")
            and text:match("^%[(=*)%[", comment and s + 2 or s)
        out[#out + 1] = text:sub(at, s - 1)
        if level then
            stop = select(2, text:find("]" .. level .. "]", s, true)) or #text
            out[#out + 1] = " " .. text:sub(s, stop):gsub("[^\n]", "")
        elseif comment then stop = (text:find("\n", s, true) or #text + 1) - 1
        elseif c == '"' or c == "'" then
            local mark = text:sub(s, s + 2) == c:rep(3) and c:rep(3) or c
            stop = s + #mark
            while stop <= #text and text:sub(stop, stop + #mark - 1) ~= mark
                and (#mark == 3 or text:sub(stop, stop) ~= "\n") do
                stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
            end
            kept[#kept + 1] = text:sub(s + #mark, stop - 1)
            stop = math.min(stop + #mark - 1, #text)
            out[#out + 1] = c .. "\2" .. #kept .. "\3" .. c
        else out[#out + 1] = c end
        at = stop + 1
    end
    out[#out + 1] = text:sub(at)
    return table.concat(out), kept
end
