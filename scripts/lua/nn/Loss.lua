--!plain
-- Losses: a table of names, the ops they call and these ops' options; each becomes a class, whose
-- tensors are buffers.
local require = ...
local gpush, nn = require "gpush", require "nn"

local reduction = "str reduction=\"mean\""
local losses = {
    CrossEntropyLoss = { "cross_entropy", "tensor? weight, int ignore_index=-100, " .. reduction ..
        ", float label_smoothing=0" },
    NLLLoss = { "nll_loss", "tensor? weight, int ignore_index=-100, " .. reduction },
    MSELoss = { "mse_loss", reduction }, L1Loss = { "l1_loss", reduction },
    SmoothL1Loss = { "smooth_l1_loss", reduction .. ", float beta=1" },
    HuberLoss = { "huber_loss", reduction .. ", float delta=1" },
    BCELoss = { "binary_cross_entropy", "tensor? weight, " .. reduction },
    BCEWithLogitsLoss = { "binary_cross_entropy_with_logits",
        "tensor? weight, " .. reduction .. ", tensor? pos_weight" },
    KLDivLoss = { "kl_div", reduction .. ", bool log_target=false" },
    PoissonNLLLoss = { "poisson_nll_loss", "bool log_input=true, bool full=false, float eps=1e-8, "
        .. reduction },
    GaussianNLLLoss = { "gaussian_nll_loss", "bool full=false, float eps=1e-6, " .. reduction, 3 },
    SoftMarginLoss = { "soft_margin_loss", reduction },
    HingeEmbeddingLoss = { "hinge_embedding_loss", "float margin=1, " .. reduction },
    MarginRankingLoss = { "margin_ranking_loss", "float margin=0, " .. reduction, 3 },
    CosineEmbeddingLoss = { "cosine_embedding_loss", "float margin=0, " .. reduction, 3 },
    TripletMarginLoss = { "triplet_margin_loss",
        "float margin=1, float p=2, float eps=1e-6, bool swap=false, " .. reduction, 3 },
    MultiMarginLoss = { "multi_margin_loss", "int p=1, float margin=1, tensor? weight, " ..
        reduction },
    MultiLabelMarginLoss = { "multilabel_margin_loss", reduction },
    MultiLabelSoftMarginLoss = { "multilabel_soft_margin_loss", "tensor? weight, " .. reduction },
    CTCLoss = { "ctc_loss", "int blank=1, " .. reduction .. ", bool zero_infinity=false", 4 },
}

-- The names in a signature, in order.
local function names_of(sig)
    local list = {}
    for part in sig:gmatch "[^,]+" do list[#list + 1] = part:match "^%s*%S+ ([%w_]+)" end
    return list
end

for name, row in pairs(losses) do
    local run, names, operands = gpush[row[1]], names_of(row[2]), row[3] or 2
    local class = nn.module { name, sig = row[2], help = "as the op " .. row[1] }

    function class:init(...)
        for i, option in ipairs(names) do
            local value = select(i, ...)
            if gpush.is_tensor(value) then
                self:register_buffer(option, value)
            else
                self[option] = value
            end
        end
    end

    function class:forward(a, b, c, d)
        local options = {}
        for _, option in ipairs(names) do options[option] = self[option] end
        if operands == 4 then return run(a, b, c, d, options) end
        if operands == 3 then return run(a, b, c, options) end
        return run(a, b, options)
    end
    nn[name] = class
end
