-- Ends a lab whose options are wrong, before it begins, in one sentence on stderr and with exit
-- status 2, as gpush's commands do: refuse("--size %d: …", n). An error's place is left out.
return function(format, ...)
    local text = (": " .. format:format(...)):gsub(": [^:]*%.lua:%d+: ", ": ")
    io.stderr:write(arg[0]:match "([^/]*)%.lua$" or arg[0], text, "\n")
    os.exit(2, true)
end
