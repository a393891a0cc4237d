// A stand-in for cuDNN's recurrent layers forward, from its documentation: plain loops in double, in stream order. Each
// gate's matrix and bias is where cudnnGetRNNWeightParams says, with gaps that nobody may assume away.
#include <cmath>
#include <cstring>
#include <vector>

#include "dnn.h"
#include "fake_cuda.h"

struct fake_dropout {
    float p = -1;
};
struct fake_rnn {
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnDataType_t type;
    int input, hidden, layers, dirs;
    int gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
    size_t size() const { return type == CUDNN_DATA_DOUBLE ? 8 : 4; }
    int width(int side) const { return side < dirs ? input : dirs * hidden; }
};
struct fake_rnn_data {
    cudnnDataType_t type;
    int steps, batch, width;
};

static const size_t GAP = 48, WORK = 256;

// Where a gate's matrix (or bias) begins, in bytes: of a side the input's matrices, each with a gap behind it, h's,
// then the biases side by side.
static size_t place(const fake_rnn &r, int side, int linear, bool bias) {
    size_t at = 0, g = (size_t)r.gates(), h = (size_t)r.hidden, e = r.size(), l = (size_t)linear, hh = h * h * e + GAP;
    auto ih = [&](int s) { return h * (size_t)r.width(s) * e + GAP; };
    for (int s = 0; s < side; s++) at += g * (ih(s) + hh) + 2 * g * h * e;
    if (bias) return at + g * (ih(side) + hh) + l * h * e;
    return l < g ? at + l * ih(side) : at + g * ih(side) + (l - g) * hh;
}

static double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

struct forward {
    fake_rnn r;
    int steps, batch;
    const void *x, *hx, *cx;
    const char *w;
    void *y, *hy, *cy;

    // Gate `linear` of unit j: a row of its matrix times v, and its bias.
    double sum(int side, int linear, int j, const double *v, int n) const {
        const char *m = w + place(r, side, linear, false), *b = w + place(r, side, linear, true);
        double s = r.bias == CUDNN_RNN_DOUBLE_BIAS ? load(b, j, r.type) : 0;
        for (int i = 0; i < n; i++) s += load(m, (int64_t)j * n + i, r.type) * v[i];
        return s;
    }
    void cell(int side, const double *in, const std::vector<double> &h, std::vector<double> &next, double *c) const {
        int n = r.width(side), H = r.hidden, G = r.gates();
        for (int j = 0; j < H; j++) {
            auto a = [&](int g) { return sum(side, g, j, in, n); };
            auto b = [&](int g) { return sum(side, G + g, j, h.data(), H); };
            if (r.cell == CUDNN_LSTM) { // i f c' o
                double i = sigmoid(a(0) + b(0)), f = sigmoid(a(1) + b(1)), g = std::tanh(a(2) + b(2)), o = sigmoid(a(3) + b(3));
                c[j] = f * c[j] + i * g;
                next[(size_t)j] = o * std::tanh(c[j]);
            } else if (r.cell == CUDNN_GRU) { // r i h'
                double q = sigmoid(a(0) + b(0)), i = sigmoid(a(1) + b(1)), g = std::tanh(a(2) + q * b(2));
                next[(size_t)j] = (1 - i) * g + i * h[(size_t)j];
            } else {
                double v = a(0) + b(0);
                next[(size_t)j] = r.cell == CUDNN_RNN_TANH ? std::tanh(v) : v > 0 ? v : 0;
            }
        }
    }
    void operator()() const {
        int H = r.hidden, D = r.dirs;
        std::vector<double> in((size_t)steps * (size_t)batch * (size_t)r.input), out;
        for (size_t i = 0; i < in.size(); i++) in[i] = load(x, (int64_t)i, r.type);
        for (int layer = 0; layer < r.layers; layer++) {
            int n = r.width(layer * D);
            out.assign((size_t)steps * (size_t)batch * (size_t)(D * H), 0);
            for (int side = layer * D; side < (layer + 1) * D; side++)
                for (int b = 0; b < batch; b++) {
                    int64_t state = ((int64_t)side * batch + b) * H;
                    std::vector<double> h((size_t)H), next((size_t)H), c((size_t)H);
                    for (int j = 0; j < H; j++) {
                        h[(size_t)j] = hx ? load(hx, state + j, r.type) : 0;
                        c[(size_t)j] = cx ? load(cx, state + j, r.type) : 0;
                    }
                    for (int s = 0; s < steps; s++) {
                        int t = side % D ? steps - 1 - s : s;
                        cell(side, in.data() + ((size_t)t * (size_t)batch + (size_t)b) * (size_t)n, h, next, c.data());
                        h = next;
                        for (int j = 0; j < H; j++)
                            out[((size_t)t * (size_t)batch + (size_t)b) * (size_t)(D * H) + (size_t)(side % D * H + j)] = h[(size_t)j];
                    }
                    for (int j = 0; j < H; j++) {
                        if (hy) store(hy, state + j, r.type, h[(size_t)j]);
                        if (cy) store(cy, state + j, r.type, c[(size_t)j]);
                    }
                }
            in = out;
        }
        for (size_t i = 0; i < out.size(); i++) store(y, (int64_t)i, r.type, out[i]);
    }
};

