/* The form of a wait: what the advice against it has to know besides the reason and the call that
 * waits. Whoever knows it sets it around the wait: the type of the parameter that needs a number
 * ("shape", as sig.def names them), the memory of a copy ("H2D pageable", by transfer.c), "literal"
 * for numbers that a script writes down, "model" for one that moves, "bound" for a slice's, "sort"
 * and "assert" for who reads a truth, "arrival" for a copy to the host that has not come yet. */
#ifndef GP_FORM_H
#define GP_FORM_H

/* Of this thread's next waits, a text that is never freed; NULL: nothing more is known. */
extern _Thread_local const char *gp_wait_form;

/* Sets the form and returns the one before, which the caller sets again after the wait. */
static inline const char *gp_wait_form_set(const char *form) {
    const char *before = gp_wait_form;
    gp_wait_form = form;
    return before;
}

#endif
