--!plain
-- MultiheadAttention: several parallel attentions, each over its part of the features. Vaswani et
-- al. 2017.
local require = ...
local gpush, nn, composite = require "gpush", require "nn", require "composite"
local Attention = nn.module { "MultiheadAttention",
    help = "attention of query to key and value, in num_heads parts",
    sig = "int embed_dim, int num_heads, float dropout=0, bool bias=true, int? kdim, int? vdim, \z
        bool batch_first=false, "
        .. "dtype? dtype, device? device" }

function Attention:init(size, heads, dropout, bias, kdim, vdim, batch_first, dtype, device)
    if heads < 1 or size % heads ~= 0 then
        nn.raise("nn.MultiheadAttention: embed_dim %d is no multiple of num_heads %d", size, heads)
    end
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = size, heads, dropout,
        batch_first
    local function weight(rows, columns)
        return nn.parameter(nn.init.xavier_uniform_(gpush.empty({ rows, columns }, dtype, device)))
    end
    if (kdim or size) == size and (vdim or size) == size then
        self.in_proj_weight = weight(3 * size, size)
    else
        self.q_proj_weight = weight(size, size)
        self.k_proj_weight = weight(size, kdim or size)
        self.v_proj_weight = weight(size, vdim or size)
    end
    if bias then self.in_proj_bias = nn.parameter(gpush.zeros(3 * size, dtype, device)) end
    self.out_proj = nn.Linear(size, size, bias, dtype, device)
    if bias then nn.init.zeros_(self.out_proj.bias) end
end

-- Projects query, key and value by their own rows of the weights.
local function project(self, inputs)
    local size, out, bias = self.embed_dim, {}, self.in_proj_bias
    local own = { self.q_proj_weight, self.k_proj_weight, self.v_proj_weight }
    for i = 1, 3 do
        local weight = own[i] or self.in_proj_weight:narrow(1, (i - 1) * size + 1, size)
        out[i] = inputs[i]:linear(weight, bias and bias:narrow(1, (i - 1) * size + 1, size))
    end
    return out
end

-- batch x length x features to batch x heads x length x features per head
local function split(self, x)
    return x:unflatten(3, { self.num_heads, -1 }):transpose(2, 3)
end

-- The term added to the scores, or nil. In a bool mask, true hides a key (as in PyTorch); masks are
-- L x S or batch * heads x L x S, those of keys batch x S.
local function mask_of(self, attn_mask, key_padding_mask, like, batch)
    local function added(mask)
        if mask.dtype ~= "bool" then return mask end
        return gpush.zeros_like(mask, { dtype = like.dtype }):masked_fill(mask, -math.huge)
    end
    local mask, keys = attn_mask and added(attn_mask), key_padding_mask and added(key_padding_mask)
    if mask and mask:dim() == 3 then mask = mask:unflatten(1, { batch, self.num_heads }) end
    if keys then
        keys = (keys:dim() == 1 and keys:unsqueeze(1) or keys):unsqueeze(2):unsqueeze(2)
        mask = mask and mask + keys or keys
    end
    return mask
end

local arguments = composite { name = "forward", help = "its arguments, read by name or place",
    sig = "tensor query, tensor key, tensor value, tensor? key_padding_mask, bool \z
        need_weights=true, "
        .. "tensor? attn_mask, bool average_attn_weights=true", fn = function(...) return ... end }

--- output, weights = attention(query, key, value, {key_padding_mask =, need_weights = true,
--- attn_mask =,
--- average_attn_weights = true}) of length x batch x features (batch_first: batch x length; or
--- without a batch).
function Attention:forward(...)
    local query, key, value, keys, need_weights, attn_mask, average = arguments(...)
    local single = query:dim() == 2
    local inputs = { query, key, value }
    for i, x in ipairs(inputs) do
        if single then x = x:unsqueeze(1) elseif not self.batch_first then x = x:transpose(1, 2) end
        inputs[i] = x
    end
    local batch, parts = inputs[1]:size(1), project(self, inputs)
    local q, k, v = split(self, parts[1]), split(self, parts[2]), split(self, parts[3])
    local mask, p = mask_of(self, attn_mask, keys, q, batch), self.training and self.dropout or 0
    local share, weights
    if need_weights then
        local scores = (q / math.sqrt(self.embed_dim // self.num_heads)):matmul(k:transpose(-2, -1))
        weights = (mask and scores + mask or scores):softmax(-1)
        share = (p > 0 and weights:dropout(p) or weights):matmul(v)
    else
        share = gpush.scaled_dot_product_attention(q, k, v, mask, p)
    end
    local y = self.out_proj(share:transpose(2, 3):flatten(3, 4))
    if single then y = y:squeeze(1) elseif not self.batch_first then y = y:transpose(1, 2) end
    if not need_weights then return y end
    if average then weights = weights:mean(2) end
    return y, single and weights:squeeze(1) or weights
end

function Attention:extra_repr() return ("%d, %d"):format(self.embed_dim, self.num_heads) end
return Attention
