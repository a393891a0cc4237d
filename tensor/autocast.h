/* Autocast: scopes in which ops choose their dtype, as torch.autocast's. Products run in 16 bits,
 * what needs range or precision in f32 (gp_cast_rule of the op's row). Arguments are converted by
 * recorded ops, so gradients flow back in the dtype of what was given. */
#ifndef GP_AUTOCAST_H
#define GP_AUTOCAST_H

#include "tensor/op.h"

/* A scope; the caller keeps it where it is from open to close. It holds where its coroutine runs,
 * or what that one resumed. */
typedef struct gp_autocast {
    bool enabled;    /* ops convert; false: they do not, as outside */
    uint8_t dtype;   /* gp_dtype: f16 or bf16 */
    bool cached;     /* conversions of parameters are kept until the outermost scope ends */
    bool separate;   /* it shares no cache with the scope around it */
    void *coroutine; /* NULL: none */
    /* The rest is gp_autocast_open's. */
    bool open;
    int paused; /* of the thread, outside */
    struct gp_autocast *outer;
    struct gp_casts *casts;
} gp_autocast;

/* This thread's open scopes, the innermost first; while paused is above 0 none holds. */
typedef struct gp_autocasts {
    gp_autocast *scopes;
    int paused;
} gp_autocasts;
extern _Thread_local gp_autocasts gp_autocast_thread;

/* How many coroutines that a scope's one resumed, each by the one before, run here; -1: it does not
 * run. Set by the bindings; NULL: 0. */
extern int (*gp_autocast_depth)(void *coroutine);

/* Opens s, whose first five fields are set. False with a message where memory is short. */
bool gp_autocast_open(gp_autocast *s);
/* Closes s, in any order with others, and once: the innermost scope left holds from here on. */
void gp_autocast_close(gp_autocast *s);
/* The scope that holds here, the innermost of the innermost coroutine that has one; NULL: none. */
gp_autocast *gp_autocast_current(void);

/* Drops what the open scopes' caches hold: later ops convert parameters again. */
void gp_autocast_forget(void);

/* Ops neither convert nor look for a scope until as many ends: in ops that run ops, and in
 * backward. */
static inline void gp_autocast_pause(void) { gp_autocast_thread.paused++; }
static inline void gp_autocast_resume(void) { gp_autocast_thread.paused--; }
static inline bool gp_autocast_on(void) {
    return gp_autocast_thread.scopes && !gp_autocast_thread.paused;
}

#endif
