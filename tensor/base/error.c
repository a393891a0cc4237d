/* Failure text: one message per thread. */
#include "tensor/base/error.h"
#include "tensor/base/interrupt.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[1024];
gp_flag gp_interrupted;
void (*volatile gp_on_interrupt)(void);
_Thread_local bool gp_was_interrupted;

bool gp_fail(const char *fmt, ...) {
    char text[sizeof message]; /* the arguments may point into the old message */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(message, sizeof message, "%s", text);
    return false;
}

const char *gp_error(void) { return message; }

void gp_error_clear(void) { message[0] = 0; }
