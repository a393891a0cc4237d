--!plain
-- Help texts of what is no function: commands of the shell, and where to begin; their form:
-- topics.lua.
return [==[
prompt (see quit, tutorial)
    Up and Down go through what was typed, Ctrl-R searches it, Tab completes, ?name describes a
    name. An open block continues on the next line. :help lists the prompt's own commands, such as
    :time and :profile. docs/prompt.md has the rest.
from python (see tutorial, tensor, nn)
    Type the line as in Python: the error has its form in Lua, as x:sum(2) for x.sum(1). Methods
    take a colon, lists are braces, options a table at the end, blocks close with end; dims, indices
    and labels count from 1, and a range includes its end. docs/language.md compares them.
    > local x = tensor{{1., 2.}, {3., 4.}}
    > return x["1:2, -1"]:sum():item()
    --> 6.0
run a script (see prompt, gpush run, require)
    gpush train.lua runs a file, with what follows as arg; gpush -e 'print(ones(2))' runs a line,
    gpush -i train.lua goes on at the prompt. gpush --help has the options.
quit (see os.exit)
    Ctrl-D, quit, exit or :quit end the prompt; Ctrl-C stops what runs. In a script: os.exit().
install (see doctor)
    scripts/gpush installs what is missing and builds the program when it is first called; cmake
    --install build/default --prefix ~/.local copies it elsewhere. docs/getting-started.md has the
    rest; gpush doctor says what works.
tutorial (see labs)
    docs/getting-started.md is a first session, docs/language.md says how to write what you know
    from PyTorch. gpush labs lists programs to run and read. At the prompt ?name describes a name,
    and Tab completes.
labs | gpush lab NAME (see tutorial, sync.explain)
    gpush labs lists programs that show what a wait, a copy or a fork costs; gpush lab NAME runs
    one, gpush lab NAME --help says what to look at. Start with gathernd; find_the_wait is an
    exercise.
doctor | gpush doctor (see cuda, sim)
    Says what works on this machine, what does not, why, and the command that mends it: a GPU that
    is not found or runs no kernel, a library that is missing. Where there is no GPU, device = 'gpu'
    is sim, a device made of the processor.
gpush profile | gpush profile script.lua (see profile)
    Runs a script and shows where its time goes: ops, waits, devices; --html writes a page, --trace
    one for Perfetto.
gpush sync | gpush sync script.lua (see sync)
    Runs a script and lists the lines that waited for a device, why, for how long, and what to write
    instead; as a check it fails where waits are new.
gpush record | gpush record train.py (see gpush analyze)
    Runs a PyTorch program unchanged, records some of its steps by torch.profiler, and says what
    dominated, who waited, what to change. gpush record -- torchrun train.py records each rank.
gpush analyze | gpush analyze FILE (see profile.load)
    Shows a saved profile, or a trace of torch.profiler: what dominated, who waited, what to change.
gpush mcp | gpush mcp (see gpush analyze)
    Answers an assistant's questions about profiles and traces by the Model Context Protocol.
gpush compare | gpush compare BEFORE AFTER (see compare)
    Says what changed between two profiles or traces; with --fail-above N it fails where the second
    is slower.
gpush fit | gpush fit script.lua (see memory)
    Runs a script once, in the smallest card's memory, and in the next one's from where that is not
    enough: says for each card whether the run fits, its peak, and which lines hold it.
gpush run | gpush run -n N script.lua (see dist.init)
    Runs a script in N processes, which find each other by dist.
--card | gpush --card h200 script.lua (see sim.card)
    gpush --card h200 script.lua: sim stands in for a card, in modelled times.
]==]
