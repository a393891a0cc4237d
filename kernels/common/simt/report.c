/* What the checks found, in words: kernel, line, block, thread, element, and the other access. */
#include "kernels/common/simt/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 160, WHO = 100, WHAT = 160 };

/* ---- places and threads ---- */

const char *gp_simt_line_text(const gp_simt_module *m, int line, char *buf, size_t n) {
    if (!line) snprintf(buf, n, "a line that is not known");
    else if (m->file && m->line) snprintf(buf, n, "%.120s:%d", m->file, m->line + line - 1);
    else snprintf(buf, n, "line %d", line);
    return buf;
}

const char *gp_simt_place_text(const gp_simt_module *m, const void *pc, char *buf, size_t n) {
    uint64_t at = pc ? (uint64_t)((const char *)pc - m->base - 1) : 0;
    return gp_simt_line_text(m, pc ? gp_simt_line_at(&m->lines, at) : 0, buf, n);
}

/* An access keeps its place as an offset. */
static const char *place_of(const gp_simt_module *m, gp_access a, char *buf) {
    return gp_simt_place_text(m, m->base + a.pc, buf, LINE);
}

/* "3", "3,1" or "3,1,0": as many numbers as dims that are not 1. */
static int triple(char *buf, size_t n, uint64_t at, gp_uint3 dim) {
    unsigned x = (unsigned)(at % dim.x), y = (unsigned)(at / dim.x % dim.y),
             z = (unsigned)(at / dim.x / dim.y);
    if (dim.z > 1) return snprintf(buf, n, "%u,%u,%u", x, y, z);
    if (dim.y > 1) return snprintf(buf, n, "%u,%u", x, y);
    return snprintf(buf, n, "%u", x);
}

const char *gp_simt_thread_text(const gp_simt_launch *l, int64_t block, int thread, char *buf,
                                size_t n) {
    char b[40], t[40];
    triple(b, sizeof b, (uint64_t)block, l->grid);
    triple(t, sizeof t, (uint64_t)thread, l->block);
    snprintf(buf, n, "block %s thread %s", b, t);
    return buf;
}

/* ---- elements ---- */

/* How far p is from n elements of that size at lo. An index of 32 bits that went below 0 counts as
 * near. */
static uint64_t distance(const char *p, const char *lo, uint64_t bytes, uint64_t size) {
    uint64_t at = (uint64_t)(p - lo) / size, wrapped = (uint64_t)1 << 32;
    if (p >= lo && p < lo + bytes) return 0;
    if (p > lo && at < wrapped && wrapped - at < 1 << 20) return (wrapped - at) * size;
    return p < lo ? (uint64_t)(lo - p) : (uint64_t)(p - lo) - bytes + 1;
}

typedef struct nearest {
    const char *p;
    uint64_t far;
    char *text;
} nearest;

/* Says "element 7 of 'x'", of elements at lo, if those are the nearest so far. */
static void consider(nearest *n, const char *name, const char *lo, uint64_t bytes, uint64_t size) {
    int64_t by = n->p - lo, s = (int64_t)size;
    uint64_t far = distance(n->p, lo, bytes, size), farthest = (uint64_t)1 << 38;
    if (far >= n->far || far > farthest) return;
    n->far = far;
    snprintf(n->text, WHAT, "element %lld of %s (%llu elements)",
             (long long)(by >= 0 ? by / s : -((-by + s - 1) / s)), name,
             (unsigned long long)(bytes / size));
}

static uint64_t at_most(uint64_t size, uint64_t limit) {
    if (size > limit) size = limit;
    return size ? size : 1;
}

static void consider_variables(const gp_check *c, const gp_area *a, nearest *n, uint64_t size) {
    const gp_simt_module *m = c->launch->kernel->module;
    char name[WHAT / 2];
    for (int i = 0; i < m->symbols.n; i++) {
        const gp_simt_symbol *row = &m->symbols.row[i];
        if (row->guard || (a && a != (row->shared ? &c->statics : &c->data))) continue;
        snprintf(name, sizeof name, "%s'%s'", row->shared ? "shared " : "", row->name);
        consider(n, name, row->shared ? c->statics.lo + row->at : m->base + row->at, row->size,
                 at_most(size, row->size));
    }
}

