// A stand-in for cuDNN's graph interface, from its documentation: descriptors are bags of
// attributes. A graph whose formulas, dtypes included, are those of attention or its gradients as
// the real library's engines know them has two plans, of which the first is not deterministic;
// a convolution alone has two as well; other graphs have none. Plans run op by op, in stream order,
// rounding everything but f32 to its type.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cudnn_graph.h"
#include "fake_cuda.h"

namespace {
size_t size_of(int type) {
    switch (type) {
    case CUDNN_TYPE_BOOLEAN: return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    default: return 4;
    }
}

// ---- finalizing ----

bool finish_tensor(bag *b) {
    node_tensor &t = b->tensor;
    std::vector<int64_t> dim = b->all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                         stride = b->all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    t.id = b->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0),
    t.align = b->one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
    t.type = b->one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_DOUBLE);
    t.inner = b->one<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0),
    t.number = b->one<char>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0);
    if (dim.size() != 4 || stride.size() != 4 || !t.id || t.align < 1) return false;
    for (int d = 0; d < 4; d++) {
        t.dim[d] = dim[d], t.stride[d] = stride[d];
        if (dim[d] < 1 || stride[d] < 1) return false;
    }
    return true;
}

bool take_tensor(const bag *b, int name, op *o) {
    bag *t = b->one<bag *>(name, nullptr);
    if (!t) return false;
    if (!t->done || t->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) return false;
    o->in[o->inputs++] = t->tensor;
    return true;
}

bool finish_op(bag *b, int detail, const std::vector<int> &needed, int optional, int selects,
               int out) {
    op &o = b->what;
    o.kind = b->type;
    if (detail) {
        bag *w = b->one<bag *>(detail, nullptr);
        if (!w || !w->done) return false;
        o.mode = w->one<int>(w->type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR
                                 ? CUDNN_ATTR_REDUCTION_OPERATOR
                                 : CUDNN_ATTR_POINTWISE_MODE,
                             0);
        o.axis = (int)w->one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, 0);
    }
    for (int name : needed)
        if (!take_tensor(b, name, &o)) return false;
    if (optional && b->attr.count(optional) && !take_tensor(b, optional, &o)) return false;
    if (selects && b->attr.count(selects) && !take_tensor(b, selects, &o)) return false;
    bag *y = b->one<bag *>(out, nullptr);
    if (!y || !y->done) return false;
    o.out = y->tensor;
    return true;
}

// ---- what the attention engines know ----

// A tensor as a formula of the operands: "16" and "32" are memory of 16 and 32 bits, "n" is a
// number; a result that is not f32 has its bits after the function's name.
std::string bits_of(const node_tensor &t) {
    return t.type == CUDNN_DATA_HALF || t.type == CUDNN_DATA_BFLOAT16 ? "16"
           : t.type == CUDNN_DATA_FLOAT                               ? "32"
           : t.type == CUDNN_DATA_INT32                               ? "i"
           : t.type == CUDNN_DATA_BOOLEAN                             ? "b"
                                                                      : "?";
}
std::string name_of(const op &o) {
    bool most = o.mode == CUDNN_REDUCE_TENSOR_MAX;
    switch (o.kind) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return "dot";
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: return "turn";
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return most ? "max" : "sum";
    }
    switch (o.mode) {
    case CUDNN_POINTWISE_ADD: return "add";
    case CUDNN_POINTWISE_SUB: return "sub";
    case CUDNN_POINTWISE_MUL: return "mul";
    case CUDNN_POINTWISE_DIV: return "div";
    case CUDNN_POINTWISE_EXP: return "exp";
    case CUDNN_POINTWISE_LOG: return "log";
    case CUDNN_POINTWISE_CMP_GE: return "ge";
    case CUDNN_POINTWISE_GEN_INDEX: return o.axis == 2 ? "row" : "column";
    case CUDNN_POINTWISE_BINARY_SELECT: return "select";
    default: return "same";
    }
}
std::string formula(const graph &g, const node_tensor &t) {
    for (const op &o : g.ops) {
        if (o.out.id != t.id) continue;
        std::string f = name_of(o) + (bits_of(t) == "32" ? "" : bits_of(t)) + "(";
        for (int i = 0; i < o.inputs; i++) f += (i ? "," : "") + formula(g, o.in[i]);
        return f + ")";
    }
    return t.number ? "n" : bits_of(t);
}
// Of what the graph writes, and of ends that nobody reads.
std::set<std::string> ends_of(const graph &g) {
    std::set<std::string> ends;
    for (const op &o : g.ops) {
        bool read = false;
        for (const op &by : g.ops)
            for (int i = 0; i < by.inputs; i++) read = read || by.in[i].id == o.out.id;
        if (!read || !o.out.inner) ends.insert(formula(g, o.out));
    }
    return ends;
}

