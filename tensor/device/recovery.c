/* A thread's recovery point after a crash. */
#include "tensor/device/recovery.h"

#include <stdlib.h>

_Thread_local gp_rescue *gp_rescue_here;

/* A sanitizer has given the thread a handler stack, which it removes itself. */
void gp_rescue_begin(gp_rescue *r) {
    enum { BYTES = 1 << 16 };
    sigaltstack(NULL, &r->before);
    r->stack = r->before.ss_flags & SS_DISABLE ? malloc(BYTES) : NULL;
    if (r->stack) sigaltstack(&(stack_t){.ss_sp = r->stack, .ss_size = BYTES}, NULL);
    gp_rescue_here = r;
}

void gp_rescue_end(gp_rescue *r) {
    gp_rescue_here = NULL;
    if (r->stack) sigaltstack(&r->before, NULL);
    free(r->stack);
}
