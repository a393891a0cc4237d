// A stand-in for cuDNN's recurrent layers, from its documentation: plain loops in double, in stream
// order. Each gate's matrix and bias is where cudnnGetRNNWeightParams says, with gaps that must not
// be assumed away. Training fills the reserve space, which the gradients of the data overwrite:
// those of the weights need it so, and can be computed only once.
#include <cmath>
#include <cstring>
#include <vector>

#include "dnn.h"
#include "fake_cuda.h"
#include "hooks.h"

struct fake_dropout {
    float p = -1;
};
struct fake_rnn {
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnDataType_t type;
    int input, hidden, layers, dirs;
    int gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
    bool narrow() const { return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16; }
    size_t size() const { return type == CUDNN_DATA_DOUBLE ? 8 : narrow() ? 2 : 4; }
    int width(int side) const { return side < dirs ? input : dirs * hidden; }
};
struct fake_rnn_data {
    cudnnDataType_t type;
    int steps, batch, width;
};

static const size_t GAP = 48, WORK = 256;

// The start of a gate's matrix (or bias), in bytes: for each side the input's matrices, each
// followed by a gap, h's, then the adjacent biases.
static size_t place(const fake_rnn &r, int side, int linear, bool bias) {
    size_t at = 0, g = (size_t)r.gates(), h = (size_t)r.hidden, e = r.size(), l = (size_t)linear,
           hh = h * h * e + GAP;
    auto ih = [&](int s) { return h * (size_t)r.width(s) * e + GAP; };
    for (int s = 0; s < side; s++) at += g * (ih(s) + hh) + 2 * g * h * e;
    if (bias) return at + g * (ih(side) + hh) + l * h * e;
    return l < g ? at + l * ih(side) : at + g * ih(side) + (l - g) * hh;
}

static double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

// What the reserve space holds for a unit at a time: its gates (for a GRU also r's factor), later
// their gradients before the nonlinearity; c; h.
struct cell_values {
    double gate[4], c, h;
};
struct trained {
    fake_rnn r;
    int steps, batch;
    cell_values *reserve; // of each side, time and row; NULL: not trained
    cell_values &at(int side, int t, int b, int j) const {
        return reserve[(((size_t)side * (size_t)steps + (size_t)t) * (size_t)batch + (size_t)b) *
                           (size_t)r.hidden +
                       (size_t)j];
    }
};
static size_t reserve_bytes_of(const fake_rnn &r, int steps, int batch) {
    return (size_t)(r.layers * r.dirs * steps * batch * r.hidden) * sizeof(cell_values) + 8;
}

