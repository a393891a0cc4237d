-- The training step of labs/masked_loss.lua, at batch 8 and 256 x 256 on the cpu unless asked
-- otherwise, for the benchmark: returns a function of the stage and options that gives the step;
-- option wrap makes another model of the model. As a program, gpush masked.lua STAGE: the peak
-- memory of two steps, in bytes.
local CLASSES, IGNORE = 10, 0

local Net = nn.module "Net"
function Net:init()
    self.conv_in = nn.Conv2d(3, 10, 3, { padding = "same" })
    self.hidden = nn.Sequential()
    for _ = 1, 10 do
        self.hidden:append(nn.Conv2d(10, 10, 3, { padding = "same" })):append(nn.ReLU())
    end
    self.conv_out = nn.Conv2d(10, CLASSES, 3, { padding = "same" })
end
function Net:forward(x) return self.conv_out(self.hidden(self.conv_in(x):relu())) end

local losses = {}

function losses.baseline(pred, target)
    target:index_put_((target == CLASSES):nonzero():unbind(2), IGNORE)
    local few = unique(target):numel() < 2
    local mask = target ~= IGNORE
    local scores = pred:permute(1, 3, 4, 2)[mask:unsqueeze(-1):expand(-1, -1, -1, CLASSES)]:reshape(
        -1, CLASSES)
    local loss = cross_entropy(scores, target[mask])
    return few and 0 * loss or loss
end

function losses.ignore_index(pred, target)
    target = where(target == CLASSES, IGNORE, target)
    local sorted = target:flatten(1):sort()
    local labels = (sorted["2:"] - sorted[":-2"]):count_nonzero() + 1
    local loss = cross_entropy(pred, target, { ignore_index = IGNORE })
    return where(labels < 2, 0 * loss, loss)
end

local function step(stage, options)
    local o = options or {}
    local opt, batch, size = { device = o.device or "cpu" }, o.batch or 8, o.size or 256
    local model = (o.wrap or function(m) return m end)(Net():to(opt.device))
    local optimizer = optim.SGD(model, { lr = 0.001, momentum = 0.9 })
    local inputs, labels = randn(batch, 3, size, size, opt),
        randint(0, CLASSES, { batch, size, size }, opt)
    return function()
        local loss = losses[stage](model(inputs), labels:clone())
        optimizer:zero_grad()
        loss:backward()
        optimizer:step()
    end
end

if ... ~= "step" then
    local stage = ...
    threads(1)
    local run = step(stage)
    run()
    run()
    for line in io.lines "/proc/self/status" do
        local kib = line:match "^VmHWM:%s*(%d+)"
        if kib then print(("masked loss, %s, peak\t%d"):format(stage, kib * 1024)) end
    end
end
return step
