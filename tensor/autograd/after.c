/* What is called when a backward walk is over. */
#include "tensor/autograd/after.h"

#include "tensor/autograd/grad.h"

static _Thread_local struct after {
    bool (*fn)(void *ctx, bool ok);
    void *ctx;
    int walks; /* under way: a hook may start another */
} after;

bool gp_backward_after(bool (*fn)(void *ctx, bool ok), void *ctx) {
    if (!after.walks || after.fn) return false;
    after.fn = fn, after.ctx = ctx;
    return true;
}

void gp_walk_begin(void) { after.walks++; }

bool gp_walk_end(bool ok) {
    bool (*fn)(void *, bool) = after.fn;
    if (--after.walks || !fn) return ok;
    after.fn = NULL;
    return fn(after.ctx, ok) && ok;
}
