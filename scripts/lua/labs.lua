--!plain
-- The labs, scripts/labs/*.lua: their names, in the order in which to take them, and what each
-- shows. For gpush labs, gpush lab and help.
local require = ...
local dir = require "dir"
local M = {}

M.list = {
    { "gathernd", "a loop that reads index after index waits; one op does not" },
    { "find_the_wait", "six lines of a training step wait: find them, and rewrite it" },
    { "masked_loss", "a loss that waits four times a step, and three changes" },
    { "seven_tips", "workers, pinned memory, item(), 16 bits …: which pay here" },
    { "fork_wait", "layers beside one another on several streams" },
    { "my_kernel", "a kernel of your own in CUDA C, checked and counted without a card" },
    { "svd", "singular values through the CPU, and on the device" },
    { "svd_live", "from which size on the device is faster than the CPU" },
    { "digits", "a training run with loader, schedule and checkpoints" },
    { "ddp", "one training in several processes, one of them late" },
}

local folder = dir:gsub("/[^/]*$", "") .. "/labs/"

--- A lab's file; or nil and the names that were probably meant, if any.
function M.file(name)
    local names = {}
    for i, lab in ipairs(M.list) do
        if lab[1] == name then return folder .. name .. ".lua" end
        names[i] = lab[1]
    end
    return nil, require "nearest"(name, names)
end

--- The list, a line each.
function M.text()
    local lines = {}
    for i, lab in ipairs(M.list) do lines[i] = ("%-14s %s"):format(lab[1], lab[2]) end
    lines[#lines + 1] = "gpush lab NAME runs one; gpush lab NAME --help says what to look at."
    return table.concat(lines, "\n")
end

return M
