--!plain
-- TransformerEncoderLayer and TransformerEncoder: attention to itself, then two linear layers, each
-- added to its input and normed; TransformerDecoderLayer and TransformerDecoder, which attend to a
-- memory between the two; Transformer, of both. Vaswani et al. 2017.
local require = ...
local gpush, nn = require "gpush", require "nn"
local composite, declared = require "composite", require "declared"

local of_layer = "int d_model, int nhead, int dim_feedforward=2048, float dropout=0.1, str \z
    activation=\"relu\", float layer_norm_eps=1e-5, bool batch_first=false, bool \z
    norm_first=false, dtype? dtype, device? device"

-- What layers of both kinds have: attention under the given names, the feed-forward net, a norm
-- and a dropout for each of them.
local function build(self, attentions, size, heads, inner, dropout, activation, eps, batch_first,
    norm_first, dtype, device)
    if activation ~= "relu" and activation ~= "gelu" then
        nn.raise("nn.%s: activation: expected 'relu' or 'gelu', got '%s'", nn.class_of(self),
            activation)
    end
    for _, name in ipairs(attentions) do
        self[name] = nn.MultiheadAttention(size, heads,
            { dropout = dropout, batch_first = batch_first, dtype = dtype, device = device })
    end
    self.linear1 = nn.Linear(size, inner, true, dtype, device)
    self.dropout = nn.Dropout(dropout)
    self.linear2 = nn.Linear(inner, size, true, dtype, device)
    for i = 1, #attentions + 1 do
        self["norm" .. i] = nn.LayerNorm(size, { eps = eps, dtype = dtype, device = device })
    end
    for i = 1, #attentions + 1 do self["dropout" .. i] = nn.Dropout(dropout) end
    self.activation, self.norm_first = gpush[activation], norm_first
end

-- The feed-forward net, before its dropout.
local function feed(self, x)
    return self.linear2(self.dropout(self.activation(self.linear1(x))))
end

local Layer = nn.module { "TransformerEncoderLayer", sig = of_layer,
    help = "attention to itself and a feed-forward net, added and normed" }
function Layer:init(...) build(self, { "self_attn" }, ...) end

local function attend(self, x, masks)
    return self.dropout1((self.self_attn(x, x, x, masks)))
end

local arguments = composite { name = "forward", help = "its arguments, read by name or place",
    sig = "tensor src, tensor? src_mask, tensor? src_key_padding_mask",
    fn = function(...) return ... end }

--- layer(src, src_mask, src_key_padding_mask): the masks are MultiheadAttention's attn_mask and
--- key_padding_mask.
function Layer:forward(...)
    local x, mask, keys = arguments(...)
    local masks = { need_weights = false, attn_mask = mask, key_padding_mask = keys }
    if self.norm_first then
        x = x + attend(self, self.norm1(x), masks)
        return x + self.dropout2(feed(self, self.norm2(x)))
    end
    x = self.norm1(x + attend(self, x, masks))
    return self.norm2(x + self.dropout2(feed(self, x)))
end
nn.TransformerEncoderLayer = Layer

