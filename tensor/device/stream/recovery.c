/* A thread's recovery point after a crash. */
#include "tensor/device/stream/recovery.h"

#include "tensor/device/stream/thread.h"

_Thread_local gp_rescue *gp_rescue_here;

void gp_rescue_begin(gp_rescue *r) {
    gp_handler_stack();
    gp_rescue_here = r;
}

void gp_rescue_end(void) { gp_rescue_here = NULL; }
