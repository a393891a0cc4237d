--!plain
-- TransformerEncoderLayer and TransformerEncoder: attention to itself, then two linear layers, each
-- added to its input and normed. Vaswani et al. 2017.
local gpush, nn, _, composite = ...

local Layer = nn.module { "TransformerEncoderLayer",
    help = "attention to itself and a feed-forward net, added and normed",
    sig = "int d_model, int nhead, int dim_feedforward=2048, float dropout=0.1, str \z
        activation=\"relu\", "
        ..
            "float layer_norm_eps=1e-5, bool batch_first=false, bool norm_first=false, dtype? \z
                dtype, device? device" }

function Layer:init(size, heads, inner, dropout, activation, eps, batch_first, norm_first, dtype,
    device)
    if activation ~= "relu" and activation ~= "gelu" then
        nn.raise("nn.TransformerEncoderLayer: activation: expected 'relu' or 'gelu', got '%s'",
            activation)
    end
    self.self_attn = nn.MultiheadAttention(
        size, heads,
            { dropout = dropout, batch_first = batch_first, dtype = dtype, device = device })
    self.linear1 = nn.Linear(size, inner, true, dtype, device)
    self.dropout = nn.Dropout(dropout)
    self.linear2 = nn.Linear(inner, size, true, dtype, device)
    self.norm1 = nn.LayerNorm(size, { eps = eps, dtype = dtype, device = device })
    self.norm2 = nn.LayerNorm(size, { eps = eps, dtype = dtype, device = device })
    self.dropout1 = nn.Dropout(dropout)
    self.dropout2 = nn.Dropout(dropout)
    self.activation, self.norm_first = gpush[activation], norm_first
end

local function attend(self, x, masks)
    return self.dropout1((self.self_attn(x, x, x, masks)))
end
local function feed(self, x)
    return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
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
        return x + feed(self, self.norm2(x))
    end
    x = self.norm1(x + attend(self, x, masks))
    return self.norm2(x + feed(self, x))
end
nn.TransformerEncoderLayer = Layer

-- make() returns a layer; norm: a module after the last, or nothing.
local Encoder = nn.module { "TransformerEncoder", sig = "function make, int num_layers, any? norm",
    help = "num_layers layers one after the other, each made by make(), and a module after the \z
        last" }

function Encoder:init(make, num_layers, norm)
    if num_layers < 1 or num_layers > 65536 then
        nn.raise("nn.TransformerEncoder: argument 'num_layers': expected 1 to 65536, got %d",
            num_layers)
    end
    if type(make) ~= "function" then
        nn.raise("nn.TransformerEncoder: argument 'make' (#1): expected a function that gives a \z
            layer, got %s", type(make))
    end
    self.layers = nn.ModuleList()
    self.norm = norm
    for _ = 1, num_layers do self.layers:append(make()) end
end

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