-- num_layers layers: make() gives each, or make is a layer, of which they are copies as in PyTorch.
local function stack(self, make, num_layers, norm)
    local name = nn.class_of(self)
    if num_layers < 1 or num_layers > 65536 then
        nn.raise("nn.%s: argument 'num_layers': expected 1 to 65536, got %d", name, num_layers)
    end
    if type(make) ~= "function" and not nn.is_module(make) then
        nn.raise("nn.%s: argument 'make' (#1): expected a function that gives a layer, or a \z
            layer, got %s", name, type(make))
    end
    if norm ~= nil and not nn.is_module(norm) then
        nn.raise("nn.%s: argument 'norm' (#3): expected a module, got %s", name, type(norm))
    end
    self.layers, self.norm = nn.ModuleList(), norm
    for _ = 1, num_layers do
        local layer
        if nn.is_module(make) then layer = make:deepcopy() else layer = make() end
        if not nn.is_module(layer) then
            nn.raise("nn.%s: argument 'make' (#1): gave a %s (expected a layer)", name, type(layer))
        end
        self.layers:append(layer)
    end
end

local Encoder = nn.module { "TransformerEncoder", sig = "any make, int num_layers, any? norm",
    help = "a chain of num_layers layers, each made by make() or a copy of a layer, and a module \z
        after the last" }
function Encoder:init(...) stack(self, ...) end

local encoder_arguments = composite { name = "forward",
    help = "its arguments, read by name or place",
    sig = "tensor src, tensor? mask, tensor? src_key_padding_mask",
    fn = function(...) return ... end }

--- encoder(src, mask, src_key_padding_mask): both are passed to every layer.
function Encoder:forward(...)
    local x, mask, keys = encoder_arguments(...)
    for _, layer in ipairs(self.layers) do x = layer(x, mask, keys) end
    return self.norm and self.norm(x) or x
end
nn.TransformerEncoder = Encoder

-- ---- the decoder ----

local Decoder = nn.module { "TransformerDecoderLayer", sig = of_layer,
    help = "attention to itself, attention to a memory and a feed-forward net, added and normed" }
function Decoder:init(...) build(self, { "self_attn", "multihead_attn" }, ...) end

local decoder_sig = "tensor tgt, tensor memory, tensor? tgt_mask, tensor? memory_mask, tensor? \z
    tgt_key_padding_mask, tensor? memory_key_padding_mask"
local decoder_arguments = composite { name = "forward",
    help = "its arguments, read by name or place", sig = decoder_sig,
    fn = function(...) return ... end }

--- layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask): masks
--- as MultiheadAttention's.
function Decoder:forward(...)
    local x, memory, mask, memory_mask, keys, memory_keys = decoder_arguments(...)
    local function own(y)
        return self.dropout1((self.self_attn(y, y, y,
            { need_weights = false, attn_mask = mask, key_padding_mask = keys })))
    end
    local function other(y)
        return self.dropout2((self.multihead_attn(y, memory, memory,
            { need_weights = false, attn_mask = memory_mask, key_padding_mask = memory_keys })))
    end
    if self.norm_first then
        x = x + own(self.norm1(x))
        x = x + other(self.norm2(x))
        return x + self.dropout3(feed(self, self.norm3(x)))
    end
    x = self.norm1(x + own(x))
    x = self.norm2(x + other(x))
    return self.norm3(x + self.dropout3(feed(self, x)))
end
nn.TransformerDecoderLayer = Decoder

local Stack = nn.module { "TransformerDecoder", sig = "any make, int num_layers, any? norm",
    help = "a chain of num_layers decoder layers, each made by make() or a copy of a layer, and \z
        a module after the last" }
function Stack:init(...) stack(self, ...) end

--- decoder(tgt, memory, …): the arguments are passed to every layer.
function Stack:forward(...)
    local x, memory, mask, memory_mask, keys, memory_keys = decoder_arguments(...)
    for _, layer in ipairs(self.layers) do
        x = layer(x, memory, mask, memory_mask, keys, memory_keys)
    end
    return self.norm and self.norm(x) or x
end
nn.TransformerDecoder = Stack

-- ---- both ----

local Transformer = nn.module { "Transformer",
    sig = "int d_model=512, int nhead=8, int num_encoder_layers=6, int num_decoder_layers=6, int \z
        dim_feedforward=2048, float dropout=0.1, str activation=\"relu\", float \z
        layer_norm_eps=1e-5, bool batch_first=false, bool norm_first=false, dtype? dtype, device? \z
        device",
    help = "an encoder, and a decoder that attends to its output" }

function Transformer:init(size, heads, encoders, decoders, inner, dropout, activation, eps,
    batch_first, norm_first, dtype, device)
    local function parts(layer, stacked, n)
        return nn[stacked](function()
            return nn[layer](size, heads, inner, dropout, activation, eps, batch_first, norm_first,
                dtype, device)
        end, n, nn.LayerNorm(size, { eps = eps, dtype = dtype, device = device }))
    end
    self.d_model, self.nhead = size, heads
    self.encoder = parts("TransformerEncoderLayer", "TransformerEncoder", encoders)
    self.decoder = parts("TransformerDecoderLayer", "TransformerDecoder", decoders)
    for _, p in ipairs(self:parameters()) do
        if p:dim() > 1 then nn.init.xavier_uniform_(p) end
    end
end

local transformer_arguments = composite { name = "forward",
    help = "its arguments, read by name or place",
    sig = "tensor src, tensor tgt, tensor? src_mask, tensor? tgt_mask, tensor? memory_mask, \z
        tensor? src_key_padding_mask, tensor? tgt_key_padding_mask, tensor? \z
        memory_key_padding_mask",
    fn = function(...) return ... end }

--- model(src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask,
--- memory_key_padding_mask)
function Transformer:forward(...)
    local src, tgt, src_mask, mask, memory_mask, src_keys, keys, memory_keys =
        transformer_arguments(...)
    local memory = self.encoder(src, src_mask, src_keys)
    return self.decoder(tgt, memory, mask, memory_mask, keys, memory_keys)
end

--- A mask for n places, of which each sees itself and those before: -inf above the diagonal.
function Transformer.generate_square_subsequent_mask(n, dtype, device)
    return gpush.full({ n, n }, -math.huge, { dtype = dtype, device = device }):triu(1)
end
declared(Transformer, "nn.Transformer.",
    { generate_square_subsequent_mask = "int n, dtype? dtype, device? device" })
nn.Transformer = Transformer