struct forward : trained {
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
    void cell(int side, const double *in, const std::vector<double> &h, std::vector<double> &next,
              double *c, std::vector<cell_values> &kept) const {
        int n = r.width(side), H = r.hidden, G = r.gates();
        for (int j = 0; j < H; j++) {
            auto a = [&](int g) { return sum(side, g, j, in, n); };
            auto b = [&](int g) { return sum(side, G + g, j, h.data(), H); };
            if (r.cell == CUDNN_LSTM) { // i f c' o
                double i = sigmoid(a(0) + b(0)), f = sigmoid(a(1) + b(1)),
                       g = std::tanh(a(2) + b(2)), o = sigmoid(a(3) + b(3));
                c[j] = f * c[j] + i * g;
                next[(size_t)j] = o * std::tanh(c[j]);
                kept[(size_t)j] = {{i, f, g, o}, c[j], 0};
            } else if (r.cell == CUDNN_GRU) { // r i h'
                double q = sigmoid(a(0) + b(0)), i = sigmoid(a(1) + b(1)),
                       g = std::tanh(a(2) + q * b(2));
                next[(size_t)j] = (1 - i) * g + i * h[(size_t)j];
                kept[(size_t)j] = {{q, i, g, b(2)}, 0, 0};
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
                    std::vector<cell_values> kept((size_t)H);
                    for (int j = 0; j < H; j++) {
                        h[(size_t)j] = hx ? load(hx, state + j, r.type) : 0;
                        c[(size_t)j] = cx ? load(cx, state + j, r.type) : 0;
                    }
                    for (int s = 0; s < steps; s++) {
                        int t = side % D ? steps - 1 - s : s;
                        cell(side, in.data() + ((size_t)t * (size_t)batch + (size_t)b) * (size_t)n,
                             h, next, c.data(), kept);
                        h = next;
                        for (int j = 0; j < H && reserve; j++)
                            at(side, t, b, j) = kept[(size_t)j], at(side, t, b, j).h = h[(size_t)j];
                        for (int j = 0; j < H; j++)
                            out[((size_t)t * (size_t)batch + (size_t)b) * (size_t)(D * H) +
                                (size_t)(side % D * H + j)] = h[(size_t)j];
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

// Back through the layers and time: gradients of x, and of the states before. Gates' gradients
// replace the gates.
struct backward_data : trained {
    const char *w;
    const void *dy, *hx, *dhy, *cx, *dcy;
    void *dx, *dhx, *dcx;

    double weight(int side, int linear, int j, int i, int n) const {
        return load(w + place(r, side, linear, false), (int64_t)j * n + i, r.type);
    }
    double before(const void *states, int64_t at) const {
        return states ? load(states, at, r.type) : 0;
    }
    // Gradients of unit j's sums, given that of its h; c's is changed to that of the step before.
    // Returns the part that goes to h directly.
    double cell(cell_values &v, double d, double h_before, double c_before, double *dc) const {
        double *g = v.gate, a = g[0], b = g[1], u = g[2], o = g[3];
        if (r.cell == CUDNN_LSTM) {
            double tc = std::tanh(v.c), e = *dc + d * o * (1 - tc * tc);
            g[0] = e * u * a * (1 - a), g[1] = e * c_before * b * (1 - b),
            g[2] = e * a * (1 - u * u), g[3] = d * tc * o * (1 - o);
            return *dc = e * b, 0;
        }
        if (r.cell == CUDNN_GRU) { // o: r's factor, replaced by its gradient
            double du = d * (1 - b) * (1 - u * u);
            g[0] = du * o * a * (1 - a), g[1] = d * (h_before - u) * b * (1 - b), g[2] = du,
            g[3] = du * a;
            return d * b;
        }
        g[0] = r.cell == CUDNN_RNN_TANH ? d * (1 - v.h * v.h) : v.h > 0 ? d : 0;
        return 0;
    }
    // Gradient of gate g's sum that includes h.
    double of_h(const cell_values &v, int g) const {
        return r.cell == CUDNN_GRU && g == 2 ? v.gate[3] : v.gate[g];
    }

    void row(int side, int b, const std::vector<double> &dout, std::vector<double> &din) const {
        int H = r.hidden, D = r.dirs, n = r.width(side), G = r.gates();
        int64_t state = ((int64_t)side * batch + b) * H;
        std::vector<double> dh((size_t)H), dc((size_t)H), next;
        for (int j = 0; j < H; j++)
            dh[(size_t)j] = before(dhy, state + j), dc[(size_t)j] = before(dcy, state + j);
        for (int s = steps - 1; s >= 0; s--) {
            int t = side % D ? steps - 1 - s : s, back = side % D ? t + 1 : t - 1;
            size_t at_out =
                ((size_t)t * (size_t)batch + (size_t)b) * (size_t)(D * H) + (size_t)(side % D * H);
            double *in = din.data() + ((size_t)t * (size_t)batch + (size_t)b) * (size_t)n;
            next.assign((size_t)H, 0);
            for (int j = 0; j < H; j++) {
                double h0 = s ? at(side, back, b, j).h : before(hx, state + j),
                       c0 = s ? at(side, back, b, j).c : before(cx, state + j);
                next[(size_t)j] += cell(at(side, t, b, j), dout[at_out + (size_t)j] + dh[(size_t)j],
                                        h0, c0, &dc[(size_t)j]);
            }
            for (int j = 0; j < H; j++)
                for (int g = 0; g < G; g++) {
                    const cell_values &v = at(side, t, b, j);
                    for (int i = 0; i < n; i++) in[i] += v.gate[g] * weight(side, g, j, i, n);
                    for (int i = 0; i < H; i++)
                        next[(size_t)i] += of_h(v, g) * weight(side, G + g, j, i, H);
                }
            dh = next;
        }
        for (int j = 0; j < H; j++) {
            if (dhx) store(dhx, state + j, r.type, dh[(size_t)j]);
            if (dcx) store(dcx, state + j, r.type, dc[(size_t)j]);
        }
    }
    void operator()() const {
        size_t rows = (size_t)steps * (size_t)batch;
        std::vector<double> dout(rows * (size_t)(r.dirs * r.hidden)), din;
        for (size_t i = 0; i < dout.size(); i++) dout[i] = load(dy, (int64_t)i, r.type);
        for (int layer = r.layers - 1; layer >= 0; layer--) {
            din.assign(rows * (size_t)r.width(layer * r.dirs), 0);
            for (int side = layer * r.dirs; side < (layer + 1) * r.dirs; side++)
                for (int b = 0; b < batch; b++) row(side, b, dout, din);
            dout = din;
        }
        for (size_t i = 0; i < dout.size(); i++) store(dx, (int64_t)i, r.type, dout[i]);
    }
};

// Adds to dw, gate by gate.
struct backward_weights : backward_data {
    const void *x;
    char *dw;
    void add(int side, int linear, bool bias, int64_t i, double v) const {
        char *p = dw + place(r, side, linear, bias);
        store(p, i, r.type, load(p, i, r.type) + v);
    }
    double input(int side, int t, int b, int i) const {
        if (side < r.dirs) return load(x, ((int64_t)t * batch + b) * r.input + i, r.type);
        return at((side / r.dirs - 1) * r.dirs + i / r.hidden, t, b, i % r.hidden).h;
    }
    void gate(int side, int g, int j) const {
        int H = r.hidden, n = r.width(side), G = r.gates();
        std::vector<double> ih((size_t)n), hh((size_t)H);
        double bi = 0, bh = 0;
        for (int s = 0; s < steps; s++)
            for (int b = 0; b < batch; b++) {
                int t = side % r.dirs ? steps - 1 - s : s, back = side % r.dirs ? t + 1 : t - 1;
                const cell_values &v = at(side, t, b, j);
                bi += v.gate[g], bh += of_h(v, g);
                for (int i = 0; i < n; i++) ih[(size_t)i] += v.gate[g] * input(side, t, b, i);
                for (int i = 0; i < H; i++)
                    hh[(size_t)i] +=
                        of_h(v, g) * (s ? at(side, back, b, i).h
                                        : before(hx, ((int64_t)side * batch + b) * H + i));
            }
        for (int i = 0; i < n; i++) add(side, g, false, (int64_t)j * n + i, ih[(size_t)i]);
        for (int i = 0; i < H; i++) add(side, G + g, false, (int64_t)j * H + i, hh[(size_t)i]);
        if (r.bias == CUDNN_RNN_NO_BIAS) return;
        add(side, g, true, j, bi), add(side, G + g, true, j, bh);
    }
    void operator()() const {
        for (int side = 0; side < r.layers * r.dirs; side++)
            for (int g = 0; g < r.gates(); g++)
                for (int j = 0; j < r.hidden; j++) gate(side, g, j);
    }
};

extern "C" {
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *d) {
    return *d = new fake_dropout, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t, float p,
                                        void *states, size_t, unsigned long long) {
    if (p > 0 && !states) return CUDNN_STATUS_BAD_PARAM;
    return d->p = p, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *d) {
    return *d = new fake_rnn, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t dir,
                                       cudnnRNNInputMode_t, cudnnDataType_t type,
                                       cudnnDataType_t math_type, cudnnMathType_t math,
                                       int32_t inputs, int32_t hidden, int32_t projected,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout,
                                       uint32_t flags) {
    bool wide = type == CUDNN_DATA_DOUBLE, narrow = !wide && type != CUDNN_DATA_FLOAT;
    bool ok = (math == CUDNN_TENSOR_OP_MATH) == narrow && (!wide || math != CUDNN_FMA_MATH) &&
              math_type == (wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT) && projected == hidden &&
              dropout && dropout->p == 0 && flags == CUDNN_RNN_PADDED_IO_ENABLED && layers > 0 &&
              inputs > 0 && hidden > 0;
    if (!ok || fakeFaulty("choice")) return CUDNN_STATUS_NOT_SUPPORTED;
    fakeCounted("recurrent plan");
    *d = {cell, bias, type, inputs, hidden, layers, dir == CUDNN_BIDIRECTIONAL ? 2 : 1};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *d) {
    return *d = new fake_rnn_data, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t, int steps, int batch, int width,
                                        const int lengths[], void *) {
    for (int i = 0; i < batch; i++)
        if (lengths[i] != steps) return CUDNN_STATUS_NOT_SUPPORTED;
    return *d = {type, steps, batch, width}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t d, size_t *bytes) {
    return *bytes = place(*d, d->layers * d->dirs, 0, false), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t d, int32_t layer,
                                      size_t bytes, const void *space, int32_t linear,
                                      cudnnTensorDescriptor_t md, void **matrix,
                                      cudnnTensorDescriptor_t bd, void **bias) {
    if (!md || !bd || layer >= d->layers * d->dirs || linear >= 2 * d->gates() ||
        bytes != place(*d, d->layers * d->dirs, 0, false))
        return CUDNN_STATUS_BAD_PARAM;
    *matrix = (char *)space + place(*d, layer, linear, false);
    *bias = d->bias == CUDNN_RNN_NO_BIAS ? nullptr : (char *)space + place(*d, layer, linear, true);
    return CUDNN_STATUS_SUCCESS;
}
// More workspace for training, so that one is not taken for the other.
static size_t work_of(cudnnForwardMode_t mode) {
    return mode == CUDNN_FWD_MODE_TRAINING ? 2 * WORK : WORK;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t d,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t xd,
                                        size_t *work, size_t *reserve) {
    if (mode == CUDNN_FWD_MODE_TRAINING && !reserve) return CUDNN_STATUS_BAD_PARAM;
    if (reserve)
        *reserve = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes_of(*d, xd->steps, xd->batch) : 0;
    return *work = work_of(mode), CUDNN_STATUS_SUCCESS;
}

static bool fits(cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t xd, cudnnRNNDataDescriptor_t yd,
                 cudnnTensorDescriptor_t hd, size_t weight_bytes, size_t work_bytes, void *work,
                 cudnnForwardMode_t mode) {
    return xd->steps == yd->steps && xd->batch == yd->batch && xd->width == d->input &&
           yd->width == d->dirs * d->hidden && hd->dim[0] == d->layers * d->dirs &&
           hd->dim[1] == xd->batch && hd->dim[2] == d->hidden &&
           weight_bytes == place(*d, d->layers * d->dirs, 0, false) &&
           work_bytes >= work_of(mode) && work;
}
static bool reserved(cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t xd, size_t bytes,
                     void *reserve) {
    return reserve && (uintptr_t)reserve % 64 == 0 &&
           bytes >= reserve_bytes_of(*d, xd->steps, xd->batch);
}
static cudnnStatus_t queued(cudaError_t err) {
    return err == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t h, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
                              const int32_t *, cudnnRNNDataDescriptor_t xd, const void *x,
                              cudnnRNNDataDescriptor_t yd, void *y, cudnnTensorDescriptor_t hd,
                              const void *hx, void *hy, cudnnTensorDescriptor_t, const void *cx,
                              void *cy, size_t weight_bytes, const void *weights, size_t work_bytes,
                              void *work, size_t reserve_bytes, void *reserve) {
    bool train = mode == CUDNN_FWD_MODE_TRAINING, lstm = d->cell == CUDNN_LSTM;
    if (!fits(d, xd, yd, hd, weight_bytes, work_bytes, work, mode) ||
        (train && !reserved(d, xd, reserve_bytes, reserve)))
        return CUDNN_STATUS_BAD_PARAM;
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    trained t = {*d, xd->steps, xd->batch, train ? (cell_values *)reserve : nullptr};
    forward f = {t, x, hx, lstm ? cx : nullptr, (const char *)weights, y, hy, lstm ? cy : nullptr};
    return queued(fake::enqueue(h->stream, d->narrow() ? "fake_rnn_16" : "fake_rnn", f));
}
cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t h, cudnnRNNDescriptor_t d, const int32_t *,
                                      cudnnRNNDataDescriptor_t yd, const void *y, const void *dy,
                                      cudnnRNNDataDescriptor_t xd, void *dx,
                                      cudnnTensorDescriptor_t hd, const void *hx, const void *dhy,
                                      void *dhx, cudnnTensorDescriptor_t, const void *cx,
                                      const void *dcy, void *dcx, size_t weight_bytes,
                                      const void *weights, size_t work_bytes, void *work,
                                      size_t reserve_bytes, void *reserve) {
    if (!fits(d, xd, yd, hd, weight_bytes, work_bytes, work, CUDNN_FWD_MODE_TRAINING) ||
        !reserved(d, xd, reserve_bytes, reserve) || !y || !dy || !dx)
        return CUDNN_STATUS_BAD_PARAM;
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    bool lstm = d->cell == CUDNN_LSTM;
    trained t = {*d, xd->steps, xd->batch, (cell_values *)reserve};
    backward_data f = {
        t,   (const char *)weights, dy, hx, dhy, lstm ? cx : nullptr, lstm ? dcy : nullptr, dx,
        dhx, lstm ? dcx : nullptr};
    return queued(fake::enqueue(h->stream, d->narrow() ? "fake_rnn_back_16" : "fake_rnn_back", f));
}
cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t h, cudnnRNNDescriptor_t d,
                                         cudnnWgradMode_t mode, const int32_t *,
                                         cudnnRNNDataDescriptor_t xd, const void *x,
                                         cudnnTensorDescriptor_t hd, const void *hx,
                                         cudnnRNNDataDescriptor_t yd, const void *y,
                                         size_t weight_bytes, void *dweights, size_t work_bytes,
                                         void *work, size_t reserve_bytes, void *reserve) {
    if (!fits(d, xd, yd, hd, weight_bytes, work_bytes, work, CUDNN_FWD_MODE_TRAINING) ||
        !reserved(d, xd, reserve_bytes, reserve) || !x || !y || mode != CUDNN_WGRAD_MODE_ADD)
        return CUDNN_STATUS_BAD_PARAM;
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    trained t = {*d, xd->steps, xd->batch, (cell_values *)reserve};
    backward_weights f = {
        {t, nullptr, nullptr, hx, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},
        x,
        (char *)dweights};
    return queued(
        fake::enqueue(h->stream, d->narrow() ? "fake_rnn_weights_16" : "fake_rnn_weights", f));
}
}
