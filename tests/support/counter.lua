-- A counter that tracing does not see, as only C holds it: each call gives how often it was called
-- before.
return function()
    return coroutine.wrap(function()
        local n = 0
        while true do
            coroutine.yield(n)
            n = n + 1
        end
    end)
end
