/* The list of interceptors: its order, what a refusal ends, and that an empty one costs an op
 * nothing but its check. */
#include "ops.h"

#include "tensor/intercept.h"

static char log_text[64]; /* a letter for each function that was asked */
static bool refuses;

static void note(char c) {
    size_t n = strlen(log_text);
    if (n + 1 < sizeof log_text) log_text[n] = c, log_text[n + 1] = 0;
}

static bool run_first(const gp_interceptor *self, gp_call *c) {
    note('a');
    bool ok = gp_op_run_below(self, c);
    note('z');
    return ok;
}
static bool run_second(const gp_interceptor *self, gp_call *c) {
    note('b');
    return gp_op_run_below(self, c);
}
static bool at_first(gp_moment m, const char *what, void *of) {
    if (m == GP_AT_MAKE || m == GP_AT_DROP) note(m == GP_AT_MAKE ? '+' : '-');
    return true;
}
static bool at_second(gp_moment m, const char *what, void *of) {
    if (m != GP_AT_LAUNCH && m != GP_AT_READ) return true;
    note(m == GP_AT_LAUNCH ? 'l' : 'r');
    return !refuses || gp_fail("%s: refused", what);
}

static _Thread_local gp_interceptor first = {
    .order = 1, .keeps = GP_KEEPS_CALLS, .run = run_first, .at = at_first};
static _Thread_local gp_interceptor second = {
    .order = 2, .keeps = GP_KEEPS_LAUNCHES, .run = run_second, .at = at_second};

/* What the list's functions noted while x + x ran. */
static const char *asked(gp_tensor *x) {
    gp_call c;
    *log_text = 0;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, x);
    gp_call_tensor(&c, x);
    gp_tensor_unref(gp_call_one(&c));
    return log_text;
}

int main(void) {
    gp_shape shape = {.ndim = 1, .dim = {4}};
    gp_tensor *x = gp_tensor_new(gp_device_cpu(), GP_f32, &shape);
    gp_scalar value;
    tap_ok(x && !gp_kept() && !*asked(x), "no interceptor: nothing is asked");
    gp_intercept(&second, true);
    gp_intercept(&first, true);
    gp_intercept(&first, true);
    tap_is_str(asked(x), "ab+lz-", "in the order of their numbers, not of their coming");
    tap_ok(gp_kept() == (GP_KEEPS_CALLS | GP_KEEPS_LAUNCHES), "what any of them keeps is kept");
    refuses = true;
    tap_is_str(asked(x), "ab+l-z", "an op that is refused gives nothing, and leaks nothing");
    tap_is_str(gp_error(), "add: refused", "its message is the interceptor's");
    shape.dim[0] = 1;
    gp_tensor *one = gp_tensor_new(gp_device_cpu(), GP_f32, &shape);
    *log_text = 0;
    tap_ok(!gp_item(one, &value, GP_WHY_item, "item") && !strcmp(log_text, "r"),
           "a value is not read that may not be");
    gp_intercept(&second, false);
    gp_intercept(&second, false);
    tap_ok(gp_item(one, &value, GP_WHY_item, "item"), "one that has left is not asked");
    refuses = false;
    gp_intercept(&second, true);
    tap_is_str(asked(x), "ab+lz-", "in order again, however they come");
    gp_intercept(&second, false);
    gp_intercept(&first, false);
    tap_ok(!gp_intercepting && !*asked(x), "the list is empty again");
    gp_tensor_unref(x);
    gp_tensor_unref(one);
    return tap_done();
}
