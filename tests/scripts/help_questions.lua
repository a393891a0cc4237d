-- What newcomers ask, as users of PyTorch, NumPy and Julia: question -> the name that must be among
-- the first three answers. Where the question is a name, its own page is the answer.
local t = require "tap"

local asked = [[
slow: gpush profile
my script is slow: gpush profile
find waits: gpush sync
why does it wait: sync.explain
where does the time go: profile
bottleneck: profile
gpu not found: doctor
cuda available: cuda.is_available
run without a gpu: sim
out of memory: memory
oom: memory
memory leak: memory
free gpu memory: empty_cache
labs: labs
examples: labs
exercise: labs
install: install
pip install: install
save: checkpoint
save a model: checkpoint
how do I load weights: checkpoint.load
save numpy array: npy
read csv: data
transpose: transpose
swap axes: transpose
distributed: dist.init
quit: quit
exit: quit
tutorial: tutorial
getting started: tutorial
documentation: help
matrix multiplication: matmul
multiply two matrices: matmul
dot product: matmul
concatenate: cat
hcat: cat
add a dimension: unsqueeze
newaxis: unsqueeze
reorder dimensions: permute
random numbers: rand
normal distribution: randn
set the seed: manual_seed
inverse of a matrix: linalg.inv
solve linear equations: linalg.solve
eigenvalues: linalg.eigh
singular values: linalg.svd
move to gpu: to
convert dtype: to
convert to list: tolist
dataloader: data.Loader
minibatch: data.Loader
learning rate schedule: optim.lr
gradient descent: optim.SGD
clip gradients: optim.clip_grad_norm_
disable gradients: no_grad
mixed precision: amp
fp16: amp
multiple gpus: nn.parallel.DistributedDataParallel
torchrun: gpush run
measure time: timeit
benchmark two functions: compare
read a pytorch trace: gpush analyze
chrome trace: gpush analyze
draw a graph: plot
histogram: histogram
draw a histogram: hist
show an image: imshow
boolean mask: masked_select
find nan: isnan
nan loss: nan.watch
my loss is nan: nan.watch
loss becomes inf: nan.watch
which op made nan: nan.watch
different results on gpu: diverge
bf16 precision: diverge
torch.compile: fuse
cuda graphs: capture
number of parameters: nn.summary
pinned memory: pin_memory
print more digits: printoptions
custom layer: nn.module
import a module: require
asynchronous logging: sync.async
modelled h100: --card
will my model fit: gpush fit
accuracy: accuracy
confusion matrix: accuracy
freeze layers: freeze layers
early stopping: early stopping
learning rate: optim.lr
learning rate scheduler: optim.lr
warmup: optim.lr
overfitting: overfitting
batch size: batch size
gradient clipping: optim.clip_grad_norm_
save best model: checkpoint.save
GPU utilisation low: gpu utilisation
dataloader slow: data loader speed
why is my training slow: gpush profile
move model to gpu: to
load csv: data.Dataset
load images from folder: data.ImageFolder
normalize images: data.transforms
data augmentation: data.transforms
one hot encoding: one_hot
train test split: split data
shuffle data: data.Loader
reproducible results: manual_seed
weight decay: optim.AdamW
gradient accumulation: gradient accumulation
transfer learning: pretrained model
custom dataset: data.Dataset
custom loss: custom loss
class weights: custom loss
imbalanced classes: custom loss
regression: nn.Linear
text classification: text classification
tokenizer: text classification
image classification: image classification
how do I train a model: train a model
training loop: train a model
debugging: debugging
breakpoint: debugging
print shape: debugging
python: from python
compare with pytorch: from python
run a script: run a script
history: prompt
multiline: prompt
jupyter: prompt
use two gpus: nn.parallel.DistributedDataParallel
stop training: early stopping
time a function: timeit
print all elements: printoptions
version: doctor
why is my loss not decreasing: training fails
gan: train a model
autoencoder: train a model
load pretrained weights: pretrained model
mnist: image classification
inference mode: evaluate
evaluate model: evaluate
predict: evaluate
loss not decreasing: training fails
vanishing gradients: training fails
convert to numpy: npy.save
reshape tensor: reshape
export onnx: export
how many waits: sync.report
resume training: checkpoint
progress bar: progress
non_blocking: to
return_indices: max_pool2d
align_corners: grid_sample
minlength: bincount
]]