// The patterns of version 9 (`older`: of its first releases, which mask before they subtract),
// causal or not, with the scores s; and those of dq, with a sum in f32 or without.
std::string hidden(bool causal, const std::string &s) {
    return causal ? "select(" + s + ",n,geb(rowi(" + s + "),columni(" + s + ")))" : s;
}
std::set<std::string> forward(bool causal, const std::string &s) {
    std::string x = hidden(causal, s), e = "exp(sub(" + x + ",max(" + x + ")))";
    return {"dot16(div16(" + e + ",sum(" + e + ")),16)", "add(max(" + x + "),log(sum(" + e + ")))"};
}
std::set<std::string> backward(bool causal, bool older, bool sum, const std::string &s) {
    std::string x = older ? "sub(" + hidden(causal, s) + ",32)"
                          : hidden(causal, "sub(" + s + ",32)"),
                share = "exp(" + x + ")", rows = "mul(sum(mul(16,16)),n)",
                ds = "mul(mul(sub(dot(16,16)," + rows + ")," + share + "),n)";
    std::set<std::string> all = {rows, "dot16(turn16(" + share + "),16)",
                                 "dot16(turn16(" + ds + "),16)"};
    std::string dq = "(" + ds + ",turn16(16))";
    if (sum) all.insert({"dot" + dq, "same16(dot" + dq + ")"});
    else all.insert("dot16" + dq);
    return all;
}

bool pattern_known(const graph &g) {
    std::set<std::string> have = ends_of(g);
    bool older = fakeFaulty("older");
    for (int i = 0; i < 8; i++) {
        std::string s = i & 1 ? "add(mul(dot(16,16),n),16)" : "mul(dot(16,16),n)";
        if (have == forward(i & 2, s) || have == backward(i & 2, older, i & 4, s)) return true;
    }
    return false;
}

// Bytes of the scores that deterministic gradients keep.
int64_t kept_by(const graph &g) {
    int64_t most = 0, products = 0;
    for (const op &o : g.ops) {
        products += o.kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
        const int64_t *n = o.out.dim;
        if (o.out.inner) most = std::max(most, n[0] * n[1] * n[2] * n[3]);
    }
    return products == 5 ? 2 * most : 0;
}

