--!plain
-- gpush fit [options] script [args]: whether a run fits in the memory of each card, its peak, and
-- whose that is. The script runs once on sim, whose results are real, in memory that grows a little
-- each time that it is full after what waits for Lua's collector was freed: that garbage is not in
-- the peak. Once a card's own memory is full it goes on in that of the next. So a card is enough
-- exactly where a run on it does not end without memory.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush = require "gpush"
local profile, sim = gpush.profile, gpush.sim
local fit = require "fit"
local grow = require "registry"["gpush.sim_grow"]

-- The cards by their memory, the smallest first: {key =, name =, memory =}.
local cards, keys = {}, {}
for key, card in pairs(sim.cards()) do
    cards[#cards + 1] = { key = key, name = card.name, memory = card.memory }
end
table.sort(cards, function(a, b)
    if a.memory ~= b.memory then return a.memory < b.memory end
    return a.key < b.key
end)
for i, card in ipairs(cards) do keys[i] = card.key end

local command = require "command_line"("fit", [[
usage: gpush fit [options] script [args]
Runs the script once on sim and says on stderr for each card whether the run fits in its memory, the
peak, and which lines and ops hold it. A script that catches an error for lack of memory gets none.
  --card NAME        only whether it fits in that card's
  --limit N          lines of those that hold the peak; 10
  --max-events N     record no more; 4194304
What a card's libraries take for themselves is not in the peak: nobody measured it.
The exit status is the script's, or 1 where the run does not fit in any of the cards, of which
--card names one.
]], { ["--card"] = keys, ["--limit"] = 1, ["--max-events"] = 1 })

local function size(n)
    for _, unit in ipairs { { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } } do
        if n >= unit[1] then return ("%.2f %s"):format(n / unit[1], unit[2]) end
    end
    return ("%d B"):format(n)
end

-- The device of sim with the largest peak, of prof:memory(); nil: none was used.
local function busiest(memory)
    local most
    for _, d in ipairs(memory.devices) do
        if d.device:find "^sim" and (not most or d.peak > most.peak) then most = d end
    end
    return most
end

-- What was asked for where a card's memory was not enough.
local function lack(it)
    return ("does not fit%s: %s more asked for than %s in use"):format(
        it.file and (" at %s:%d"):format(it.file, it.line) or "", size(it.asked), size(it.in_use))
end

-- Lines of the cards asked for, whether the run fits in one of them, and the key of the largest in
-- which it does not; nil: of none. ended: the script ran to its end, so that the peak is known.
local NARROW <const> = 1e9 -- bytes that context, handles and workspaces might take

-- Whether a run fits with that much left: what the driver and libraries take is not counted.
local function room(left)
    return left < NARROW and ("fits if context and libraries take less than %s"):format(size(left))
        or ("fits, %s left"):format(size(left))
end

local function card_rows(peak, ended, key)
    local rows, fits, lacks = { { "card", "memory", "peak of it", "" } }, false, {}
    local lacking
    for _, it in ipairs(grow()) do lacks[it.memory] = it end
    for _, card in ipairs(cards) do
        if not key or key == card.key then
            local it = lacks[card.memory]
            local verdict = it and lack(it)
                or ended and room(card.memory - peak)
                or "unknown: the script ended early"
            fits = fits or not it and ended
            lacking = it and card.key or lacking
            rows[#rows + 1] = { card.name, size(card.memory),
                ("%.1f %%"):format(100 * peak / card.memory), verdict }
        end
    end
    return rows, fits, lacking
end

local function owner_rows(memory, device, limit)
    local rows, rest, more = { { "at the peak", "of", "line" } }, 0, 0
    for _, row in ipairs(memory) do
        if row.device == device and row.peak > 0 then
            if #rows <= limit then
                rows[#rows + 1] = { size(row.peak), row.name or "outside of any op",
                    row.file and ("%s:%d"):format(row.file, row.line) or "?" }
            else
                rest, more = rest + row.peak, more + 1
            end
        end
    end
    if more > 0 then rows[#rows + 1] = { size(rest), ("%d more"):format(more), "" } end
    return rows
end

-- Prints what the run took; whether it fits.
local function deliver(prof, ended, given)
    local memory = prof:memory()
    local most = busiest(memory)
    if not most then
        command.say 'the script put nothing on the device (expected one that uses "gpu" or "sim")'
        return false
    end
    local rows, fits, lacking = card_rows(most.peak, ended, given["--card"])
    io.stderr:write(("peak: %s on %s%s\n"):format(size(most.peak), most.device,
            ended and "" or ", up to where the script ended"),
        "modelled: counted on sim, in blocks as the allocator rounds them; what a card's context, \z
        library\nhandles and workspaces take is not in it, as nobody measured it, nor what waits \z
        for Lua's collector,\nwhich runs before memory ends\n\n",
        fit.columns(rows, { false, true, true }), "\n\n",
        fit.columns(owner_rows(memory, most.device, given["--limit"] or 10), { true }), "\n")
    if fits and lacking then
        command.say("the exit status is 0, as it fits in some; --card %s asks for that card alone",
            lacking)
    end
    if prof.dropped > 0 then
        command.say("%d events were dropped at --max-events: the peak may be higher", prof.dropped)
    end
    return fits and prof.dropped == 0
end

local args = table.pack(...)
local given, at = command.read(args)
if not given then return at end
if not args[at] then return command.refuse "expected a script" end
if os.getenv "GPUSH_SIM_MEMORY" then
    return command.refuse "GPUSH_SIM_MEMORY is set, which takes the place of each card's memory: \z
        unset it"
end

local UNLIMITED <const> = 1e18 -- more than any host's
local memories = {}
for _, card in ipairs(cards) do
    if (not given["--card"] or given["--card"] == card.key)
        and memories[#memories] ~= card.memory then
        memories[#memories + 1] = card.memory
    end
end
memories[#memories + 1] = UNLIMITED
sim.card = { name = "card that grows", like = "h200" }
grow(memories)
profile.start { memory = true, limit = given["--max-events"] }
command.after_script(function(ok, began)
    local stopped, prof = pcall(profile.stop)
    io.stdout:flush()
    if not stopped then
        command.say("%s", command.plain(prof))
        return false
    end
    if not began then return false end
    return deliver(prof, ok, given) and ok
end)
return at
