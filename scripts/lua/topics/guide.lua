--!plain
-- Help texts of what is no function: commands of the shell, and where to begin. Their form:
-- init.lua.
return {
    prompt = {
        text = "Up and Down go through what was typed, Ctrl-R searches it, Tab completes, ?name \z
            tells about a name. A block that is open goes on in the next line. :help lists the \z
            prompt's own commands, such as :time and :profile. docs/prompt.md has the rest.",
        see = "quit, tutorial" },
    ["from python"] = {
        text = "Type the line as in Python: the error has its form in Lua, as x:sum(2) for \z
            x.sum(1). Methods take a colon, lists are braces, options a table at the end, \z
            blocks close with end; dims, indices and labels count from 1, and a range includes \z
            its end. docs/language.md compares them.",
        example = "local x = tensor{{1., 2.}, {3., 4.}}\nreturn \z
            x[\"1:2, -1\"]:sum():item()\n--> 6.0",
        see = "tutorial, tensor, nn" },
    ["run a script"] = {
        text = "gpush train.lua runs a file, with what follows as arg; gpush -e 'print(ones(2))' \z
            runs a line, gpush -i train.lua goes on at the prompt. gpush --help has the options.",
        see = "prompt, gpush run, require" },
    quit = { text = "Ctrl-D, quit, exit or :quit end the prompt; Ctrl-C stops what runs. In a \z
        script: os.exit().", see = "os.exit" },
    install = {
        text = "scripts/gpush installs what is missing and builds the program when it is first \z
            called; cmake --install build/default --prefix ~/.local copies it elsewhere. \z
            docs/getting-started.md has the rest; gpush doctor says what works.",
        see = "doctor" },
    tutorial = {
        text = "docs/getting-started.md is a first session, docs/language.md says how to write \z
            what you know from PyTorch. gpush labs lists programs to run and read. At the prompt \z
            ?name tells about a name, Tab completes.",
        see = "labs" },
    labs = {
        text = "gpush labs lists programs that show what a wait, a copy or a fork costs; gpush \z
            lab NAME runs one, gpush lab NAME --help says what to look at. gathernd is the first, \z
            find_the_wait asks you.",
        call = "gpush lab NAME", see = "tutorial, sync.explain" },
    doctor = {
        text = "Says what works on this machine, what does not, why, and what to do about it: a \z
            GPU that is not found, a library that is missing. Where there is no GPU, device = \z
            'gpu' is sim, a device made of the processor.",
        call = "gpush doctor", see = "cuda, sim" },
    ["gpush profile"] = {
        text = "Runs a script and shows where its time goes: ops, waits, devices; --html writes a \z
            page, --trace one for Perfetto.",
        call = "gpush profile script.lua", see = "profile" },
    ["gpush sync"] = {
        text = "Runs a script and lists the lines that waited for a device, why, for how long, \z
            and what to write instead; as a check it fails where waits are new.",
        call = "gpush sync script.lua", see = "sync" },
    ["gpush analyze"] = {
        text = "Shows a saved profile, or a trace of torch.profiler: what dominated, who waited, \z
            what to change.",
        call = "gpush analyze FILE", see = "profile.load" },
    ["gpush compare"] = {
        text = "Says what changed between two profiles or traces; with --fail-above N it fails \z
            where the second is slower.",
        call = "gpush compare BEFORE AFTER", see = "compare" },
    ["gpush fit"] = {
        text = "Runs a script once on a card without a limit and says for each card whether the \z
            run fits in its memory, its peak, and which lines hold it.",
        call = "gpush fit script.lua", see = "memory" },
    ["gpush run"] = {
        text = "Runs a script in N processes, which find each other by dist.",
        call = "gpush run -n N script.lua", see = "dist.init" },
    ["nn.module"] = {
        text = "nn.module \"Name\" makes a class: give it the methods init(…) and forward(…), and \z
            Name(…) makes a module. With a signature, nn.module{\"Name\", sig = \"int size, bool \z
            bias=true\"}, init gets its arguments checked and filled in. base: the class whose \z
            methods it inherits.",
        call = "nn.module(definition, [base])", see = "nn, nn.parameter" },
    ["nn.parameter"] = {
        text = "A tensor of its own, of the same values, that requires gradients: what a layer \z
            learns.",
        call = "nn.parameter(t)", see = "nn.module" },
    ["nn.summary"] = {
        text = "Runs model(x, …) once, without gradients, and returns a text with a line for each \z
            call of a layer: path, class, shape of the result, elements that it learns itself; \z
            then the totals.",
        call = "nn.summary(model, x, …)", see = "nn" },
    ["--card"] = {
        text = "gpush --card h200 script.lua: sim stands in for a card, in modelled times.",
        call = "gpush --card h200 script.lua", see = "sim.card" },
}
