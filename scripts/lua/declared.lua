--!plain
-- declared(into, prefix, { name = signature, … }): wraps the functions of those names in a table,
-- so that their arguments are checked and filled in as a composite's. Their names in messages:
-- prefix .. name. A class whose methods begin with "self CLASS" is the registry's "gpush.CLASS".
local require = ...
local composite = require "composite"

return function(into, prefix, signatures)
    for name, sig in pairs(signatures) do
        into[name] = composite { name = prefix .. name, sig = sig, help = "", fn = into[name],
            plain = true }
    end
end
