/* Where the script was outside of ops and calls, by the frames of Python around: each stretch of
 * time in one function and line becomes a sample that stands for as many ns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/builder.h"
#include "profile/show/rows.h"

enum { LONGEST = 1000000000 }; /* ns of a sample, which a saved profile keeps in 32 bits */

int kineto_python_at(const kineto_builder *b, int depth, int64_t t) {
    int i = depth ? b->open[depth - 1].python : -1;
    while (i >= 0 && kineto_end(b->open[i].e) <= t) i = i ? b->open[i - 1].python : -1;
    return i;
}

/* The innermost op or call that runs at t and in which no function of the user's does, as one does
 * in that of a torch.autograd.Function; NULL: none. */
static const kineto_event *op_at(const kineto_builder *b, int64_t t) {
    for (int i = b->depth - 1; i >= 0; i--) {
        const kineto_event *e = b->open[i].e;
        if (kineto_end(e) <= t) continue;
        if (e->kind == KINETO_OP || e->kind == KINETO_CALL) return e;
        if (e->kind == KINETO_PYTHON && e->stack) return NULL;
    }
    return NULL;
}

bool kineto_in_op(const kineto_builder *b, int64_t t) { return op_at(b, t) != NULL; }

/* The innermost function of the user's that runs at t, below the frame `python`; NULL: none. */
static const kineto_event *function_at(const kineto_builder *b, int python, int64_t t) {
    for (int i = python; i >= 0; i = kineto_python_at(b, i, t))
        if (b->open[i].e->stack) return b->open[i].e;
    return NULL;
}

/* "work (train.py:12)", "<module> (train.py)"; NULL without memory. */
static const char *name_of(kineto_builder *b, const kineto_event *function) {
    const gp_frame *frame = &function->stack->frame[0];
    const char *name = strstr(function->name, "): ");
    char text[400];
    char line[13];
    bool module = name && !strcmp(name + 3, "<module>"); /* it has no line of its own */
    int n = snprintf(text, sizeof text, "%s (%s%s%s)", name ? name + 3 : "?", frame->file,
                     module ? "" : ":", module ? "" : gp_line_text(abs(frame->line), line));
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    const char *kept = gp_intern_add(b->p->names, text, (size_t)n);
    if (!kept) kineto_no_memory(b);
    return kept;
}

bool kineto_script_flush(kineto_builder *b) {
    int64_t begin = b->at - b->script_ns;
    const char *name = b->library;
    if (b->script_ns && !name && !(name = name_of(b, b->function))) return false;
    for (int64_t ns; b->script_ns > 0; b->script_ns -= ns) {
        ns = b->script_ns < LONGEST ? b->script_ns : LONGEST;
        begin += ns;
        /* within what encloses it, also where that ends with it */
        const kineto_event at = {.t0 = begin - 1, .name = name};
        gp_rec *r = kineto_append(b, b->track, &at, GP_REC_SAMPLE);
        if (!r) return false;
        r->bytes = ns;
        r->stack = b->script;
        r->file = r->stack->frame[0].file, r->line = r->stack->frame[0].line;
        b->p->period = 1;
    }
    return true;
}

/* Up to t the thread was in what is open now. */
static bool go_on(kineto_builder *b, int64_t t) {
    int python = kineto_python_at(b, b->depth, b->at);
    const kineto_event *op = op_at(b, b->at);
    const kineto_event *function = op ? NULL : function_at(b, python, b->at);
    bool script = function && !b->open[python].profiles;
    const gp_stack *stack = script ? b->open[python].stack : NULL;
    if (stack && !stack->n) stack = NULL;
    const char *library = stack ? b->open[python].library : NULL;
    bool same = stack == b->script && library == b->library &&
                (!stack || function->name == b->function->name);
    if (!same && !kineto_script_flush(b)) return false;
    b->script = stack, b->function = function, b->library = library;
    if (stack) b->script_ns += t - b->at;
    b->at = t;
    return true;
}

/* When the first of the open regions ends after b->at, at most t. */
static int64_t region_end(const kineto_builder *b, int64_t t) {
    int i = b->depth ? b->open[b->depth - 1].region : -1;
    for (; i >= 0; i = i ? b->open[i - 1].region : -1) {
        int64_t end = kineto_end(b->open[i].e);
        if (end > b->at && end < t) t = end;
    }
    return t;
}

bool kineto_script_until(kineto_builder *b, int64_t t) {
    while (b->is_main && b->at < t) {
        int python = kineto_python_at(b, b->depth, b->at);
        const kineto_event *op = op_at(b, b->at);
        int64_t region = region_end(b, t), until = region;
        if (python >= 0 && kineto_end(b->open[python].e) < until)
            until = kineto_end(b->open[python].e);
        if (op && kineto_end(op) < until) until = kineto_end(op);
        if (!go_on(b, until)) return false;
        if (until == region && region < t && !kineto_script_flush(b)) return false;
    }
    return true;
}
