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

static gp_scalar parameter(const gp_step *s, int i) {
    const gp_value *v = &s->arg[s->nin + i];
    if (s->nin + i >= s->nargs || v->kind == GP_NONE)
        return (gp_scalar){.is_float = true, .f = i ? INFINITY : -INFINITY};
    if (v->kind == GP_FLOAT || v->is_float) return (gp_scalar){.is_float = true, .f = v->f};
    return (gp_scalar){.i = v->i};
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
    f->fault = s->op->extra->fault;
    bool truth = s->op->types & GP_T_BOOL;
    gp_dtype type = (gp_dtype)gp_ctype_dtype[f->ct], result = truth ? GP_bool : type;
    for (int i = 0; i < s->nin; i++) {
        gp_dtype dt = f->in[i].number ? type : dtype_of(p, f->in[i].value);
        if (dt != type) f->in[i].load = gp_load_fn(dt, f->ct);
    }
    if (s->op->extra->lowest_bit && s->compute == GP_bool) f->store = store_inverted;
    else if (s->dtype != result)
        f->store =
            truth ? gp_bool_store((gp_dtype)s->dtype) : gp_store_fn(f->ct, (gp_dtype)s->dtype);
    bool parameters = s->op->kind == GP_PARAM || s->op->kind == GP_GRAD;
    for (int i = 0; parameters && i < 3; i++) f->par[i] = parameter(s, i);
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
    *f = (fuse_step){.form = (gp_fuse_form)s->op->extra->fuses,
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

/* A result's slot is free again after the last step that reads it. Outputs keep theirs to the end
 * of the block. */
static void set_slots(fuse_plan *plan, const gp_program *p) {
    int16_t last[GP_PROGRAM_STEPS];
    bool taken[GP_PROGRAM_STEPS] = {false};
    for (int k = 0; k < p->nsteps; k++) {
        last[k] = (int16_t)k;
        for (int i = 0; i < p->step[k].nin; i++) {
            const gp_value *v = &p->step[k].arg[i];
            if (v->kind == GP_TENSOR && v->i >= p->ninputs) last[v->i - p->ninputs] = (int16_t)k;
        }
    }
    for (int i = 0; i < p->nout; i++) last[p->out[i] - p->ninputs] = INT16_MAX;
    for (int k = 0; k < p->nsteps; k++) {
        int16_t slot = 0;
        while (taken[slot]) slot++;
        taken[slot] = true;
        plan->step[k].slot = slot;
        if (slot >= plan->nslots) plan->nslots = slot + 1;
        for (int j = 0; j <= k; j++)
            if (last[j] == k) taken[plan->step[j].slot] = false;
    }
}

static void free_plan(void *ctx) {
    fuse_plan *plan = ctx;
    free(plan->numbers);
    free(plan);
}

static fuse_plan *make_plan(const gp_program *p) {
    fuse_plan *plan = calloc(1, sizeof *plan + (size_t)p->nsteps * sizeof *plan->step);
    size_t bytes = (size_t)count_numbers(p) * GP_BLOCK * 8;
    if (!plan || (bytes && !(plan->numbers = aligned_alloc(64, bytes)))) {
        free(plan);
        return gp_fail_null("%s: out of memory", p->name);
    }
    char *numbers = plan->numbers;
    plan->nsteps = p->nsteps;
    for (int k = 0; k < p->nsteps; k++) set_step(&plan->step[k], p, &p->step[k], &numbers);
    set_slots(plan, p);
    return plan;
}

const fuse_plan *gp_fuse_plan(gp_program *p) {
    void *plan = atomic_load_explicit(&p->prepared, memory_order_acquire), *none = NULL;
    if (plan) return plan;
    if (!(plan = make_plan(p))) return NULL;
    atomic_store(&p->unprepare, free_plan);
    if (atomic_compare_exchange_strong(&p->prepared, &none, plan)) return plan;
    free_plan(plan);
    return none;
}
