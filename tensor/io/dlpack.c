/* DLPack: what an export holds, what an import checks before it follows the other's pointers, and
 * the order of work on both sides. */
#include "tensor/io/dlpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tensor/base/error.h"
#include "tensor/device/device.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"
#include "tensor/memory/alloc.h"
#include "tensor/op.h"

#define EXPORT "to_dlpack"
#define IMPORT "from_dlpack"

_Static_assert(sizeof(gp_dl_tensor) == 48 && offsetof(gp_dl_tensor, byte_offset) == 40 &&
                   offsetof(gp_dl_tensor, code) == 20 && offsetof(gp_dl_plain, ctx) == 48 &&
                   offsetof(gp_dl_versioned, deleter) == 16 && offsetof(gp_dl_versioned, t) == 32,
               "as dlpack.h has them on a machine of 64 bits");

/* ---- dtypes and devices ---- */

static const struct kind {
    uint8_t code, bits;
} kinds[GP_DTYPES] = {
    [GP_bool] = {GP_DL_BOOL, 8},  [GP_u8] = {GP_DL_UINT, 8},      [GP_i8] = {GP_DL_INT, 8},
    [GP_i16] = {GP_DL_INT, 16},   [GP_i32] = {GP_DL_INT, 32},     [GP_i64] = {GP_DL_INT, 64},
    [GP_f16] = {GP_DL_FLOAT, 16}, [GP_bf16] = {GP_DL_BFLOAT, 16}, [GP_f32] = {GP_DL_FLOAT, 32},
    [GP_f64] = {GP_DL_FLOAT, 64},
};

static bool read_dtype(const gp_dl_tensor *t, gp_dtype *dt) {
    static const char *const codes[] = {"int",    "uint",    "float", "opaque",
                                        "bfloat", "complex", "bool"};
    for (int i = 0; i < GP_DTYPES; i++)
        if (kinds[i].code == t->code && kinds[i].bits == t->bits && t->lanes == 1)
            return *dt = (gp_dtype)i, true;
    if (t->lanes != 1)
        return gp_fail(IMPORT ": the elements are vectors of %d numbers (expected single ones)",
                       t->lanes);
    if (t->code < sizeof codes / sizeof *codes)
        return gp_fail(IMPORT ": the elements are %s%d, which no dtype is", codes[t->code],
                       t->bits);
    return gp_fail(IMPORT
                   ": the elements have DLPack's type code %d, of %d bits, which no dtype is",
                   t->code, t->bits);
}

static const char *device_text(int32_t device, char buf[40]) {
    static const char *const names[] = {NULL,     "cpu",       "cuda",    "cuda_host",    "opencl",
                                        NULL,     NULL,        "vulkan",  "metal",        "vpi",
                                        "rocm",   "rocm_host", "ext_dev", "cuda_managed", "oneapi",
                                        "webgpu", "hexagon",   "maia"};
    const char *name =
        device > 0 && device < (int32_t)(sizeof names / sizeof *names) ? names[device] : NULL;
    if (name) return name;
    snprintf(buf, 40, "of DLPack's number %d", (int)device);
    return buf;
}

static gp_device *read_device(const gp_dl_tensor *t) {
    char name[40];
    if (t->device == GP_DL_CPU || t->device == GP_DL_CUDA_HOST) return gp_device_cpu();
    if (t->device != GP_DL_CUDA)
        return gp_fail_null(IMPORT ": the memory is on a device %s (expected cpu or cuda)",
                            device_text(t->device, name));
    snprintf(name, sizeof name, "cuda:%d", (int)t->device_id);
    return gp_device_get(name);
}

/* ---- order ---- */

/* Whether the order is one that dev's work can have. */
static bool order_fits(const char *what, const gp_device *dev, gp_dl_order order) {
    if (!order.given) return true;
    if (!dev->vt->order_outside)
        return gp_fail("%s: stream: %lld with memory of %s (expected nil: only cuda has streams)",
                       what, (long long)order.stream, dev->name);
    if (order.stream > 0 || order.stream == -1) return true;
    return gp_fail("%s: stream: expected 1 (CUDA's legacy default stream), 2 (the per-thread one), "
                   "a cudaStream_t's address or -1 (no order), got %lld",
                   what, (long long)order.stream);
}

