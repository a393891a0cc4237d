-- Lets sim stand in for a card where there is no GPU, so that a lab shows what a wait, a fork, a
-- pinned copy or 16 bits are worth on one. card(name, device, host) takes a lab's options --card,
-- "none" for sim as it is, and --device; and the host's seconds an op, nil for what it takes here,
-- where the lab measures the processor, too. What was chosen before (gpush --card) stays. Returns
-- of what kind the times are, for what the lab prints, " (modelled H200, host 8 us an op)", of a
-- card that nobody measured that they are bounds, or " (measured)"; and whether they are modelled.
return function(name, device, host_time)
    local kind = device:match "^%a*"
    local simulated = kind == "sim" or kind == "gpu" and not cuda.is_available()
    if simulated and name ~= "none" and not sim.card then sim.card = name end
    local modelled = simulated and sim.card ~= nil
    if modelled then sim.host = sim.host or host_time end
    local figures = timeit(function() return zeros(1, { device = device }) end, { n = 1 })
    local bound = modelled and not sim.measured "add"
    return (" (%s%s)"):format(figures.kind,
        bound and ", whose times are at least so: nobody measured it" or ""), modelled
end
