-- Prints a text in lines of at most 79 columns, each after `indent`, or none; those after the
-- first, after two more.
return function(text, indent)
    indent = indent or ""
    local line, from = indent, #indent
    for word in text:gmatch "%S+" do
        if utf8.len(line .. word) > 79 and #line > from then
            print((line:gsub("%s+$", "")))
            line, from = indent .. "  ", #indent + 2
        end
        line = line .. word .. " "
    end
    print((line:gsub("%s+$", "")))
end
