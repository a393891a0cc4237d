/* cuDNN's graph interface: tensors, operations on them, and the plan that runs them all. Source of
 * the attributes and descriptors: NVIDIA's cuDNN 9 documentation, "Backend API". */
#if __has_include(<cudnn.h>)
#include "kernels/cuda/cudnn/cudnn_graph.h"

typedef cudnnBackendDescriptor_t made;

/* ---- descriptors ---- */

static bool good(gp_graph *g, cudnnStatus_t s) {
    if (s != CUDNN_STATUS_SUCCESS) g->failed = true, g->no_memory |= gp_dnn_no_memory(s);
    return !g->failed;
}

static made create(gp_graph *g, cudnnBackendDescriptorType_t type) {
    made d = NULL;
    return good(g, gp_dnn.cudnnBackendCreateDescriptor(type, &d)) ? d : NULL;
}

static void set(gp_graph *g, made d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *v) {
    if (!g->failed) good(g, gp_dnn.cudnnBackendSetAttribute(d, name, type, n, v));
}

static void set_made(gp_graph *g, made d, cudnnBackendAttributeName_t name, made v) {
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}

static bool finish(gp_graph *g, made d) {
    return !g->failed && good(g, gp_dnn.cudnnBackendFinalize(d));
}

static void drop(made *d) {
    if (*d) gp_dnn.cudnnBackendDestroyDescriptor(*d);
    *d = NULL;
}

/* The description of an op, destroyed with the graph. */
static made new_detail(gp_graph *g, cudnnBackendDescriptorType_t type) {
    if (g->details == GP_GRAPH_OPS) g->failed = true;
    return g->failed ? NULL : (g->detail[g->details++] = create(g, type));
}

static made new_op(gp_graph *g, cudnnBackendDescriptorType_t type) {
    if (g->ops == GP_GRAPH_OPS) g->failed = true;
    return g->failed ? NULL : (g->op[g->ops++] = create(g, type));
}

/* ---- tensors ---- */

typedef enum kind { MEMORY, INNER, NUMBER } kind;

