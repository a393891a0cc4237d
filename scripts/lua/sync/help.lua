--!plain
-- Help texts of sync, who waits for a device; their form: scripts/lua/help/topics.lua.
return [==[
sync (see profile, timeit)
    Who waited for a device, why and for how long: sync.report(), sync.warn = true, sync.mode =
    "error", sync.allow, sync.budget.
    > sync.mode --> off
sync.mode (see sync)
    What happens where the host waits for a device: 'off', nothing; 'warn', a line is printed, once
    for each source line; 'error', it is refused.
sync.warn (see sync.mode)
    Whether each source line that waits is printed: true is sync.mode = 'warn', false 'off'.
sync.allow (see sync)
    Waits in a block, or a function, are allowed, with the reason: local _ <close> = sync.allow 'log
    the loss'.
sync.error (see sync.mode, sync.allow)
    In a block, or a function, this thread's waits are refused, whatever sync.mode is: local _
    <close> = sync.error().
sync.warning (see sync.mode)
    In a block, or a function, each source line that waits is printed: local _ <close> =
    sync.warning().
sync.off (see sync.mode, sync.allow)
    In a block, or a function, waits are neither printed nor refused: local _ <close> = sync.off().
    sync.allow does so with a reason.
sync.baseline (see sync.lines)
    The waits so far that a file does not list, or with half their times or less (then `before` has
    these), in the form of sync.lines; with {update = true} it writes them there. Lines are found by
    their text. gpush sync --baseline does so for a script.
sync.explain (see sync.report)
    Why something makes the host wait, and what to write instead: both are run on the device, with
    their times and results. A cause is any word of a warning or a table: "to", "copy: to", "shape".
    Without a cause it gives their list. With {run = false} it only shows the programs; with {print
    = false} it returns what was measured.
sync.async (see sync.finish, to)
    Calls fn(value, ...) with x's value in host memory once it has arrived, without a wait: at a
    later sync.async or sync.finish(), or at the program's end. Such logging does not hold up the
    device.
sync.finish (see sync.async)
    Waits for all that was given to sync.async, and calls its functions.
    waits: for the values that have not arrived
sync.report (see sync.lines, profile.verdict)
    Prints who waited for a device, by line: why, how often, how long, what leaving one wait out is
    worth at least (how long the device then idled), what to write instead.
sync.lines (see sync.report)
    What sync.report prints, as a list of tables; times in seconds.
sync.events (see sync.lines)
    The last waits one by one, oldest first, and how many older ones are no longer known.
sync.calls (see sync.report)
    Calls of the device's runtime that may block, by line and function.
sync.reset (see sync.report)
    Forgets all waits so far.
sync.selftest (see sync)
    Provokes every kind of wait on this machine and says whether it was caught.
sync.budget (see sync)
    An error at the end of a block that waited more often, or longer in all, than it may: local _
    <close> = sync.budget{max = 2}. Allowed waits, the prompt's, and those for a full queue do not
    count.
    options: max: most waits; stall: most time in all of them, as '50us' or seconds; without either,
        no wait
]==]