/* Before the other side uses st, which it may write: waits for gpush's work on it. */
static bool wait_for_all(gp_storage *st) {
    gp_device *dev = st->dev;
    if (dev->vt->on_host)
        return gp_host_ready(st, GP_WHY_explicit, EXPORT) &&
               gp_host_may_write(st, GP_WHY_explicit, EXPORT) && gp_order_host_write(st, EXPORT);
    for (int i = 0; i < dev->nstreams; i++) {
        gp_stream *s = dev->streams[i];
        bool uses = s == st->stream || s == st->last_writer || st->used_by >> i & 1;
        if (uses && !gp_wait(s, GP_WHY_explicit, EXPORT)) return false;
    }
    return gp_failure_none(st);
}

/* The same where its stream waits in the host's place. */
static bool lead(gp_storage *st, int64_t stream) {
    gp_device *dev = st->dev;
    for (int i = 0; i < dev->nstreams; i++) {
        gp_stream *s = dev->streams[i];
        bool uses = s == st->stream || s == st->last_writer || st->used_by >> i & 1;
        if (uses && !dev->vt->order_outside(s, (uintptr_t)stream, false)) return false;
    }
    return true;
}

/* ---- export ---- */

typedef struct lent {
    union {
        gp_dl_plain plain;
        gp_dl_versioned versioned;
    };
    gp_storage *storage;
    int64_t dims[2 * GP_MAX_DIM]; /* shape, strides */
} lent;

static void give_back(lent *l) {
    gp_storage_unref(l->storage);
    free(l);
}
static void delete_plain(gp_dl_plain *m) { give_back(m->ctx); }
static void delete_versioned(gp_dl_versioned *m) { give_back(m->ctx); }

static gp_dl_tensor describe(lent *l, const gp_tensor *x) {
    const gp_array *a = &x->a;
    const gp_device *dev = x->storage->dev;
    for (int i = 0; i < a->ndim; i++)
        l->dims[i] = a->dim[i], l->dims[GP_MAX_DIM + i] = a->stride[i];
    return (gp_dl_tensor){.data = a->numel ? a->data : NULL,
                          .device = dev->vt->on_host ? GP_DL_CPU : GP_DL_CUDA,
                          .device_id = dev->vt->on_host ? 0 : dev->index,
                          .ndim = a->ndim,
                          .code = kinds[a->dtype].code,
                          .bits = kinds[a->dtype].bits,
                          .lanes = 1,
                          .shape = l->dims,
                          .strides = l->dims + GP_MAX_DIM};
}

void *gp_dl_export(gp_tensor *x, bool versioned, gp_dl_order order) {
    gp_storage *st = x->storage;
    if (x->requires_grad)
        return gp_fail_null(EXPORT ": the tensor requires a gradient, which others' writes would "
                                   "not be part of (expected x:detach())");
    if (!st->dev->vt->on_host && !st->dev->vt->order_outside)
        return gp_fail_null(EXPORT ": the tensor is on %s, a device that DLPack does not have "
                                   "(expected cpu or cuda): copy it by x:cpu()",
                            st->dev->name);
    if (!order_fits(EXPORT, st->dev, order) || !gp_at(GP_AT_READ, EXPORT, NULL)) return NULL;
    bool led = order.given && !st->dev->vt->on_host;
    if (!led && !wait_for_all(st)) return NULL;
    if (led && order.stream != -1 && !lead(st, order.stream)) return NULL;
    lent *l = malloc(sizeof *l);
    if (!l) return gp_fail_null(EXPORT ": out of memory");
    l->storage = gp_storage_ref(st);
    gp_dl_tensor t = describe(l, x);
    if (versioned)
        l->versioned =
            (gp_dl_versioned){.major = GP_DL_MAJOR, .ctx = l, .deleter = delete_versioned, .t = t};
    else l->plain = (gp_dl_plain){.t = t, .ctx = l, .deleter = delete_plain};
    return l;
}

