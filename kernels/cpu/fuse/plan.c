/* Prepares a program: the loop of each step, the conversions around it, and slots for results. */
#include "kernels/cpu/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static void fill_block(char *to, gp_dtype dt, const gp_value *v) {
    size_t size = gp_dtype_size(dt);
    gp_scalar_store(dt, to, gp_value_scalar(v));
    for (size_t i = 1; i < GP_BLOCK; i++) memcpy(to + i * size, to, size);
}

static int count_numbers(const gp_program *p) {
    int n = 0;
    for (int k = 0; k < p->nsteps; k++)
        for (int i = 0; i < p->step[k].nin; i++) n += p->step[k].arg[i].kind != GP_TENSOR;
    return n;
}

/* ---- steps ---- */

static gp_dtype dtype_of(const gp_program *p, int v) {
    return (gp_dtype)(v < p->ninputs ? p->dtype[v] : p->step[v - p->ninputs].dtype);
}

/* Only the lowest bit of an inverted bool counts: ~1 is -2 in compute type. */
static void store_inverted(char *dst, int64_t step, const void *src, int64_t n) {
    const int32_t *s = src;
    for (int64_t i = 0; i < n; i++) *(uint8_t *)(dst + i * step) = s[i] & 1;
}

/* Operands in compute type; a result in the row's own. */
static void set_formula(fuse_step *f, const gp_program *p, const gp_step *s) {
    gp_call c;
    gp_call_begin(&c, s->op);
    memcpy(c.arg, s->arg, s->nargs * sizeof *c.arg);
    c.nargs = s->nargs;
    c.compute = s->compute;
    f->fn = s->op->kind == GP_GRAD ? gp_derivative_loop(&c) : gp_elementwise_loop(&c);
    f->fault = s->op->fault;
    bool truth = s->op->types & GP_T_BOOL;
    gp_dtype type = (gp_dtype)gp_ctype_dtype[f->ct], result = truth ? GP_bool : type;
    for (int i = 0; i < s->nin; i++) {
        gp_dtype dt = f->in[i].number ? type : dtype_of(p, f->in[i].value);
        if (dt != type) f->in[i].load = gp_load_fn(dt, f->ct);
    }
    if (s->op->lowest_bit && s->compute == GP_bool) f->store = store_inverted;
    else if (s->dtype != result)
        f->store =
            truth ? gp_bool_store((gp_dtype)s->dtype) : gp_store_fn(f->ct, (gp_dtype)s->dtype);
    bool parameters = s->op->kind == GP_PARAM || s->op->kind == GP_GRAD;
    for (int i = 0; parameters && i < 3; i++) f->par[i] = gp_step_parameter(s, i);
}

/* From dtype to dtype by a compute type that loses nothing. */
static void set_conversion(fuse_operand *o, gp_dtype from, gp_dtype to) {
    if (from == to) return;
    gp_ctype ct = gp_cast_type(from, to);
    o->load = gp_load_fn(from, ct);
    o->store = gp_store_fn(ct, to);
}

static void set_form(fuse_step *f, const gp_program *p, const gp_step *s) {
    gp_dtype to = (gp_dtype)s->dtype;
    for (int i = f->form == GP_FUSE_WHERE; f->form != GP_FUSE_DROP && i < s->nin; i++)
        if (!f->in[i].number) set_conversion(&f->in[i], dtype_of(p, f->in[i].value), to);
    if (f->form != GP_FUSE_DROP) return;
    f->p = s->arg[2].i ? (float)s->arg[1].f : 0;
    f->scale = 1 / (1 - (s->arg[2].i ? s->arg[1].f : 0));
    if (to == gp_ctype_dtype[f->ct]) return;
    f->drop_load = gp_load_fn(to, f->ct);
    f->drop_store = gp_store_fn(f->ct, to);
}

static void set_step(fuse_step *f, const gp_program *p, const gp_step *s, char **numbers) {
    *f = (fuse_step){.form = (gp_fuse_form)s->op->fuses,
                     .next = (int16_t)(s - p->step + 1),
                     .op = s->op,
                     .nin = s->nin,
                     .size = gp_dtype_sizes[s->dtype],
                     .random = s->random,
                     .ct = gp_compute_type((gp_dtype)s->compute)};
    gp_dtype type = (gp_dtype)(f->form ? s->dtype : gp_ctype_dtype[f->ct]);
    for (int i = 0; i < s->nin; i++) {
        f->in[i].value = (int16_t)s->arg[i].i;
        if (s->arg[i].kind == GP_TENSOR) continue;
        fill_block(*numbers, type, &s->arg[i]);
        f->in[i].number = *numbers;
        *numbers += GP_BLOCK * 8;
    }
    if (f->form) set_form(f, p, s);
    else set_formula(f, p, s);
}