local function said(what)
    local lines, old = {}, print
    _G.print = function(s) lines[#lines + 1] = tostring(s) end
    local ok, message = pcall(help, what)
    _G.print = old
    return ok, ok and table.concat(lines, "\n") or tostring(message)
end

-- The lines of the first three answers; a page's first line has the name that it calls.
local function answers(question)
    local ok, text = said(question)
    local lines = {}
    for line in text:gsub("^nothing mentions all[^\n]*\n", ""):gmatch "[^\n]+" do
        if #lines < 3 then lines[#lines + 1] = line end
    end
    return ok, lines, text
end

local n, missed = 0, {}
for question, name in asked:gmatch "([^\n]-): ([^\n]+)" do
    local ok, lines, text = answers(question)
    local found = ok and said(name) and select(2, said(name)) == text -- a page of its own
    for _, line in ipairs(lines) do
        local begin = (line .. " "):sub(1, #name + 1)
        found = found or begin == name .. " " or begin == name .. "(" -- of a page
    end
    n = n + 1
    if not found then
        missed[#missed + 1] = ("%s: %s, not %s"):format(question, table.concat(lines, "; "), name)
    end
end
t.ok(n >= 100, ("%d questions"):format(n))
t.is(table.concat(missed, "\n"), "", "each finds its answer among the first three")

-- An unknown word: a message without a traceback that says what to try.
local gpush = (os.getenv "GPUSH_BUILD") .. "/gpush"
local p = io.popen(("'%s' -e 'help \"xyzzy\"' 2>&1"):format(gpush))
local text = p:read "a"
t.ok(not p:close() and text:find "help: nothing is called 'xyzzy'" and text:find "try other words"
    and not text:find "traceback", "an unknown word", text)
t.ok(select(2, said "zeroz"):find "did you mean zero_ or zeros", "a slip of the hand")

-- Names of PyTorch's and NumPy's with their package: what they are here, and its page.
for name, says in pairs { ["torch.no_grad"] = "in Lua no_grad\nno_grad(",
    ["torch.cuda.synchronize"] = "in Lua synchronize(device)\nsynchronize(",
    ["np.concatenate"] = "in Lua concatenate\ncat(", ["F.relu"] = "in Lua relu\nrelu(x)",
    ["nn.functional.relu"] = "in Lua relu\nrelu(x)", ["torch.float16"] = 'in Lua "f16"',
    ["np.median"] = "np.median(x, axis): in Lua quantile(x, 0.5, axis)\nquantile(",
    ["np.pi"] = "in Lua math.pi\nmath.pi: a number", ["torch.optim.Adam"] = "in Lua optim.Adam\n",
    ["torch.save"] = "in Lua checkpoint.save(weights, state)\ncheckpoint.save(" } do
    local _, page = said(name)
    t.ok(page:find(name, 1, true) == 1 and page:find(says, 1, true), name, page)
end
t.ok(select(2, said "np.nosuch"):find "nothing is called 'np.nosuch'", "a name that nobody has")

-- What a group's page lists.
for group, members in pairs {
    nn = { "Linear", "Conv2d", "LSTM", "CrossEntropyLoss", "Sequential", "module", "parallel" },
    optim = { "Adam", "SGD", "LBFGS", "lr", "clip_grad_norm_" },
    data = { "Loader", "Dataset", "TensorDataset", "ImageFolder", "transforms" },
    linalg = { "svd", "solve" }, sync = { "report", "explain" }, profile = { "run", "load" },
} do
    local _, page = said(group)
    local list, lost = (page:match "\n    fields: (.*)" or ""):gsub("%s+", " ") .. ",", {}
    for _, name in ipairs(members) do
        if not (" " .. list):find(" " .. name .. ",", 1, true) then lost[#lost + 1] = name end
    end
    t.is(table.concat(lost, " "), "", "help " .. group .. " lists its members")
end
t.done()