/* Names the element that is nearest to p, in the area, or in any. */
static const char *element_text(const gp_runner *r, const gp_area *a, const char *p,
                                unsigned long size, char *buf) {
    const gp_check *c = r->check;
    int thread = r->f.current ? r->f.current->thread : 0;
    nearest n = {p, UINT64_MAX, buf};
    char name[WHAT / 2];
    snprintf(buf, WHAT, "address %p, which is in no argument or variable", (const void *)p);
    for (int i = 0; i < c->launch->ntensors; i++) {
        const gp_simt_tensor *t = &c->launch->tensor[i];
        if (a && a != &c->area[c->of[i] + 1]) continue;
        snprintf(name, sizeof name, "'%s'", t->name);
        consider(&n, name, c->at[i], t->bytes, at_most((uint64_t)t->size, 16));
    }
    if (a == &c->area[0]) consider(&n, "the dynamic shared memory", a->lo, a->bytes, size);
    consider_variables(c, a, &n, size);
    for (const gp_simt_own *o = a ? NULL : c->own[thread]; o; o = o->outer) {
        snprintf(name, sizeof name, "'%s'", o->name);
        consider(&n, name, o->lo, o->bytes, at_most(o->size, o->bytes));
    }
    return buf;
}

/* ---- findings ---- */

static const char *running(const gp_runner *r, char *buf) {
    return gp_simt_thread_text(r->launch, r->block, r->f.current->thread, buf, WHO);
}

void gp_report_fault(gp_runner *r, int sig, const void *at) {
    char line[LINE], who[WHO];
    const char *what = "an address that is not there (check = true says whose element it is),";
    if (sig == SIGFPE) what = "division of an integer by 0, or of the least one by -1,";
    else if (r->full) what = "more than 252 KB of local variables, or endless recursion,";
    else if (r->check) what = "an address that is not there";
    gp_simt_place_text(r->launch->kernel->module, (const char *)at + 1, line, sizeof line);
    gp_fibers_fail(&r->f, "%s at %s, %s", what, line, running(r, who));
}

void gp_report_outside(gp_runner *r, const gp_area *a, const char *p, unsigned long size,
                       bool write, const void *pc) {
    char line[LINE], who[WHO], what[WHAT];
    gp_simt_place_text(r->launch->kernel->module, pc, line, sizeof line);
    if ((uintptr_t)p < 4096)
        gp_fibers_fail(&r->f, "%s through a null pointer at %s, %s", write ? "write" : "read", line,
                       running(r, who));
    gp_fibers_fail(&r->f, "out of bounds %s at %s, %s: %s", write ? "write" : "read", line,
                   running(r, who), element_text(r, a, p, size, what));
}

void gp_report_unwritten(gp_runner *r, const char *p, unsigned long size, const void *pc) {
    char line[LINE], who[WHO], what[WHAT];
    gp_fibers_fail(&r->f, "read of the thread's own array before a write at %s, %s: %s",
                   gp_simt_place_text(r->launch->kernel->module, pc, line, sizeof line),
                   running(r, who), element_text(r, NULL, p, size, what));
}

void gp_report_misaligned(gp_runner *r, const gp_area *a, const char *p, unsigned long size,
                          bool write, const void *pc) {
    char line[LINE], who[WHO], what[WHAT];
    gp_fibers_fail(&r->f, "misaligned %s of %lu bytes at %s, %s: %s is at no multiple of %lu",
                   write ? "write" : "read", size,
                   gp_simt_place_text(r->launch->kernel->module, pc, line, sizeof line),
                   running(r, who), element_text(r, a, p, size, what), size);
}

void gp_report_const(gp_runner *r, const gp_area *a, const char *p, unsigned long size,
                     const void *pc) {
    char line[LINE], who[WHO], what[WHAT];
    gp_fibers_fail(&r->f, "write to a const %s at %s, %s: %s",
                   a->variable ? "variable" : "argument",
                   gp_simt_place_text(r->launch->kernel->module, pc, line, sizeof line),
                   running(r, who), element_text(r, a, p, size, what));
}