/* ---- slots ---- */

/* The step at which step k runs: that of its loop. */
static int runs_at(const fuse_plan *plan, const gp_loops *source, int k) {
    for (int i = 0; source && i < source->nloops; i++)
        if (k >= source->first[i] && k < source->end[i]) return source->first[i];
    return k;
}

/* Sets last[k] to the step after which result k is not read: outputs are, at the end. -1: results
 * that only their own loop reads. */
static void find_last(const fuse_plan *plan, const gp_program *p, const gp_loops *source,
                      int16_t *last) {
    for (int k = 0; k < p->nsteps; k++) {
        int at = runs_at(plan, source, k);
        last[k] = (int16_t)(plan->step[at].next > at + 1 ? -1 : at);
        for (int i = 0; i < p->step[k].nin; i++) {
            const gp_value *v = &p->step[k].arg[i];
            int made = (int)v->i - p->ninputs;
            if (v->kind == GP_TENSOR && made >= 0 && runs_at(plan, source, made) != at)
                last[made] = (int16_t)at;
        }
    }
    for (int i = 0; i < p->nout; i++) last[p->out[i] - p->ninputs] = INT16_MAX;
}

/* A result's slot is free again after the last step, or loop, that reads it. Outputs keep theirs to
 * the end of the block. */
static void set_slots(fuse_plan *plan, const gp_program *p, const gp_loops *source) {
    int16_t last[GP_PROGRAM_STEPS];
    bool taken[GP_PROGRAM_STEPS] = {false};
    find_last(plan, p, source, last);
    for (int k = 0, end; k < p->nsteps; k = end) {
        end = plan->step[k].next;
        for (int i = k; i < end; i++) {
            int16_t slot = 0;
            plan->step[i].slot = -1;
            if (last[i] < 0) continue;
            while (taken[slot]) slot++;
            taken[slot] = true;
            plan->step[i].slot = slot;
            if (slot >= plan->nslots) plan->nslots = slot + 1;
        }
        for (int j = 0; j < end; j++)
            if (last[j] == k) taken[plan->step[j].slot] = false;
    }
}

void gp_fuse_free_plan(void *ctx) {
    fuse_plan *plan = ctx;
    if (!plan) return;
    gp_fuse_compiled_free(plan->compiled);
    free(plan->numbers);
    free(plan);
}

fuse_plan *gp_fuse_make_plan(const gp_program *p, const gp_loops *source) {
    fuse_plan *plan = calloc(1, sizeof *plan + (size_t)p->nsteps * sizeof *plan->step);
    size_t bytes = (size_t)count_numbers(p) * GP_BLOCK * 8;
    if (!plan || (bytes && !(plan->numbers = aligned_alloc(64, bytes)))) {
        free(plan);
        return gp_fail_null("%s: out of memory", p->name);
    }
    char *numbers = plan->numbers;
    plan->nsteps = p->nsteps;
    for (int k = 0; k < p->nsteps; k++) set_step(&plan->step[k], p, &p->step[k], &numbers);
    for (int i = 0; source && i < source->nloops; i++)
        plan->step[source->first[i]].next = source->end[i];
    set_slots(plan, p, source);
    return plan;
}

const fuse_plan *gp_fuse_plan(gp_program *p) {
    void *plan = atomic_load_explicit(&p->prepared[GP_PREPARED_CPU], memory_order_acquire);
    void *none = NULL;
    if (plan) return plan;
    fuse_plan *made = gp_fuse_make_plan(p, NULL);
    if (!(plan = made)) return NULL;
    if (!(made->compiled = gp_fuse_compiled_new()))
        return gp_fuse_free_plan(made), gp_fail_null("%s: out of memory", p->name);
    atomic_store(&p->unprepare[GP_PREPARED_CPU], gp_fuse_free_plan);
    if (atomic_compare_exchange_strong(&p->prepared[GP_PREPARED_CPU], &none, plan)) return plan;
    gp_fuse_free_plan(plan);
    return none;
}
