/* The tape of autograd: what each op that ran on tensors with gradients saves for its backward. */
#ifndef GP_TAPE_H
#define GP_TAPE_H

#include <string.h>

#include "tensor/op.h"

typedef struct gp_node gp_node;
typedef struct gp_leaf gp_leaf;
typedef struct gp_vjp gp_vjp;

/* How an op is differentiated: a VIEW, RANDOM or CUSTOM row that has a derivative has a `const
 * gp_rule vjp_NAME` in its family's file of tensor/ops. */
typedef struct gp_rule {
    /* Vector-Jacobian product: sets v->dx[i] for each input i with v->need[i]; false with a
     * message. NULL: results never need gradients. */
    bool (*fn)(gp_vjp *v);
    /* What fn reads: digits are inputs (tensor arguments counted from 0, lists expanded: `*` is all
     * of them), `y` the outputs. Parts between `|` say what the gradients of input 0, 1 … need.
     * Of a row with a recorded form (gp_op.recorded) the node alone keeps the last output (`y`:
     * all).
     */
    const char *saves;
} gp_rule;

/* Sets the rule of n, the node of a call with program p, and lets n keep p. Set by tensor/fuse. */
extern void (*gp_keep_program)(gp_node *n, struct gp_program *p);

/* A function that is called with a gradient, and may replace it. */
typedef struct gp_grad_hook {
    struct gp_grad_hook *next;
    int output;                                /* of the node; 0 at a leaf */
    gp_tensor *(*fn)(void *ctx, gp_tensor *g); /* a new reference, or NULL with a message */
    void (*drop)(void *ctx);
    void *ctx;
} gp_grad_hook;

/* Who wants a leaf's gradient while the walk goes on. */
typedef struct gp_leaf_watch {
    /* Called in backward with the gradient, after the leaf's hooks, as soon as no node is left that
     * could add to it; at the latest when all nodes were walked. g is borrowed. Sets *taken where
     * the leaf is not to accumulate it. False with a message: the walk fails. */
    bool (*ready)(void *watcher, gp_tensor *g, bool *taken);
    void (*drop)(void *watcher);
} gp_leaf_watch;

/* Where gradients of a tensor accumulate: a tensor made with requires_grad, or one whose
 * retain_grad was called. Tensors and edges share it. */
struct gp_leaf {
    int refs;
    int edges;       /* of a watched leaf: inputs of this walk's nodes that may still give it one */
    uint64_t mark;   /* the walk in which edges counts */
    gp_tensor *grad; /* NULL: none yet */
    gp_tensor *pending; /* during backward */
    gp_leaf *next;      /* list of the leaves with something pending */
    gp_grad_hook *hooks;
    const gp_leaf_watch *watch; /* NULL: nobody waits for it */
    void *watcher;
    bool told, taken; /* in this walk: watch->ready was called; it takes the gradient */
};

/* A tensor argument of a recorded op. */
typedef struct gp_input {
    gp_node *node; /* the node that made it; or */
    gp_leaf *leaf; /* the leaf where its gradient accumulates; neither: it needs none */
    uint8_t output;
    uint8_t dtype;
    bool need;
    bool tensor; /* false: a number operand */
    bool contiguous;
    gp_shape shape;
    gp_device *dev;
    gp_tensor *saved; /* without history: a write in place changes the tensor's; NULL: not needed */
    uint32_t version; /* of the storage when it was saved */
} gp_input;

typedef struct gp_output {
    uint8_t dtype;
    gp_shape shape;
    gp_device *dev;
    gp_tensor *saved; /* without history: a node that held its own output would never be freed */
    uint32_t version;
    gp_tensor *g; /* during backward: the gradient so far */
    bool own;     /* nobody else holds g: it may be written in place */
} gp_output;

struct gp_node {
    int refs;
    bool queued, freed;
    bool walked;   /* a backward has passed */
    bool small;    /* of the size of tape.c's spare nodes */
    bool nan;      /* a result was NaN when recorded under detect_anomaly */
    uint64_t mark; /* the walk that has counted its inputs' edges */
    uint64_t seq;  /* per thread: a node comes after those of its inputs */
    const gp_op *op;
    const gp_rule *rule;
    gp_stream *stream;  /* of the forward op, and of its backward; NULL: no output yet */
    gp_srcloc loc;      /* the source line of the forward op */
    const char *module; /* whose op it was, as gp_watch knows it; NULL: not watched */
    int nargs, nints, nin, nout;
    gp_value *arg; /* tensors: .i is the number of the (first) input */
    int64_t *ints;
    gp_input *in;
    gp_output out[GP_MAX_OUT];
    gp_grad_hook *hooks;
    gp_node *next;          /* when being freed */
    uint64_t seed, counter; /* of a random op */
    void *ctx;              /* of a node that Lua made: its backward function */
    void (*drop)(void *ctx);
};

/* Set once a tensor with requires_grad exists: until then no op checks for it. */
extern _Atomic bool gp_grad_live;
/* Set once a leaf has a watcher: until then backward does not count edges. */
extern _Atomic bool gp_grad_watched;
/* no_grad: nothing is recorded on this thread while it is above 0. */
extern _Thread_local int gp_no_grad;

/* Begin and end the record of c around its run. begin reads the arguments as they were given; *node
 * is NULL where nothing needs gradients. end takes over the node, and makes the results its
 * outputs. False with a message (a leaf written in place). */
bool gp_tape_begin(gp_call *c, gp_node **node);
bool gp_tape_end(gp_node *node, gp_call *c);

/* The variables of d->vars that the formula of d (an op of GP_GRAD) mentions, as a bit mask;
 * computed once. */
unsigned gp_formula_variables(const gp_op *d);

/* Nodes belong to one thread: counts are not atomic. */
gp_node *gp_node_ref(gp_node *n);
void gp_node_unref(gp_node *n); /* NULL is fine; frees chains of any length */
/* Frees what n saved: a later backward through it fails. */
void gp_node_free_saved(gp_node *n);
/* A node with room for n inputs and the outputs of t; it has no inputs yet. NULL when out of
 * memory. */
gp_node *gp_node_new(const gp_op *op, const gp_rule *rule, int nargs, int nints, int nin);
/* Makes t input i of n, which then holds a reference to the node or leaf that t comes from, but not
 * to t: see gp_input.saved. */
void gp_node_input(gp_node *n, int i, gp_tensor *t);
/* Makes t output i of n: a float t holds a reference to n from now on. */
void gp_node_output(gp_node *n, int i, gp_tensor *t);

/* t's node, brought up to date where t is a view of a tensor that was written since. */
gp_node *gp_tensor_node(gp_tensor *t);
/* Whether ops on t are recorded (no_grad aside): it is a leaf that requires a gradient, or the
 * result of one. */
bool gp_tensor_wants_grad(gp_tensor *t);
/* gp_to_device (op.h), recorded as the op `to` where x needs a gradient. */
gp_tensor *gp_to_device_recorded(gp_tensor *x, gp_device *dev, bool non_blocking, gp_why why,
                                 const char *what);
bool gp_tensor_set_requires_grad(gp_tensor *t, bool on);
/* t's leaf, made on demand. NULL when out of memory. */
gp_leaf *gp_tensor_leaf(gp_tensor *t);
void gp_leaf_unref(gp_leaf *l);
/* Releases t's part in the tape: called when t dies, and by detach_. */
void gp_tensor_drop_history(gp_tensor *t);

#endif