void gp_report_waits(gp_runner *r, const char *p, unsigned long size, const void *pc) {
    char line[LINE], who[WHO], what[WHAT];
    gp_simt_place_text(r->launch->kernel->module, pc, line, sizeof line);
    gp_fibers_fail(
        &r->f, "waits without end at %s, %s: no thread of the block that can go on writes %s", line,
        running(r, who), element_text(r, gp_check_area(r->check, p), p, size, what));
}

/* Whether one of them is atomic and one not, though a read of a volatile word is as good as one. */
static bool is_mixed(gp_access old, gp_access new, int what) {
    if (what == 0) return old.atomic && !new.atomic;
    return new.atomic != old.atomic && (what == 2 || new.atomic);
}

/* Says that nothing orders `old` and `new`, in n bytes. */
static void race_text(const gp_runner *r, const gp_area *a, const gp_word *cell, gp_access old,
                      gp_access new, int what, char *buf, size_t n) {
    static const char *const kinds[] = {"read after a write", "write after a read",
                                        "write after a write"};
    const gp_simt_module *m = r->launch->kernel->module;
    const gp_check *c = r->check;
    char line[LINE], other[LINE], who[WHO], whom[WHO], which[WHAT];
    int64_t block = gp_check_block_at(c, old.time, r->block);
    const char *p = gp_cell_address(a, cell) + __builtin_ctz(new.mask | 16);
    snprintf(buf, n, "race at %s, %s: %s by %s at %s%s; %s; %s", place_of(m, new, line),
             gp_simt_thread_text(r->launch, r->block, new.thread, who, sizeof who),
             kinds[old.wrote ? 2 : what],
             gp_simt_thread_text(r->launch, block, old.thread, whom, sizeof whom),
             place_of(m, old, other),
             is_mixed(old, new, what) ? ", one of them atomic and one not" : "",
             block == r->block ? "no barrier between" : "nothing orders blocks",
             element_text(r, a, p, 4, which));
}

void gp_report_race(gp_runner *r, const gp_area *a, const gp_word *cell, gp_access old,
                    gp_access new, int what) {
    char text[sizeof r->f.text];
    race_text(r, a, cell, old, new, what, text, sizeof text);
    gp_fibers_fail(&r->f, "%s", text);
}

static void rewrite_text(const gp_runner *r, char *buf, size_t n) {
    const gp_rewrite *w = &r->check->rewrite;
    uint32_t bytes = 0, there;
    race_text(r, w->area, w->cell, w->old, w->write, 2, buf, n);
    for (int i = 0; i < 4; i++) bytes |= w->write.mask >> i & 1 ? 0xffu << 8 * i : 0;
    memcpy(&there, gp_cell_address(w->area, w->cell), sizeof there);
    size_t used = strlen(buf);
    if (!((there ^ w->before) & bytes))
        snprintf(buf + used, n - used,
                 "; both write the same value, which one thread, or atomicExch, "
                 "may do");
}

void gp_report_rewrite(gp_runner *r) {
    char text[sizeof r->f.text];
    rewrite_text(r, text, sizeof text);
    gp_fibers_fail(&r->f, "%s", text);
}

bool gp_check_written(gp_runner *r) {
    const gp_unwritten *u = &r->check->unwritten;
    const gp_guess *g = r->check->guess;
    char line[LINE], who[WHO], what[WHAT];
    if (r->check->rewrite.area) {
        rewrite_text(r, r->f.text, sizeof r->f.text);
        return false;
    }
    if (r->check->nguesses) {
        race_text(r, g->area, g->cell, g->old, g->read, 0, r->f.text, sizeof r->f.text);
        return false;
    }
    if (!u->area) return true;
    snprintf(r->f.text, sizeof r->f.text,
             "read of shared memory that the block has not written at %s, %s: %s",
             place_of(r->launch->kernel->module, u->read, line),
             gp_simt_thread_text(r->launch, r->block, u->read.thread, who, sizeof who),
             element_text(r, u->area, gp_cell_address(u->area, u->cell), 4, what));
    return false;
}
