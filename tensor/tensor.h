/* What a tensor is: an array view (address, dtype, dims, strides) over a reference-counted storage
 * on a device. */
#ifndef GP_TENSOR_H
#define GP_TENSOR_H

#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tensor/array.h"
#include "tensor/base/srcloc.h"

/* A block of device memory, and the unit of the caching allocator (alloc.c): freed storages wait
 * there for reuse. */
typedef struct gp_storage {
    atomic_int refs;
    _Atomic uint32_t version; /* counts in-place writes */
    gp_device *dev;
    gp_stream *stream;        /* allocated here: reuse on this stream needs no wait */
    _Atomic uint64_t used_by; /* bit i: stream i of the device has used it, too */
    gp_stream *last_writer;   /* NULL: never written */
    uint64_t write_seq;       /* last_writer's count of commands at that write */
    char *data;               /* device address */
    size_t bytes;             /* capacity */
    size_t asked;             /* of these, what the first tensor asked for */
    struct gp_block *block;   /* its part of a segment (memory/segments.h); NULL: it has its own */
    int size_class;           /* size class; -1: foreign memory, released by `release` */
    bool pinned;              /* host memory that a device copies from without staging */
    atomic_bool charged; /* to Lua's collector: once, whichever of its tensors reaches Lua first */
    atomic_int readers;  /* queued copies that still read or write it (pinned host memory), and
                            abandoned calls that read it (tensor/device/offload.h) */
    void (*release)(struct gp_storage *);
    void *owner;              /* for release */
    struct gp_event **events; /* of the streams that may still use it, once it is freed; ends in
                                 NULL */
    struct gp_event *arrival; /* host memory: of the copy from a device that wrote it last and that
                                 the host did not wait for; NULL: none */
    void (*unlock)(void *data); /* host memory that a device has page-locked: called before it goes
                                   back to the system */
    gp_srcloc made;             /* where, for the out-of-memory list */
    const char *_Atomic write_file; /* the last write in place, recorded while gradients exist; */
    atomic_int write_line;          /* workers may write parts of one storage concurrently */
    struct gp_failure *failure,
        *walk_failure; /* the failure that its value stems from; owned by failure.c, as is */
    uint64_t walk;     /* of the walk in which walk_failure counts */
    bool intact, walk_intact;
    struct gp_storage *next, *prev; /* free list; list of live large blocks */
} gp_storage;

struct gp_tensor {
    gp_array a; /* first member: a gp_tensor * is a gp_array * for kernels */
    int refs;   /* plain: a gp_tensor belongs to one thread at a time; threads share storages */
    bool requires_grad;
    gp_storage *storage;
    uint8_t output; /* of node */
    uint32_t
        writes; /* autograd: recorded writes in place; of a view: its base's when node was made */
    struct gp_node *node;   /* autograd: the node that made it; NULL for leaves */
    struct gp_leaf *leaf;   /* where its gradient accumulates */
    struct gp_tensor *base; /* of a view: its base, itself not a view */
    struct gp_tensor *next; /* free list */
};
_Static_assert(offsetof(struct gp_tensor, a) == 0, "kernels take a gp_tensor * as a gp_array *");

/* New uninitialised tensor on dev's current stream; NULL with a message. The caller owns one
 * reference. */
gp_tensor *gp_tensor_new(gp_device *dev, gp_dtype dt, const gp_shape *shape);

/* The same on the cpu, for the host itself to fill: no queued work, of a fork, uses its memory. */
gp_tensor *gp_tensor_new_host(gp_dtype dt, const gp_shape *shape);

/* A view of base's storage: shape and strides (elements) given, `offset` in elements relative to
 * base's first. Never copies. */
gp_tensor *gp_tensor_view(const gp_tensor *base, const gp_shape *shape, const int64_t *stride,
                          int64_t offset);

/* The same elements without history: what the tape saves. */
gp_tensor *gp_tensor_alias(const gp_tensor *t);

/* A tensor over storage, whose reference it takes over. Contiguous. */
gp_tensor *gp_tensor_wrap(gp_storage *storage, gp_dtype dt, const gp_shape *shape);

/* A tensor belongs to one thread, so its count is not atomic; its storage may be shared. */
static inline gp_tensor *gp_tensor_ref(gp_tensor *t) {
    t->refs++;
    return t;
}
void gp_tensor_unref(gp_tensor *t); /* NULL is fine */

/* The dims without the strides, by value. */
static inline gp_shape gp_tensor_shape(const gp_tensor *t) {
    gp_shape s;
    s.ndim = t->a.ndim;
    for (int i = 0; i < s.ndim; i++) s.dim[i] = t->a.dim[i];
    return s;
}
static inline gp_device *gp_tensor_device(const gp_tensor *t) { return t->storage->dev; }

/* Recomputes numel and contiguous after dim and stride were set. */
void gp_array_update(gp_array *a);

/* Address range [lo, hi) in bytes that the array touches; lo == hi when empty. */
void gp_array_extent(const gp_array *a, const char **lo, const char **hi);

/* "f32 2x3" for messages. */
char *gp_tensor_text(const gp_tensor *t, char *buf, size_t n);

#endif
