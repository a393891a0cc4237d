--!plain
-- Longer help texts, by name. They stand in the files named help.lua, or in a folder help, beside
-- what they describe; those of Lua and of what has no file of its own in this folder. Their form:
--
-- NAME | how it is called, of what has no signature (see OTHER, NAMES)
--     The text, in several lines.
--     options: name: what it is; …       what Tab says, too (options.lua of those not here)
--     shapes: …                          or waits:, raises:
--     > code                             an example, which tests/scripts/help.lua runs
--     --> what it shows                  or both in one line: > code --> what it shows
--
-- `call:` and `see:` have lines of their own where they are long. What is indented by eight goes on
-- with the line above.
local require = ...
local topics = {
    -- The start page: groups of names.
    {
        { "make", "tensor zeros ones full arange linspace eye rand randn randint" },
        { "change shape", "reshape permute transpose squeeze cat stack split pad" },
        { "compute", "+ - * / exp log sqrt where clamp matmul einsum conv2d linalg fft" },
        { "reduce", "sum mean max argmax std any all norm cumsum sort topk" },
        { "learn", "backward grad no_grad nn optim data cross_entropy" },
        { "watch", "sync profile timeit compare memory" },
        { "look", "plot hist heatmap imshow printoptions" },
    },
}

local FIELDS <const> = " call options shapes waits raises see "

local function new_topic(line)
    local head, see = line:match "^(.-) %(see (.*)%)$"
    local name, call = (head or line):match "^(.-) | (.*)$"
    name = name or head or line
    if topics[name] then error(name .. " has two help texts") end
    topics[name] = { call = call, see = see }
    return topics[name]
end

local function add(topic, field, text, joint)
    topic[field] = topic[field] and topic[field] .. joint .. text or text
    return field
end

for _, file in ipairs { "ops.help.create", "ops.help.elementwise", "ops.help.reduce",
    "ops.help.shape", "ops.help.index", "ops.help.linalg", "ops.help.fft", "ops.help.loss",
    "ops.help.nn", "ops.help.values", "nn.help", "optim.help", "data.help",
    "checkpoint.help", "amp.help", "cuda.help", "dist.help", "sync.help", "profile.help",
    "plot.help", "help.module", "help.values", "help.guide", "help.tasks" }
do
    local topic, field
    for line in require(file):gmatch "[^\n]+" do
        local text = line:match "^    (.*)$"
        local key, rest = (text or ""):match "^(%l+): (.*)$"
        if not text then topic, field = new_topic(line), "text"
        elseif text:find "^%-?%-?> " then
            text = text:gsub("^> ", ""):gsub(" (%-%-> )", "\n%1")
            add(topic, "example", text, "\n")
        elseif key and FIELDS:find(" " .. key .. " ", 1, true) then
            field = add(topic, key, rest, " ")
        elseif text:find "^    " then add(topic, field, text:match "^%s*(.*)$", " ")
        else field = add(topic, "text", text, " ") end
    end
end
for name, topic in pairs(require "help.lua_library") do topics[name] = topic end
return topics