static gp_node_tensor *tensor(gp_graph *g, kind k, cudnnDataType_t type, const int64_t *dim,
                              const int64_t *stride) {
    int64_t align = 16;
    bool yes = true;
    if (g->failed || g->tensors == GP_GRAPH_TENSORS) return g->failed = true, NULL;
    gp_node_tensor *t = &g->tensor[g->tensors++];
    *t = (gp_node_tensor){.type = type, .number = g->tensors};
    for (int64_t d = 3, step = 1; d >= 0; step *= dim[d--])
        t->dim[d] = dim[d], t->stride[d] = stride ? stride[d] : step;
    t->made = create(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(g, t->made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &t->number);
    set(g, t->made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t->type);
    set(g, t->made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    set(g, t->made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->dim);
    set(g, t->made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->stride);
    if (k == INNER) set(g, t->made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (k == NUMBER) set(g, t->made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    return finish(g, t->made) ? t : NULL;
}

gp_node_tensor *gp_graph_tensor(gp_graph *g, cudnnDataType_t type, const int64_t *dim,
                                const int64_t *stride) {
    return tensor(g, MEMORY, type, dim, stride);
}
gp_node_tensor *gp_graph_inner(gp_graph *g, cudnnDataType_t type, const int64_t *dim,
                               const int64_t *stride) {
    return tensor(g, INNER, type, dim, stride);
}
gp_node_tensor *gp_graph_number(gp_graph *g) {
    static const int64_t one[4] = {1, 1, 1, 1};
    return tensor(g, NUMBER, CUDNN_DATA_FLOAT, one, NULL);
}

/* ---- operations ---- */

/* y = op(x, b, t), of which b and t may be NULL; axis: GEN_INDEX's. */
static gp_node_tensor *point(gp_graph *g, cudnnPointwiseMode_t op, cudnnDataType_t compute,
                             gp_node_tensor *x, gp_node_tensor *b, gp_node_tensor *t,
                             gp_node_tensor *y, int64_t axis) {
    made what = new_detail(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, what, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &op);
    set(g, what, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    if (op == CUDNN_POINTWISE_GEN_INDEX)
        set(g, what, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    finish(g, what);
    made d = new_op(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    if (g->failed) return NULL;
    set_made(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
    set_made(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x->made);
    if (b) set_made(g, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->made);
    if (t) set_made(g, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->made);
    set_made(g, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y->made);
    return finish(g, d) ? y : NULL;
}

gp_node_tensor *gp_graph_point(gp_graph *g, cudnnPointwiseMode_t op, gp_node_tensor *x,
                               gp_node_tensor *b, gp_node_tensor *y) {
    if (!g->failed && !y) y = gp_graph_inner(g, CUDNN_DATA_FLOAT, x->dim, NULL);
    return g->failed ? NULL : point(g, op, CUDNN_DATA_FLOAT, x, b, NULL, y, 0);
}

gp_node_tensor *gp_graph_lower(gp_graph *g, gp_node_tensor *x, gp_node_tensor *other) {
    gp_node_tensor *at[2], *mask, *y;
    for (int i = 0; i < 2 && !g->failed; i++) {
        at[i] = gp_graph_inner(g, CUDNN_DATA_INT32, x->dim, NULL);
        if (at[i])
            point(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, x, NULL, NULL, at[i], 2 + i);
    }
    if (g->failed || !(mask = gp_graph_inner(g, CUDNN_DATA_BOOLEAN, x->dim, NULL))) return NULL;
    point(g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, at[0], at[1], NULL, mask, 0);
    if (g->failed || !(y = gp_graph_inner(g, CUDNN_DATA_FLOAT, x->dim, NULL))) return NULL;
    return point(g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, x, other, mask, y, 0);
}

gp_node_tensor *gp_graph_rows(gp_graph *g, cudnnReduceTensorOp_t op, gp_node_tensor *x,
                              gp_node_tensor *y) {
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    if (!g->failed && !y) {
        int64_t dim[4] = {x->dim[0], x->dim[1], x->dim[2], 1};
        y = gp_graph_inner(g, CUDNN_DATA_FLOAT, dim, NULL);
    }
    made what = new_detail(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, what, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
    set(g, what, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finish(g, what);
    made d = new_op(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    if (g->failed) return NULL;
    set_made(g, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
    set_made(g, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x->made);
    set_made(g, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y->made);
    return finish(g, d) ? y : NULL;
}

gp_node_tensor *gp_graph_product(gp_graph *g, gp_node_tensor *a, gp_node_tensor *b,
                                 gp_node_tensor *y) {
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    if (!g->failed && !y) {
        int64_t dim[4] = {a->dim[0], a->dim[1], a->dim[2], b->dim[3]};
        y = gp_graph_inner(g, CUDNN_DATA_FLOAT, dim, NULL);
    }
    made what = new_detail(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(g, what, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finish(g, what);
    made d = new_op(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    if (g->failed) return NULL;
    set_made(g, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
    set_made(g, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a->made);
    set_made(g, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b->made);
    set_made(g, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y->made);
    return finish(g, d) ? y : NULL;
}

gp_node_tensor *gp_graph_transposed(gp_graph *g, gp_node_tensor *x, cudnnDataType_t type) {
    if (g->failed) return NULL;
    int64_t dim[4] = {x->dim[0], x->dim[1], x->dim[3], x->dim[2]},
            stride[4] = {x->stride[0], x->stride[1], x->stride[3], x->stride[2]};
    gp_node_tensor *y = gp_graph_inner(g, type, dim, stride);
    made d = new_op(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    if (g->failed) return NULL;
    set_made(g, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x->made);
    set_made(g, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y->made);
    return finish(g, d) ? y : NULL;
}

/* An operation that computes one part of a convolution: its descriptor and attributes. */
#define CONVOLUTION(type, kind, x_, w_, y_)                                                        \
    {                                                                                              \
        CUDNN_BACKEND_OPERATION_CONVOLUTION_##type##_DESCRIPTOR,                                   \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_CONV_DESC,                                   \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_##x_,                                        \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_##w_,                                        \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_##y_,                                        \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_ALPHA,                                       \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##kind##_BETA                                         \
    }
static const struct {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t how, x, w, y, alpha, beta;
} convolutions[] = {CONVOLUTION(BACKWARD_DATA, BWD_DATA, DX, W, DY),
                    CONVOLUTION(BACKWARD_FILTER, BWD_FILTER, X, DW, DY),
                    CONVOLUTION(FORWARD, FORWARD, X, W, Y)}; /* by gp_graph_conv.result */

static made describe_convolution(gp_graph *g, const gp_graph_conv *v) {
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t dims = 2;
    made d = new_detail(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(g, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(g, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
    set(g, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, v->pad);
    set(g, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, v->pad);
    set(g, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, v->stride);
    set(g, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, v->dilation);
    return finish(g, d) ? d : NULL;
}

bool gp_graph_convolution(gp_graph *g, const gp_graph_conv *v, gp_node_tensor *x, gp_node_tensor *w,
                          gp_node_tensor *y) {
    const __typeof__(convolutions[0]) *k = &convolutions[v->result];
    const float one = 1, zero = 0;
    made how = describe_convolution(g, v), d = new_op(g, k->type);
    if (g->failed) return false;
    set_made(g, d, k->how, how);
    set_made(g, d, k->x, x->made);
    set_made(g, d, k->w, w->made);
    set_made(g, d, k->y, y->made);
    set(g, d, k->alpha, CUDNN_TYPE_FLOAT, 1, &one);
    set(g, d, k->beta, CUDNN_TYPE_FLOAT, 1, &zero);
    return finish(g, d);
}

/* ---- plans ---- */

/* Stores up to GP_GRAPH_PLANS configurations, best first, in g->config; returns their number. */
static int64_t rank_plans(gp_graph *g) {
    int64_t n = 0;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    g->all = create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, g->all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->ops, g->op);
    set(g, g->all, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle);
    if (!finish(g, g->all)) return 0;
    made known = create(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_made(g, known, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->all);
    set(g, known, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finish(g, known);
    for (int i = 0; i < GP_GRAPH_PLANS && !g->failed; i++)
        g->config[i] = create(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->failed)
        good(g, gp_dnn.cudnnBackendGetAttribute(known, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, GP_GRAPH_PLANS, &n,
                                                g->config));
    drop(&known);
    return g->failed ? 0 : n < GP_GRAPH_PLANS ? n : GP_GRAPH_PLANS;
}

/* Whether the configuration's engine may give different bits in each call; assumed of one that
 * cannot be asked. */
static bool varies(gp_graph *g, made config) {
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    made engine = create(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    bool known = engine &&
                 !gp_dnn.cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine) &&
                 !gp_dnn.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                  CUDNN_TYPE_NUMERICAL_NOTE,
                                                  CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes);
    bool found = !known;
    for (int64_t i = 0; known && i < n; i++)
        found |= notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    drop(&engine);
    return found;
}

/* Makes the plan of a configuration in g->plan; false, with the graph still valid, where cuDNN
 * cannot. */
static bool make(gp_graph *g, made config) {
    int64_t n = 0;
    g->plan = create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_made(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    set(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle);
    bool ok =
        finish(g, g->plan) &&
        good(g, gp_dnn.cudnnBackendGetAttribute(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                CUDNN_TYPE_INT64, 1, &n, &g->memory));
    g->failed = false;
    if (!ok) drop(&g->plan);
    return ok;
}

bool gp_graph_plan(gp_graph *g, bool same, float (*cost)(gp_graph *g, void *ctx), void *ctx) {
    int64_t n = g->failed ? 0 : rank_plans(g), best = -1;
    float least = 0;
    for (int64_t i = 0, tried = 0; i < n && tried < GP_GRAPH_TRIED; i++) {
        if ((same && varies(g, g->config[i])) || !make(g, g->config[i])) continue;
        if (!cost) return true;
        float now = cost(g, ctx);
        if (now >= 0 && (best < 0 || now < least)) best = i, least = now;
        drop(&g->plan);
        tried++;
    }
    return best >= 0 && make(g, g->config[best]);
}

cudnnStatus_t gp_graph_run(const gp_graph *g, int n, const int64_t *number, void *const *memory,
                           void *workspace) {
    made pack = NULL;
    cudnnStatus_t s =
        gp_dnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    const struct {
        cudnnBackendAttributeName_t name;
        cudnnBackendAttributeType_t type;
        int64_t n;
        const void *v;
    } what[] = {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, number},
                {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, memory},
                {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace}};
    for (int i = 0; i < 3 && !s; i++)
        s = gp_dnn.cudnnBackendSetAttribute(pack, what[i].name, what[i].type, what[i].n, what[i].v);
    if (!s) s = gp_dnn.cudnnBackendFinalize(pack);
    if (!s) s = gp_dnn.cudnnBackendExecute(g->handle, g->plan, pack);
    drop(&pack);
    return s;
}

void gp_graph_forget(gp_graph *g) {
    drop(&g->plan);
    for (int i = 0; i < GP_GRAPH_PLANS; i++) drop(&g->config[i]);
    drop(&g->all);
    for (int i = 0; i < g->ops; i++) drop(&g->op[i]);
    for (int i = 0; i < g->details; i++) drop(&g->detail[i]);
    for (int i = 0; i < g->tensors; i++) drop(&g->tensor[i].made);
    memset(g, 0, sizeof *g);
}
#else
typedef int graph_has_cudnn; /* ISO C forbids an empty file */
#endif
