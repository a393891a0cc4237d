--!plain
-- The lines above one, the last first: inputs(before) -> a list, of the text above it, before, and
-- then of the prompt's inputs. What they say of a line is read from them: whether it is Julia's,
-- and what NumPy made.
local registry = debug.getregistry()
local INPUTS <const> = 30 -- the last ones that are asked

return function(before)
    local kept, last, out = registry["gpush.inputs"] or {}, 0, {}
    for text in (before or ""):gmatch "[^\n]+" do table.insert(out, 1, text) end
    for name in next, kept do last = math.max(last, tonumber(name:match "%[(%d+)%]$") or 0) end
    for n = last, math.max(last - INPUTS, 1), -1 do
        out[#out + 1] = kept[("=stdin[%d]"):format(n)]
    end
    return out
end
