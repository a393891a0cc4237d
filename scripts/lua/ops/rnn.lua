--!plain
-- Composites: cells of recurrent layers. See define in init.lua.
local require = ...
local gpush, define, fail = require "gpush", require "ops".define, require "fail"
-- ---- cells: a layer of one time step ----

-- x and h with or without a batch; states are returned in the same form.
local function cell(layer, name, x, hx, w_ih, w_hh, b_ih, b_hh, nonlinearity)
    if (b_ih == nil) ~= (b_hh == nil) then fail(name .. ": b_ih and b_hh go together") end
    if hx and layer == gpush.lstm and #hx ~= 2 then
        fail("%s: argument 'hx' has %d tensors (expected h and c)", name, #hx)
    end
    local states = hx
        and (layer == gpush.lstm and { hx[1]:unsqueeze(1), hx[2]:unsqueeze(1) } or hx:unsqueeze(1))
    local _, h,
        c = layer(x:unsqueeze(1), states, { w_ih, w_hh, b_ih, b_hh },
            { has_biases = b_ih ~= nil, nonlinearity = nonlinearity })
    return h:select(1, 1), c and c:select(1, 1)
end
local weights = "tensor w_ih, tensor w_hh, tensor? b_ih, tensor? b_hh"

define { "lstm_cell", sig = "tensor x, tensors? hx, " .. weights,
    help = "one step of an LSTM for inputs batch x features: h and c; hx: {h, c}, zeros if not \z
        given",
    dtypes = "floats",
    fn = function(x, hx, ...) return cell(gpush.lstm, "lstm_cell", x, hx, ...) end }
define { "gru_cell", sig = "tensor x, tensor? hx, " .. weights,
    help = "one step of a GRU for inputs batch x features: h; hx: h before, zeros if not given",
    dtypes = "floats",
    fn = function(x, hx, ...) return (cell(gpush.gru, "gru_cell", x, hx, ...)) end }
define { "rnn_cell", sig = "tensor x, tensor? hx, " .. weights .. ", str nonlinearity=\"tanh\"",
    help = "one step of a recurrent layer of 'tanh' or 'relu' units for inputs batch x features: \z
        h; hx: h before, zeros if not given",
    dtypes = "floats",
    fn = function(x, hx, ...) return (cell(gpush.rnn, "rnn_cell", x, hx, ...)) end }