/* ---- import ---- */

/* Whether that is memory which this process may read; true where the system does not say. A number
 * that was mistyped is seldom; no more is known of an address. */
static bool is_readable(const void *p, size_t bytes) {
    char copy[sizeof(gp_dl_versioned)];
    struct iovec to = {copy, bytes}, from = {(void *)p, bytes};
    if ((uintptr_t)p % sizeof(void *)) return false;
    ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return n == (ssize_t)bytes || (n < 0 && errno != EFAULT);
}

/* The tensor in *managed, where it can be followed. */
static const gp_dl_tensor *find_tensor(const void *managed, bool versioned, bool *read_only) {
    const gp_dl_versioned *v = managed;
    if (!is_readable(managed, versioned ? sizeof *v : sizeof(gp_dl_plain)))
        return gp_fail_null(IMPORT ": no tensor of DLPack is at the address %p", managed);
    *read_only = versioned && v->flags & GP_DL_READ_ONLY;
    if (!versioned) return &((const gp_dl_plain *)managed)->t;
    if (v->major != GP_DL_MAJOR)
        return gp_fail_null(IMPORT ": the tensor is of DLPack %u.%u (expected 1)", v->major,
                            v->minor);
    return &v->t;
}

/* Fills a but for its address, and *bytes: how far its elements reach. */
static bool read_layout(const gp_dl_tensor *t, gp_array *a, size_t *bytes) {
    gp_shape shape = {.ndim = t->ndim};
    gp_dtype dt = GP_f32;
    int64_t reach = 1, step;
    if (!read_dtype(t, &dt)) return false;
    if (t->ndim < 0 || t->ndim > GP_MAX_DIM || (t->ndim && !t->shape))
        return gp_fail(IMPORT ": the tensor has %d dims%s (expected 0 to %d)", (int)t->ndim,
                       t->ndim > 0 && !t->shape ? " and no shape" : "", GP_MAX_DIM);
    for (int i = 0; i < t->ndim; i++) shape.dim[i] = t->shape[i];
    if (!gp_shape_numel(&shape, &a->numel)) {
        char why[200];
        snprintf(why, sizeof why, "%s", gp_error());
        return gp_fail(IMPORT ": %s", why);
    }
    gp_shape_strides(&shape, a->stride);
    a->dtype = (uint8_t)dt;
    a->ndim = (uint8_t)t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        a->dim[i] = shape.dim[i];
        if (!t->strides || !a->numel) continue;
        a->stride[i] = shape.dim[i] > 1 ? t->strides[i] : 1;
        if (a->stride[i] < 0)
            return gp_fail(IMPORT ": the stride of dim %d is %lld (expected 0 or more): copy the "
                                  "tensor there",
                           i + 1, (long long)a->stride[i]);
        if (__builtin_mul_overflow(shape.dim[i] - 1, a->stride[i], &step) ||
            __builtin_add_overflow(reach, step, &reach) || reach > INT64_C(1) << 58)
            return gp_fail(IMPORT ": the stride of dim %d is %lld, beyond any memory", i + 1,
                           (long long)a->stride[i]);
    }
    if (!t->strides) reach = a->numel;
    *bytes = (size_t)reach * gp_dtype_size(dt);
    gp_array_update(a);
    return true;
}

/* Sets a's address. */
static bool read_address(const gp_dl_tensor *t, gp_array *a) {
    size_t size = gp_dtype_size((gp_dtype)a->dtype);
    if (!t->data) return gp_fail(IMPORT ": %lld elements without memory", (long long)a->numel);
    a->data = (char *)((uintptr_t)t->data + t->byte_offset);
    return (uintptr_t)a->data % size == 0 ||
           gp_fail(IMPORT ": the first element is at %p, no multiple of the %d bytes of %s: copy "
                          "the tensor there",
                   (void *)a->data, (int)size, gp_dtype_name((gp_dtype)a->dtype));
}