// Whether engines know the graph, and take the shapes and types of its products.
bool known(const graph &g) {
    if (g.ops.size() == 1 && g.ops[0].convolves) return fake_conv_known(g.ops[0].conv);
    for (const op &o : g.ops) {
        if (o.kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
        const node_tensor &a = o.in[0], &b = o.in[1];
        for (int i = 0; i < 2; i++)
            if (!o.in[i].inner && o.in[i].stride[2] != 1 && o.in[i].stride[3] != 1) return false;
        if (a.dim[3] != b.dim[2] || o.out.dim[2] != a.dim[2] || o.out.dim[3] != b.dim[3])
            return false;
        const node_tensor &feature = a.inner ? b : a; // the dim of features
        if (!feature.inner && (feature.dim[3] % 8 || feature.dim[3] > 256)) return false;
    }
    return pattern_known(g);
}

cudnnStatus_t finish_plan(bag *b) {
    bag *config = b->one<bag *>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, nullptr);
    if (!config || !config->whole || !b->attr.count(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
        return CUDNN_STATUS_BAD_PARAM;
    if (fakeFaulty("plan")) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!fakeLibraryMemory(1 << 20, false))
        return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    b->whole = config->whole, b->varies = config->varies;
    return CUDNN_STATUS_SUCCESS;
}

bool finish_graph(bag *b) {
    b->whole = std::make_shared<graph>();
    for (bag *o : b->all<bag *>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        if (!o || !o->done) return false;
        b->whole->ops.push_back(o->what);
    }
    return b->attr.count(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) && !b->whole->ops.empty();
}

// ---- running ----

float rounded(cudnnDataType_t t, float v) {
    return t == CUDNN_DATA_HALF       ? from_f16(to_f16(v))
           : t == CUDNN_DATA_BFLOAT16 ? from_bf16(to_bf16(v))
                                      : v;
}

struct run {
    std::shared_ptr<graph> g;
    std::map<int64_t, void *> memory;
    std::map<int64_t, float> numbers;
    bool slow = false; // the plan that is not deterministic takes longer here, so that measuring
                       // prefers the other
    mutable std::map<int64_t, std::vector<float>> values; // by offsets with the tensor's strides

    template <class F> static void each(const node_tensor &t, F f) {
        int64_t i[4];
        for (i[0] = 0; i[0] < t.dim[0]; i[0]++)
            for (i[1] = 0; i[1] < t.dim[1]; i[1]++)
                for (i[2] = 0; i[2] < t.dim[2]; i[2]++)
                    for (i[3] = 0; i[3] < t.dim[3]; i[3]++) f(i);
    }
    std::vector<float> &value(const node_tensor &t) const {
        auto have = values.find(t.id);
        if (have != values.end()) return have->second;
        std::vector<float> &v = values[t.id];
        v.assign((size_t)t.span(), NAN);
        if (t.number) v[0] = numbers.at(t.id);
        else if (!t.inner)
            each(t, [&](const int64_t *i) {
                v[(size_t)t.at(i)] = (float)load(memory.at(t.id), t.at(i), t.type);
            });
        return v;
    }
    static float point(const op &o, const float *x, const int64_t *i) {
        switch (o.mode) {
        case CUDNN_POINTWISE_ADD: return x[0] + x[1];
        case CUDNN_POINTWISE_SUB: return x[0] - x[1];
        case CUDNN_POINTWISE_MUL: return x[0] * x[1];
        case CUDNN_POINTWISE_DIV: return x[0] / x[1];
        case CUDNN_POINTWISE_EXP: return expf(x[0]);
        case CUDNN_POINTWISE_LOG: return logf(x[0]);
        case CUDNN_POINTWISE_CMP_GE: return x[0] >= x[1];
        case CUDNN_POINTWISE_GEN_INDEX: return (float)i[o.axis];
        case CUDNN_POINTWISE_BINARY_SELECT: return x[2] != 0 ? x[0] : x[1];
        default: return x[0];
        }
    }
    float element(const op &o, std::vector<float> *const *in, const int64_t *i) const {
        int64_t k[4] = {i[0], i[1], i[2], i[3]}, other[4] = {i[0], i[1], i[2], i[3]};
        float x[3] = {0, 0, 0}, sum = o.mode == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY : 0;
        if (o.kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
            for (int n = 0; n < o.inputs; n++) x[n] = (*in[n])[(size_t)o.in[n].at(i)];
            return point(o, x, i);
        }
        if (o.kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
            for (k[3] = 0; k[3] < o.in[0].dim[3]; k[3]++) {
                float v = (*in[0])[(size_t)o.in[0].at(k)];
                sum = o.mode == CUDNN_REDUCE_TENSOR_MAX ? (v > sum ? v : sum) : sum + v;
            }
            return sum;
        }
        for (sum = 0, k[3] = 0; k[3] < o.in[0].dim[3]; k[3]++) {
            other[2] = k[3];
            sum += (*in[0])[(size_t)o.in[0].at(k)] * (*in[1])[(size_t)o.in[1].at(other)];
        }
        return sum;
    }
    void operator()() const {
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        for (const op &o : g->ops) {
            std::vector<float> *in[3], out((size_t)o.out.span(), NAN);
            for (int n = 0; n < o.inputs; n++) in[n] = &value(o.in[n]);
            if (o.kind == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) // the same elements, numbered
                                                                      // differently
                for (size_t p = 0; p < out.size(); p++) out[p] = rounded(o.out.type, (*in[0])[p]);
            else
                each(o.out, [&](const int64_t *i) {
                    out[(size_t)o.out.at(i)] = rounded(o.out.type, element(o, in, i));
                });
            if (!o.out.inner)
                each(o.out, [&](const int64_t *i) {
                    store(memory.at(o.out.id), o.out.at(i), o.out.type, out[(size_t)o.out.at(i)]);
                });
            values[o.out.id] = out;
        }
    }
};

bool bind_one(run *r, const node_tensor &t, const std::map<int64_t, void *> &given) {
    if (t.inner) return true;
    auto p = given.find(t.id);
    if (p == given.end() || !p->second || (!t.number && (uintptr_t)p->second % (uintptr_t)t.align))
        return false;
    if (t.number) memcpy(&r->numbers[t.id], p->second, 4);
    else r->memory[t.id] = p->second;
    return true;
}

cudnnStatus_t results(const bag *heur, int64_t room, int64_t *n, void **to) {
    bag *g = heur->one<bag *>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, nullptr);
    *n = 0;
    if (fakeFaulty("engine") || !known(*g->whole)) return CUDNN_STATUS_SUCCESS;
    for (*n = 0; *n < 2 && *n < room; ++*n) {
        bag *config = (bag *)to[*n];
        if (!config || config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return CUDNN_STATUS_BAD_PARAM;
        config->whole = g->whole, config->varies = *n == 0, config->done = true;
    }
    return CUDNN_STATUS_SUCCESS;
}
} // namespace

