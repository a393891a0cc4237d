--!plain
-- Embedding: a row of weight for each index, which counts from 1. EmbeddingBag: of several at once.
local require = ...
local gpush, nn = require "gpush", require "nn"
local Embedding = nn.module { "Embedding",
    help = "a row of weight for each index, as a new last dim",
    sig = "int num_embeddings, int embedding_dim, int? padding_idx, dtype? dtype, device? device" }

function Embedding:init(count, size, padding_idx, dtype, device)
    local weight = gpush.randn({ count, size }, dtype, device)
    if padding_idx then
        if padding_idx < 0 then padding_idx = count + 1 + padding_idx end
        if padding_idx < 1 or padding_idx > count then
            nn.raise(count > 0 and "nn.Embedding: padding_idx: expected 1 to %d" or
                "nn.Embedding: padding_idx: there are no rows (num_embeddings is %d)", count)
        end
        weight[padding_idx] = 0
    end
    self.num_embeddings, self.embedding_dim, self.padding_idx = count, size, padding_idx
    self.weight = nn.parameter(weight)
end

function Embedding:forward(index)
    return index:embedding(self.weight, self.padding_idx)
end

function Embedding:extra_repr()
    return ("%d, %d"):format(self.num_embeddings, self.embedding_dim)
end
nn.Embedding = Embedding

local Bag = nn.module { "EmbeddingBag", help = "the mean, sum or max of the rows of each bag",
    sig = "int num_embeddings, int embedding_dim, str mode=\"mean\", int? padding_idx, dtype? \z
        dtype, device? device" }

function Bag:init(count, size, mode, padding_idx, dtype, device)
    if mode ~= "mean" and mode ~= "sum" and mode ~= "max" then
        nn.raise("nn.EmbeddingBag: mode: expected 'mean', 'sum' or 'max', got '%s'", mode)
    end
    if padding_idx and (padding_idx == 0 or math.abs(padding_idx) > count
        or padding_idx == math.mininteger) then
        nn.raise("nn.EmbeddingBag: padding_idx: expected 1 to %d, got %d", count, padding_idx)
    end
    local rows = nn.Embedding(count, size, padding_idx, dtype, device)
    self.num_embeddings, self.embedding_dim, self.padding_idx = count, size, rows.padding_idx
    self.mode, self.weight = mode, rows.weight
end

--- bag(input, offsets, per_sample_weights): input is n x indices, or a line with offsets.
function Bag:forward(input, offsets, per_sample_weights)
    return gpush.embedding_bag(input, self.weight, offsets, self.mode, per_sample_weights,
        self.padding_idx)
end

function Bag:extra_repr()
    return ("%d, %d, %s"):format(self.num_embeddings, self.embedding_dim, self.mode)
end
nn.EmbeddingBag = Bag