void gp_dl_delete(void *managed, bool versioned) {
    gp_dl_plain *p = managed;
    gp_dl_versioned *v = managed;
    if (versioned && v->deleter) v->deleter(v);
    if (!versioned && p->deleter) p->deleter(p);
}

static void release_plain(gp_storage *st) { gp_dl_delete(st->owner, false); }
static void release_versioned(gp_storage *st) { gp_dl_delete(st->owner, true); }

/* The storage whose memory that is, if gpush lent it: then its order and versions hold on. */
static gp_storage *own(const void *managed, bool versioned) {
    const gp_dl_plain *p = managed;
    const gp_dl_versioned *v = managed;
    if (versioned ? v->deleter != delete_versioned : p->deleter != delete_plain) return NULL;
    return ((const lent *)managed)->storage;
}

/* Work queued from here on comes after that of the stream. */
static bool follow(gp_device *dev, gp_dl_order order) {
    int64_t stream = order.given ? order.stream : 1;
    return !dev->vt->order_outside || stream == -1 ||
           dev->vt->order_outside(gp_stream_current(dev), (uintptr_t)stream, true);
}

/* A tensor with the layout and address of a, over `storage`, or else over others' memory, which it
 * does not release so far. */
static gp_tensor *wrap(gp_device *dev, const gp_array *a, size_t bytes, void *managed,
                       gp_storage *storage) {
    gp_shape shape = {.ndim = a->ndim};
    for (int i = 0; i < a->ndim; i++) shape.dim[i] = a->dim[i];
    gp_storage *st =
        storage ? gp_storage_ref(storage) : gp_storage_foreign(dev, a->data, bytes, NULL, managed);
    gp_tensor *t = st ? gp_tensor_wrap(st, (gp_dtype)a->dtype, &shape) : NULL;
    if (!t) return NULL;
    t->a = *a;
    if (!dev->vt->on_host) gp_order_written(st, gp_stream_current(dev));
    return t;
}

static gp_tensor *copy_of(gp_tensor *t) {
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, t);
    return gp_call_one(&c);
}

static gp_tensor *empty(gp_device *dev, const gp_array *a) {
    gp_shape shape = {.ndim = a->ndim};
    for (int i = 0; i < a->ndim; i++) shape.dim[i] = a->dim[i];
    return gp_tensor_new(dev, (gp_dtype)a->dtype, &shape);
}

/* t, which does not need *managed any more. */
static gp_tensor *made(gp_tensor *t, void *managed, bool versioned) {
    if (t) gp_dl_delete(managed, versioned);
    return t;
}

gp_tensor *gp_dl_import(void *managed, bool versioned, gp_dl_order order, int copy) {
    bool read_only;
    gp_array a = {0};
    size_t bytes = 0;
    const gp_dl_tensor *t = find_tensor(managed, versioned, &read_only);
    gp_device *dev = t ? read_device(t) : NULL;
    if (!dev || !order_fits(IMPORT, dev, order) || !read_layout(t, &a, &bytes)) return NULL;
    if (read_only && copy == 0)
        return gp_fail_null(IMPORT ": the memory may only be read, which a tensor cannot promise "
                                   "(expected copy = nil or true)");
    if (a.numel == 0) return made(empty(dev, &a), managed, versioned);
    if (!read_address(t, &a) || !follow(dev, order)) return NULL;
    gp_storage *lender = own(managed, versioned);
    gp_tensor *x = wrap(dev, &a, bytes, managed, lender);
    gp_tensor *y = x && (copy == 1 || read_only) ? copy_of(x) : x;
    if (y && !lender) x->storage->release = versioned ? release_versioned : release_plain;
    if (y != x) gp_tensor_unref(x);
    return lender ? made(y, managed, versioned) : y;
}
