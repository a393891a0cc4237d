-- Training steps of two common models, forward, backward and the optimizer's, in the lines of
-- measure.lua: gpush steps.lua DEVICE [small]. ResNet-50 with pictures of 224x224 and SGD, GPT-2
-- small with 256 tokens a sequence and AdamW, each in f32 and under autocast to bf16, in batches of
-- 16 and 64. The time is that of the steps after the third. On a card a line "ITEM, plans<TAB>N"
-- more for each: how many plans of cuDNN's and cuBLAS's the steps after the third made. steps.py
-- beside this file has the same models in PyTorch. `small` tries the program on few and tiny ones.
local device, small = arg[1], arg[2] == "small"
local measure = dofile((arg[0]:match ".*/" or "") .. "measure.lua")
local gpush = require "gpush"
manual_seed(0)

-- ---- ResNet-50 ----

local Bottleneck = nn.module "Bottleneck"
function Bottleneck:init(from, width, stride)
    local to = 4 * width
    self.main = nn.Sequential(nn.Conv2d(from, width, 1, { bias = false }), nn.BatchNorm2d(width),
        nn.ReLU(), nn.Conv2d(width, width, 3, { stride = stride, padding = 1, bias = false }),
        nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, to, 1, { bias = false }),
        nn.BatchNorm2d(to))
    if stride > 1 or from ~= to then
        self.shortcut = nn.Sequential(nn.Conv2d(from, to, 1, { stride = stride, bias = false }),
            nn.BatchNorm2d(to))
    end
end
function Bottleneck:forward(x)
    local kept = x
    if self.shortcut then kept = self.shortcut(x) end
    return relu(self.main(x) + kept)
end

-- blocks: how many of each of the four widths; width: of the first.
local function resnet(blocks, width)
    local layers = { nn.Conv2d(3, width, 7, { stride = 2, padding = 3, bias = false }),
        nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, { stride = 2, padding = 1 }) }
    local from = width
    for stage, count in ipairs(blocks) do
        local inner = width << (stage - 1)
        for i = 1, count do
            layers[#layers + 1] = Bottleneck(from, inner, stage > 1 and i == 1 and 2 or 1)
            from = 4 * inner
        end
    end
    layers[#layers + 1] = nn.AdaptiveAvgPool2d(1)
    layers[#layers + 1] = nn.Flatten()
    layers[#layers + 1] = nn.Linear(from, 1000)
    return nn.Sequential(table.unpack(layers))
end

-- ---- GPT-2 ----

local Block = nn.module "Block"
function Block:init(width, heads)
    self.heads = heads
    self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
    self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
    self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
end
function Block:forward(x)
    local batch, length, width = x.shape[1], x.shape[2], x.shape[3]
    local parts = self.qkv(self.before(x)):view(batch, length, 3, self.heads, width // self.heads)
        :permute(3, 1, 4, 2, 5)
    local seen = scaled_dot_product_attention(parts[1], parts[2], parts[3], nil, 0, true)
    x = x + self.out(seen:transpose(2, 3):reshape(batch, length, width))
    return x + self.mlp(self.between(x))
end

local GPT = nn.module "GPT"
function GPT:init(words, length, width, heads, layers)
    self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
    local blocks = {}
    for i = 1, layers do blocks[i] = Block(width, heads) end
    self.blocks = nn.Sequential(table.unpack(blocks))
    self.norm = nn.LayerNorm(width)
end
function GPT:forward(x)
    local y = self.tokens(x) + self.places(arange(1, x.shape[2], 1, { device = x.device }))
    return linear(self.norm(self.blocks(y)), self.tokens.weight)
end

-- ---- the items ----

-- model and opt are the same for all batches of a dtype; x and labels are a batch.
local function item(name, dtype, model, opt, x, labels)
    local function step()
        opt:zero_grad()
        local y
        do
            local _ <close> = autocast { enabled = dtype == "bf16", dtype = "bf16" }
            y = model(x)
            y = cross_entropy(y:view(-1, y.shape[#y.shape]), labels:view(-1))
        end
        y:backward()
        opt:step()
    end
    measure.guarded(name, function()
        for _ = 1, 3 do step() end
        synchronize(device)
        local card = device == "cuda"
        local before = card and gpush.cuda_setting("plans_made", -1)
        measure.report(name, measure.rounds(device, step, small and 0 or 0.2, small and 1 or 5))
        if card then
            print(("%s, plans\t%d"):format(name, gpush.cuda_setting("plans_made", -1) - before))
        end
    end)
end

for _, dtype in ipairs { "f32", "bf16" } do
    do
        local model = small and resnet({ 1, 1 }, 2) or resnet({ 3, 4, 6, 3 }, 64)
        model:to(device)
        local opt = optim.SGD(model, { lr = 0.01, momentum = 0.9 })
        for _, batch in ipairs(small and { 2 } or { 16, 64 }) do
            local side = small and 16 or 224
            item(("ResNet-50, %s, batch %d"):format(dtype, batch), dtype, model, opt,
                randn(batch, 3, side, side, { device = device }),
                randint(1, 1000, { batch }, { device = device }))
        end
    end
    collectgarbage()
    do
        local words, length = small and 50 or 50257, small and 8 or 256
        local model = small and GPT(words, length, 16, 2, 1) or GPT(words, length, 768, 12, 12)
        model:to(device)
        local opt = optim.AdamW(model, { lr = 1e-4 })
        for _, batch in ipairs(small and { 2 } or { 16, 64 }) do
            local text = randint(1, words, { batch, length }, { device = device })
            item(("GPT-2 small, %s, batch %d"):format(dtype, batch), dtype, model, opt, text,
                text:roll(-1, 2))
        end
    end
    collectgarbage()
end
