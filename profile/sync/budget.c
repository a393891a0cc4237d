/* Budgets of waits: whether a scope's waits exceed it, and the sentence that says so. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/record/kind.h"
#include "profile/sync/sync.h"
#include "tensor/base/safe_text.h"

bool gp_scope_over(const gp_scope *s) {
    return s->kind == GP_SCOPE_BUDGET && (s->waits > s->max || s->wait_ns > s->stall_ns);
}

/* The lines that waited in the scope, as far as it remembers them. */
static void write_lines(FILE *f, const gp_scope *s) {
    char file[200], took[32];
    for (int i = 0; i < s->nlines; i++) {
        const char *name =
            s->line[i].loc.file ? gp_safe_text(s->line[i].loc.file, file, sizeof file) : "?";
        fprintf(f, "%s %s:%d %s", i ? "," : ":", name, s->line[i].loc.line, s->line[i].what);
        if (s->line[i].times > 1) fprintf(f, " x%llu", (unsigned long long)s->line[i].times);
        fprintf(f, " (%s)", gp_time_text((double)s->line[i].wait_ns, took, sizeof took));
    }
    if (s->nlines == GP_SCOPE_LINES) fputs(", ...", f);
}

char *gp_scope_text(const gp_scope *s) {
    char *text = NULL, file[160], took[32], kind[GP_KIND_TEXT];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    if (s->opened.file)
        fprintf(f, "%s:%d: ", gp_safe_text(s->opened.file, file, sizeof file), s->opened.line);
    fprintf(f, "sync.budget: the host waited %llu time%s", (unsigned long long)s->waits,
            s->waits == 1 ? "" : "s");
    if (s->max < UINT64_MAX) fprintf(f, ", at most %llu allowed", (unsigned long long)s->max);
    fprintf(f, ", %s in all (%s)", gp_time_text((double)s->wait_ns, took, sizeof took),
            gp_kind_now(s->sim, kind));
    if (s->stall_ns < UINT64_MAX)
        fprintf(f, ", at most %s allowed", gp_time_text((double)s->stall_ns, took, sizeof took));
    write_lines(f, s);
    if (!fclose(f)) return text;
    free(text);
    return NULL;
}

static atomic_bool missed;

void gp_scope_missed(const gp_scope *s) {
    char *text = gp_scope_text(s);
    fprintf(stderr, "gpush: %s\n", text ? text : "sync.budget: out of memory");
    free(text);
    atomic_store(&missed, true);
}

bool gp_scope_missed_any(void) { return atomic_exchange(&missed, false); }
