/* Rows of what devices did, by kernel, and what kernels' names say: whether they use tensor cores.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/show/rows.h"
#include "profile/show/usage.h"
#include "profile/show/waves.h"

/* ---- tensor cores ---- */

/* Parts of names, with which a kernel multiplies on tensor cores (AMD: matrix cores): all of those
 * before `without`, which must not be there. */
static const struct name_rule {
    const char *part, *also, *without;
} rules[] = {
    /* cuBLAS, cuDNN and CUTLASS name the instruction: the type of the sum, m, n and k. */
    {"s884", "", NULL},
    {"h884", "", NULL},
    {"d884", "", NULL},
    {"s1688", "", NULL},
    {"h1688", "", NULL},
    {"c1688", "", NULL},
    {"s16816", "", NULL},
    {"h16816", "", NULL},
    {"i8816", "", NULL},
    {"i16832", "", NULL},
    {"i8832", "", NULL},
    {"tensorop_", "", NULL},
    {"OpClassTensorOp", "", NULL},
    {"OpClassWmmaTensorOp", "", NULL},
    {"hmma_", "", NULL},
    {"_imma", "", NULL},
    {"wmma", "", NULL},
    {"wgmma", "", NULL},
    {"GMMA::", "", NULL},
    {"SM75_16x8x", "", NULL},
    {"SM80_16x8x", "", NULL},
    {"SM100_MMA", "", NULL},
    {"tcgen05", "", NULL},
    {"xmma_", "", "ffma"},
    {"nvjet_", "", NULL},
    /* attention of FlashAttention, in f16 and bf16 only, and of CUTLASS */
    {"flash_fwd", "kernel", "combine"},
    {"flash_bwd_dq_dk_dv", "", NULL},
    {"fmha_cutlass", "f16_", "sm50"},
    {"bmm_", "_sm100", NULL}, /* TensorRT-LLM's */
    /* AMD: Tensile's instruction, Composable Kernel's and rocWMMA's */
    {"Cijk_", "_MI16x16", NULL},
    {"Cijk_", "_MI32x32", NULL},
    {"Cijk_", "_MI4x4", NULL},
    {"mfma", "", NULL},
    {"_xdl", "", NULL},
};

bool gp_kernel_on_tensor_cores(const char *name) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct name_rule *rule = &rules[i];
        if (strcasestr(name, rule->part) && strcasestr(name, rule->also) &&
            !(rule->without && strcasestr(name, rule->without)))
            return true;
    }
    return false;
}

/* ---- rows ---- */

static const char *name_of(const gp_rec *r) {
    return r->kind == GP_REC_KERNEL && r->kernel ? r->kernel : r->name;
}

static int by_name(const void *a, const void *b) {
    const gp_rec *x = *(const gp_rec *const *)a, *y = *(const gp_rec *const *)b;
    uintptr_t p = (uintptr_t)name_of(x), q = (uintptr_t)name_of(y);
    if (p != q) return p < q ? -1 : 1;
    if (x->kind != y->kind) return x->kind - y->kind;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* The work of p by name, and its number; NULL: no memory, or stopped. */
static const gp_rec **gather(const gp_prof *p, int *n) {
    const gp_rec **work =
        malloc(((size_t)gp_count_recs(p->workers, gp_rec_is_work) + 1) * sizeof *work);
    *n = 0;
    for (const gp_track *t = work ? p->workers : NULL; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) {
            if (gp_prof_stops((uint64_t)*n + 1)) return free(work), NULL;
            if (gp_rec_is_work(r)) work[(*n)++] = r;
        }
    }
    if (work) qsort(work, (size_t)*n, sizeof *work, by_name);
    return work;
}

static void add(const gp_prof *p, gp_row *row, const gp_rec *r) {
    uint64_t ns = r->t1 - r->t0;
    if (!row->rec) {
        bool kernel = r->kind == GP_REC_KERNEL;
        *row = (gp_row){.rec = r, .wave = gp_waves_of(p, r->kernel), .shortest = ns};
        row->on_tensor_cores =
            kernel && !gp_rec_is_collective(r) && gp_kernel_on_tensor_cores(name_of(r));
    }
    row->calls++;
    row->self[GP_DEV] += (int64_t)ns;
    row->total[GP_DEV] += (int64_t)ns;
    if (ns < row->shortest) row->shortest = ns;
    if (ns > row->longest) row->longest = ns;
}

/* Whether work i of the list is of another row than the one before it. */
static bool begins_row(const gp_rec *const *work, int i) {
    return !i || name_of(work[i - 1]) != name_of(work[i]) || work[i - 1]->kind != work[i]->kind;
}

bool gp_kernel_rows(const gp_prof *p, gp_rows *rows, int more) {
    int n, made = 0;
    const gp_rec **work = gather(p, &n);
    if (!work) return false;
    for (int i = 0; i < n; i++) made += begins_row(work, i);
    gp_row *row = realloc(rows->row, (size_t)(made + more) * sizeof *row);
    if (!row) return free(work), false;
    rows->row = row;
    for (int i = 0; i < n; i++) {
        if (begins_row(work, i)) rows->row[rows->n++] = (gp_row){0};
        add(p, &rows->row[rows->n - 1], work[i]);
    }
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].on_tensor_cores) rows->on_tensor_cores += rows->row[i].self[GP_DEV];
    free(work);
    return true;
}
