--!plain
-- Embedding: a row of weight for each index, which counts from 1.
local gpush, nn = ...
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
return Embedding