extern "C" {
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *d) {
    bag *b = new bag;
    b->type = type;
    *d = b;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
    delete (bag *)d;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *v) {
    bag *b = (bag *)d;
    if (!b || b->done || n < 1 || !v) return CUDNN_STATUS_BAD_PARAM;
    b->attr[name].assign((const char *)v, (const char *)v + (size_t)n * size_of(type));
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
    bag *b = (bag *)d;
    bool ok = b && !b->done;
    if (!ok) return CUDNN_STATUS_BAD_PARAM;
    switch (b->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: ok = finish_tensor(b); break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        ok = finish_op(b, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC}, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                       CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        ok = finish_op(b, CUDNN_ATTR_OPERATION_REDUCTION_DESC,
                       {CUDNN_ATTR_OPERATION_REDUCTION_XDESC}, 0, 0,
                       CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        ok = finish_op(b, CUDNN_ATTR_OPERATION_MATMUL_DESC,
                       {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC}, 0, 0,
                       CUDNN_ATTR_OPERATION_MATMUL_CDESC);
        break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        ok = finish_op(b, 0, {CUDNN_ATTR_OPERATION_RESHAPE_XDESC}, 0, 0,
                       CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        ok = finish_convolution(b);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: ok = finish_graph(b); break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        ok = b->attr.count(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) &&
             b->attr.count(CUDNN_ATTR_ENGINEHEUR_MODE);
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
        cudnnStatus_t s = finish_plan(b);
        b->done = s == CUDNN_STATUS_SUCCESS;
        return s;
    }
    default: break;
    }
    b->done = ok;
    return ok ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t room, int64_t *n,
                                       void *v) {
    bag *b = (bag *)d;
    if (!b || !b->done) return CUDNN_STATUS_BAD_PARAM;
    *n = 1;
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: return results(b, room, n, (void **)v);
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
        bag *engine = *(bag **)v;
        engine->varies = b->varies, engine->done = true;
        return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        *(int *)v = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        if (b->varies && room > 1) ((int *)v)[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, *n = 2;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        *(int64_t *)v = b->varies ? 256 : std::max<int64_t>(1 << 20, kept_by(*b->whole));
        return CUDNN_STATUS_SUCCESS;
    default: return CUDNN_STATUS_BAD_PARAM;
    }
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
    bag *p = (bag *)plan, *with = (bag *)pack;
    if (!h || !p || !p->done || !with || !with->done) return CUDNN_STATUS_BAD_PARAM;
    std::vector<int64_t> id = with->all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    std::vector<void *> at = with->all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    std::map<int64_t, void *> given;
    if (id.size() != at.size() || !with->one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr))
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t i = 0; i < id.size(); i++) given[id[i]] = at[i];
    if (p->whole->ops[0].convolves) {
        const op &o = p->whole->ops[0];
        void *part[3];
        for (int i = 0; i < 3; i++)
            if (!(part[i] = given[o.id[i]])) return CUDNN_STATUS_BAD_PARAM;
        return fake_conv_run(h, o.conv, part);
    }
    run r;
    r.g = p->whole, r.slow = p->varies;
    for (const op &o : r.g->ops) {
        for (int i = 0; i < o.inputs; i++)
            if (!bind_one(&r, o.in[i], given)) return CUDNN_STATUS_BAD_PARAM;
        if (!bind_one(&r, o.out, given)) return CUDNN_STATUS_BAD_PARAM;
    }
    cudaError_t err =
        fake::enqueue(h->stream, p->varies ? "fake_attention_varying" : "fake_attention", r);
    return err == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
}
