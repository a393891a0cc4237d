/* Making, viewing and releasing tensors. A tensor is an array (shape, strides, dtype, address) with
 * a reference to a storage; views share the storage. The last reference releases the storage to the
 * allocator, which reuses the memory once the streams that use it have passed. Dead structs are
 * kept for each thread, since small ops make and drop many. */
#include "tensor/tensor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/memory/alloc.h"
#include "tensor/ops/layout/layout.h"
#include "tensor/base/error.h"
#include "tensor/autograd/tape.h"

/* Dead tensor structs of this thread, reused before malloc is called. */
static _Thread_local gp_tensor *spare;
static _Thread_local int nspare;
static _Thread_local bool kept; /* free_spare will be called */
enum { MOST_SPARE = 4096 };

/* At the end of a thread. */
static void free_spare(void *unused) {
    for (gp_tensor *t = spare, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    spare = NULL;
    nspare = 0;
    kept = false; /* another destructor may still release tensors */
}

static pthread_key_t ending;
static void make_key(void) { pthread_key_create(&ending, free_spare); }

/* Makes a thread that keeps spare structs free them when it ends. */
static void keeps_spare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    pthread_setspecific(ending, &spare);
    kept = true;
}

/* A struct with one reference; the caller fills in storage and array. */
static gp_tensor *new_header(void) {
    gp_tensor *t = spare;
    if (t) {
        spare = t->next;
        nspare--;
    } else if (!(t = malloc(sizeof *t))) {
        return gp_fail_null("out of memory");
    }
    t->refs = 1;
    t->requires_grad = false;
    t->writes = 0;
    t->node = NULL;
    t->leaf = NULL;
    t->base = NULL;
    return t;
}

gp_tensor *gp_tensor_wrap(gp_storage *storage, gp_dtype dt, const gp_shape *shape) {
    gp_tensor *t = new_header();
    if (!t) return gp_storage_unref(storage), NULL;
    t->storage = storage;
    gp_array *a = &t->a;
    a->data = storage->data;
    a->dtype = (uint8_t)dt;
    a->ndim = (uint8_t)shape->ndim;
    a->contiguous = true;
    int64_t n = 1;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        int64_t d = shape->dim[i];
        a->dim[i] = d;
        a->stride[i] = n;
        n *= d;
    }
    a->numel = n;
    if (n == 0) gp_shape_strides(shape, a->stride);
    return t;
}

static gp_tensor *new_on(gp_stream *s, gp_dtype dt, const gp_shape *shape) {
    int64_t numel;
    if (!gp_shape_numel(shape, &numel)) return NULL;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)numel, gp_dtype_size(dt), &bytes))
        bytes = SIZE_MAX; /* out of memory: reported with the list of tensors */
    gp_storage *st = gp_storage_new(s, bytes);
    return st ? gp_tensor_wrap(st, dt, shape) : NULL;
}

gp_tensor *gp_tensor_new(gp_device *dev, gp_dtype dt, const gp_shape *shape) {
    return new_on(gp_stream_current(dev), dt, shape);
}

gp_tensor *gp_tensor_new_host(gp_dtype dt, const gp_shape *shape) {
    return new_on(gp_device_cpu()->streams[0], dt, shape);
}

void gp_array_update(gp_array *a) { gp_array_finish(a); }

gp_tensor *gp_tensor_view(const gp_tensor *base, const gp_shape *shape, const int64_t *stride,
                          int64_t offset) {
    gp_tensor *t = new_header();
    if (!t) return NULL;
    t->storage = gp_storage_ref(base->storage);
    gp_array *a = &t->a;
    a->dtype = base->a.dtype;
    a->ndim = (uint8_t)shape->ndim;
    for (int i = 0; i < shape->ndim; i++) {
        a->dim[i] = shape->dim[i];
        a->stride[i] = stride[i];
    }
    a->data = base->a.data;
    gp_array_update(a);
    if (a->numel) a->data += offset * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    return t;
}