extern "C" {
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *d) { return *d = new fake_dropout, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t, float p, void *states, size_t, unsigned long long) {
    if (p > 0 && !states) return CUDNN_STATUS_BAD_PARAM;
    return d->p = p, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) { return delete d, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *d) { return *d = new fake_rnn, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) { return delete d, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t, cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
                                       cudnnDirectionMode_t dir, cudnnRNNInputMode_t, cudnnDataType_t type,
                                       cudnnDataType_t math_type, cudnnMathType_t, int32_t inputs, int32_t hidden,
                                       int32_t projected, int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
    bool ok = (type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE) && math_type == type && projected == hidden &&
              dropout && dropout->p == 0 && flags == CUDNN_RNN_PADDED_IO_ENABLED && layers > 0 && inputs > 0 && hidden > 0;
    if (!ok) return CUDNN_STATUS_NOT_SUPPORTED;
    *d = {cell, bias, type, inputs, hidden, layers, dir == CUDNN_BIDIRECTIONAL ? 2 : 1};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *d) { return *d = new fake_rnn_data, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return delete d, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, cudnnRNNDataLayout_t, int steps,
                                        int batch, int width, const int lengths[], void *) {
    for (int i = 0; i < batch; i++)
        if (lengths[i] != steps) return CUDNN_STATUS_NOT_SUPPORTED;
    return *d = {type, steps, batch, width}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t d, size_t *bytes) {
    return *bytes = place(*d, d->layers * d->dirs, 0, false), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t d, int32_t layer, size_t bytes, const void *space,
                                      int32_t linear, cudnnTensorDescriptor_t md, void **matrix,
                                      cudnnTensorDescriptor_t bd, void **bias) {
    if (!md || !bd || layer >= d->layers * d->dirs || linear >= 2 * d->gates() || bytes != place(*d, d->layers * d->dirs, 0, false))
        return CUDNN_STATUS_BAD_PARAM;
    *matrix = (char *)space + place(*d, layer, linear, false);
    *bias = d->bias == CUDNN_RNN_NO_BIAS ? nullptr : (char *)space + place(*d, layer, linear, true);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t,
                                        size_t *work, size_t *) {
    if (mode != CUDNN_FWD_MODE_INFERENCE) return CUDNN_STATUS_NOT_SUPPORTED;
    return *work = WORK, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNForward(cudnnHandle_t h, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode, const int32_t *,
                              cudnnRNNDataDescriptor_t xd, const void *x, cudnnRNNDataDescriptor_t yd, void *y,
                              cudnnTensorDescriptor_t hd, const void *hx, void *hy, cudnnTensorDescriptor_t, const void *cx,
                              void *cy, size_t weight_bytes, const void *weights, size_t work_bytes, void *work, size_t, void *) {
    bool ok = mode == CUDNN_FWD_MODE_INFERENCE && xd->steps == yd->steps && xd->batch == yd->batch && xd->width == d->input &&
              yd->width == d->dirs * d->hidden && hd->dim[0] == d->layers * d->dirs && hd->dim[1] == xd->batch &&
              hd->dim[2] == d->hidden && weight_bytes == place(*d, d->layers * d->dirs, 0, false) && work_bytes >= WORK && work;
    if (!ok) return CUDNN_STATUS_BAD_PARAM;
    forward f = {*d, xd->steps, xd->batch, x, hx, d->cell == CUDNN_LSTM ? cx : nullptr, (const char *)weights, y, hy,
                 d->cell == CUDNN_LSTM ? cy : nullptr};
    return fake::enqueue(h->stream, "fake_rnn", f) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
}
