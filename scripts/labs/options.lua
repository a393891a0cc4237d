-- Reads a lab's options: options{device = "gpu", rows = 500} takes --device cpu --rows 20 from the
-- command line. The values given are the defaults and say by their type what is expected; false
-- stands for a text that is not given, {} for an option without a value: true where it is given.
-- --help lists them. Whole numbers are at least 1, or what `least` says: options({workers = 2},
-- {workers = 0}).
return function(defaults, least)
    local function usage(problem)
        local names = {}
        for name, value in pairs(defaults) do
            local default = value and type(value) ~= "table" and "(default " .. tostring(value) ..
                ")" or ""
            names[#names + 1] = ("  --%s %s"):format(name, default)
        end
        table.sort(names)
        local out = problem and io.stderr or io.stdout
        out:write(arg[0], ": ", problem or "what to look at stands at the top of the file",
            "\noptions:\n", table.concat(names, "\n"), "\n")
        os.exit(problem == nil)
    end
    local opt = {}
    for name, value in pairs(defaults) do opt[name] = type(value) ~= "table" and value end
    local i = 1
    while i <= #arg do
        local name, value = arg[i]:match "^%-%-(%w+)$", arg[i + 1]
        local default = defaults[name]
        if arg[i] == "--help" or arg[i] == "-h" then usage() end
        if default == nil then usage("no option " .. arg[i]) end
        if type(default) == "table" then i, value = i - 1, true end
        if math.type(default) == "integer" then
            local from = least and least[name] or 1
            value = math.tointeger(tonumber(value))
            if not value or value < from then
                usage(("%s needs an integer of at least %d"):format(arg[i], from))
            end
        end
        opt[name] = value or usage(arg[i] .. " wants a value")
        i = i + 2
    end
    return opt
end
