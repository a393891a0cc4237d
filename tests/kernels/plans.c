/* The cache of library plans (kernels/cuda/runtime/plans.c), which needs no GPU: a model's shapes
 * are planned once in whatever order they come, the plan used longest ago is replaced, and what a
 * replaced plan holds is freed once. */
#include "ops.h"

#include "kernels/cuda/runtime/plans.c" // NOLINT(bugprone-suspicious-include)

typedef struct shape {
    int64_t n;
    int32_t kind;
    char tail[7]; /* a key whose size is no multiple of 8 */
} shape;

typedef struct plan {
    shape of;
    bool refused;
    int *held;
} plan;

static int made, forgotten, wrong;
static gp_call call;

static void forget(const gp_call *c, void *old) {
    plan *p = old;
    forgotten++;
    wrong += c != &call || *p->held != 1;
    *p->held = 0;
    free(p->held);
}

static bool kept(const void *p) { return ((const plan *)p)->refused; }

static plan *plan_of(gp_plans *all, int64_t n, int kind) {
    shape s;
    memset(&s, 0, sizeof s);
    s.n = n, s.kind = kind, s.tail[6] = (char)kind;
    plan *p = gp_plans_find(all, &s);
    if (p) return p;
    p = gp_plans_add(all, &call, &s);
    p->held = malloc(sizeof *p->held);
    *p->held = 1;
    made++;
    return p;
}

static void empty(gp_plans *all) {
    for (int i = 0; i < GP_PLAN_BUCKETS; i++)
        while (all->bucket[i]) gp_plans_drop(all, &call, all->bucket[i]->plan);
    tap_is_int(all->n, 0, "none is left");
}

/* As many convolutions as ResNet-50's step has of each kind, in three orders. */
static void test_model(void) {
    gp_plans all = {.key = sizeof(shape), .size = sizeof(plan), .most = 204, .forget = forget};
    plan *seen[68][3];
    made = forgotten = 0;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 204; i++) {
            int at = step == 0 ? i : step == 1 ? 203 - i : i * 77 % 204, n = at / 3, kind = at % 3;
            plan *p = plan_of(&all, (int64_t)n << 20, kind);
            if (step == 0) seen[n][kind] = p;
            else if (seen[n][kind] != p) made = -1;
        }
    tap_is_int(made, 204, "68 convolutions of three kinds are planned once in three steps");
    tap_is_int(forgotten, 0, "and none is replaced");
    empty(&all);
    tap_is_int(forgotten, 204, "each is forgotten");
}

static void test_oldest(void) {
    gp_plans all = {.key = sizeof(shape), .size = sizeof(plan), .most = 4, .forget = forget};
    for (int n = 0; n < 4; n++) plan_of(&all, n, 0);
    plan_of(&all, 0, 0);
    made = forgotten = 0;
    plan_of(&all, 4, 0);
    plan_of(&all, 0, 0);
    tap_ok(made == 1 && forgotten == 1, "a fifth replaces one, and the first is still there");
    plan_of(&all, 1, 0);
    tap_is_int(made, 2, "it was the second, which was used longest ago");
    tap_is_int(all.n, 4, "four are held");
    empty(&all);
}

static void test_kept(void) {
    gp_plans all = {
        .key = sizeof(shape), .size = sizeof(plan), .most = 2, .forget = forget, .kept = kept};
    plan_of(&all, 1, 0)->refused = true;
    plan_of(&all, 2, 0);
    made = 0;
    plan_of(&all, 3, 0)->refused = true;
    plan_of(&all, 1, 0);
    tap_ok(made == 1 && all.n == 2, "one that is kept is not replaced, though it is the oldest");
    plan_of(&all, 4, 0);
    tap_is_int(all.n, 3, "the cache grows where all are kept");
    empty(&all);
}

int main(void) {
    gp_call_begin(&call, gp_op_find("matmul"));
    test_model();
    test_oldest();
    test_kept();
    tap_is_int(wrong, 0, "all were forgotten once, for the call that needed the place");
    return tap_done();
}