gp_tensor *gp_tensor_alias(const gp_tensor *t) {
    gp_tensor *r = new_header();
    if (!r) return NULL;
    r->storage = gp_storage_ref(t->storage);
    r->a = t->a;
    return r;
}

void gp_tensor_unref(gp_tensor *t) {
    if (!t || --t->refs > 0) return;
    if (t->node || t->leaf) gp_tensor_drop_history(t);
    if (t->base) gp_tensor_unref(t->base);
    gp_storage_unref(t->storage);
    if (nspare >= MOST_SPARE) {
        free(t);
        return;
    }
    if (!kept) keeps_spare();
    t->next = spare;
    spare = t;
    nspare++;
}

void gp_array_extent(const gp_array *a, const char **lo, const char **hi) {
    int64_t min = 0, max = 0;
    *lo = *hi = a->data;
    if (!a->numel) return; /* its strides may reach beyond every address */
    for (int i = 0; i < a->ndim; i++) {
        int64_t reach = (a->dim[i] - 1) * a->stride[i];
        if (reach > 0) max += reach;
        else min += reach;
    }
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    *lo = a->data + min * size;
    *hi = a->data + (max + 1) * size;
}

char *gp_tensor_text(const gp_tensor *t, char *buf, size_t n) {
    char shape[160];
    gp_shape s = gp_tensor_shape(t);
    snprintf(buf, n, "%s %s", gp_dtype_name((gp_dtype)t->a.dtype),
             gp_shape_text(&s, shape, sizeof shape));
    return buf;
}

#define LOAD(type) (*(const type *)p)
gp_scalar gp_scalar_load(gp_dtype dt, const void *p) {
    gp_scalar s = {.is_float = gp_is_float(dt)};
    switch (dt) {
    case GP_f64: s.f = LOAD(double); break;
    case GP_f32: s.f = (double)LOAD(float); break;
    case GP_f16: s.f = (double)gp_f16_to_f32(LOAD(uint16_t)); break;
    case GP_bf16: s.f = (double)gp_bf16_to_f32(LOAD(uint16_t)); break;
    case GP_i64: s.i = LOAD(int64_t); break;
    case GP_i32: s.i = LOAD(int32_t); break;
    case GP_i16: s.i = LOAD(int16_t); break;
    case GP_i8: s.i = LOAD(int8_t); break;
    default: s.i = LOAD(uint8_t); break;
    }
    return s;
}

/* Out-of-range floats saturate instead of being undefined. */
static int64_t to_int(gp_scalar s) {
    if (!s.is_float) return s.i;
    if (!(s.f > -0x1p63)) return s.f != s.f ? 0 : INT64_MIN;
    return s.f < 0x1p63 ? (int64_t)s.f : INT64_MAX;
}

void gp_scalar_store(gp_dtype dt, void *p, gp_scalar s) {
    double f = s.is_float ? s.f : (double)s.i;
    switch (dt) {
    case GP_f64: *(double *)p = f; break;
    case GP_f32: *(float *)p = s.is_float ? (float)s.f : (float)s.i; break;
    case GP_f16:
        *(uint16_t *)p = gp_f32_to_f16(s.is_float ? gp_f64_to_odd_f32(f) : gp_i64_to_odd_f32(s.i));
        break;
    case GP_bf16:
        *(uint16_t *)p = gp_f32_to_bf16(s.is_float ? gp_f64_to_odd_f32(f) : gp_i64_to_odd_f32(s.i));
        break;
    case GP_i64: *(int64_t *)p = to_int(s); break;
    case GP_i32: *(int32_t *)p = (int32_t)to_int(s); break;
    case GP_i16: *(int16_t *)p = (int16_t)to_int(s); break;
    case GP_i8: *(int8_t *)p = (int8_t)to_int(s); break;
    case GP_u8: *(uint8_t *)p = (uint8_t)to_int(s); break;
    default: *(uint8_t *)p = s.is_float ? s.f != 0 : s.i != 0; break;
    }
}
