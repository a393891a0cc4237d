/* The list of a thread's interceptors, and telling them: see intercept.h. */
#include "tensor/intercept.h"

_Thread_local gp_interceptor *gp_intercepting;

void gp_intercept(gp_interceptor *i, bool on) {
    gp_interceptor **at = &gp_intercepting;
    while (*at && (*at)->order < i->order) at = &(*at)->next;
    bool there = *at && *at == i;
    if (on && !there) i->next = *at, *at = i;
    if (!on && there) *at = i->next;
}

bool gp_intercept_at(gp_moment m, const char *what, void *of) {
    for (const gp_interceptor *i = gp_intercepting; i; i = i->next)
        if (i->at && !i->at(m, what, of)) return false;
    return true;
}

unsigned gp_intercept_keeps(void) {
    unsigned bits = 0;
    for (const gp_interceptor *i = gp_intercepting; i; i = i->next) bits |= i->keeps;
    return bits;
}
