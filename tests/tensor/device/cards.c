/* The modelled H200 and H100 beside the real ones: for calls whose shapes and seconds stand in
 * tests/gpu/REPORT.md, what the model gives. Costs are those of the calls' shapes, without memory
 * for their tensors; a card's shares of its bounds are those of cards.def. Each card is judged by
 * its own shares, and, with one card left out, by the other's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tensor/cost.h"
#include "tensor/device/card/card.h"
#include "tensor/ops/rnn/rnn.h"

/* ---- calls as text ---- */

/* A call is "OP ARGUMENT … > RESULT …". A tensor is DTYPE:DIMxDIM…, with a t at its end the
 * transposed of such a one; 3,3 an integer or several; - none. */
typedef struct calls {
    gp_call c;
    gp_array array[16];
    const gp_array *weights[4];
    int n;
} calls;

static const gp_array *read_array(calls *k, const char *word) {
    gp_array *a = &k->array[k->n++];
    char dtype[8];
    gp_dtype dt;
    size_t at = strcspn(word, ":");
    snprintf(dtype, sizeof dtype, "%.*s", (int)at, word);
    *a = (gp_array){.numel = 1};
    if (!gp_dtype_parse(dtype, &dt)) abort();
    a->dtype = (uint8_t)dt;
    for (const char *p = word + at; *p == ':' || *p == 'x';) {
        char *end;
        a->dim[a->ndim++] = strtoll(p + 1, &end, 10);
        p = end;
    }
    for (int d = a->ndim - 1; d >= 0; d--) a->stride[d] = a->numel, a->numel *= a->dim[d];
    a->contiguous = word[strlen(word) - 1] != 't';
    return a;
}

static void read_ints(gp_call *c, const char *word) {
    int64_t v[4];
    int n = 0;
    for (char *end; n < 4 && *word; word = *end ? end + 1 : end) v[n++] = strtoll(word, &end, 10);
    if (n == 1) gp_call_int(c, v[0]);
    else gp_call_ints(c, v, n);
}

/* lstm X, WEIGHT, layers: the arguments of an lstm_forward in f16 or f32. */
static void read_lstm(calls *k) {
    gp_call *c = &k->c;
    int64_t layers = c->arg[2].i;
    const gp_array *w = c->arg[1].a;
    k->weights[0] = k->weights[1] = w;
    c->arg[GP_RNN_HX] = (gp_value){.kind = GP_NONE};
    c->arg[GP_RNN_WEIGHTS] = (gp_value){.kind = GP_LIST, .n = 2, .arrays = k->weights};
    c->arg[GP_RNN_BIASES] = c->arg[GP_RNN_DROPOUT] = (gp_value){.kind = GP_BOOL};
    c->arg[GP_RNN_LAYERS] = (gp_value){.kind = GP_INT, .i = layers};
    for (int i = GP_RNN_TRAIN; i <= GP_RNN_BATCH_FIRST; i++)
        c->arg[i] = (gp_value){.kind = GP_BOOL};
    c->nargs = GP_RNN_OWN;
}

static gp_cost cost_of(const char *text) {
    calls k = {.n = 0};
    char copy[400], *rest = copy;
    bool results = false;
    snprintf(copy, sizeof copy, "%s", text);
    const char *word = strtok_r(rest, " ", &rest);
    const gp_op *op = gp_op_find(word);
    if (!op) abort();
    gp_call_begin(&k.c, op);
    k.c.nout = 0;
    while ((word = strtok_r(rest, " ", &rest))) {
        if (*word == '>') results = true;
        else if (results) k.c.outa[k.c.nout++] = read_array(&k, word);
        else if (strchr(word, ':'))
            k.c.arg[k.c.nargs++] = (gp_value){.kind = GP_TENSOR, .a = read_array(&k, word)};
        else if (*word == '-') gp_call_none(&k.c);
        else read_ints(&k.c, word);
    }
    if (!strcmp(op->name, "lstm")) read_lstm(&k);
    k.c.compute = k.array[0].dtype;
    return gp_call_cost(&k.c);
}

/* Microseconds of one or several calls, with ; between, or of a copy, as "pinned BYTES", on that
 * card; *bound: nobody measured one of them. */
static double modelled(const gp_card *card, const char *text, bool *bound) {
    char copy[800], *rest = copy;
    double us = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *one; (one = strtok_r(rest, ";", &rest));) {
        bool pinned = !strncmp(one, "pinned ", 7), pageable = !strncmp(one, "pageable ", 9);
        gp_cost cost = pinned || pageable ? (gp_cost){0} : cost_of(one);
        gp_card_time t = pinned || pageable
                             ? gp_card_copy(card, atof(strchr(one, ' ')), pinned, GP_COPY_H2D)
                             : gp_card_kernel(card, &cost);
        us += 1e-3 * (double)(t.fixed + t.work);
        *bound |= t.at_least;
    }
    return us;
}

/* ---- what was measured ---- */

/* us: on the H200 and the H100. KERNELS: of the calls' kernels, by CUPTI ("The modelled card beside
 * this one"). CALL: of a call, over 20 ms of calls and the wait for them ("now" of "Figures"),
 * where the device is what takes it. Rows that the host decides are not here: those of less than
 * three launches of x + y, lstm of two layers, whose kernels are launched one by one, and what
 * CUPTI saw of a copy that is not pinned, most of which the host makes. changed: commits between
 * the H200's e0d20a2f and the H100's b130635c rewrote these kernels (ed5d3bab and 0722db1c
 * scans, 4cc881f2 bernoulli, 3c20aa85 masks, b8fc7c52 transposed operands, 466487bc group_norm's
 * gradient, 2d838094 and 306f4731 softmax, norms, cross_entropy and transposed copies, 839c255f
 * bincount, f1e29d71 recurrent layers, 60bcf3e0 convolutions of 16 bits), or the host's collector
 * delayed the H200's call (arange): one card's row says nothing of the other's. */
typedef enum kind { KERNELS, CALL } kind;
enum { H200, H100, BOTH };

static const struct row {
    const char *name;
    kind kind;
    bool changed;
    double us[BOTH];
    const char *calls;
} rows[] = {
    {"x + y of 16", KERNELS, 0, {1.0, 1.2}, "add f32:16 f32:16 > f32:16"},
    {"x * 2", KERNELS, 0, {188.0, 264.9}, "mul f32:100000000 2 > f32:100000000"},
    {"x + y", KERNELS, 0, {275.8, 392.5}, "add f32:100000000 f32:100000000 > f32:100000000"},
    {"bf16 x * 2", KERNELS, 0, {102.7, 133.1}, "mul bf16:100000000 2 > bf16:100000000"},
    {"gelu", KERNELS, 0, {213.6, 266.1}, "gelu f32:100000000 > f32:100000000"},
    {"sum", KERNELS, 0, {105.6, 139.3}, "sum f32:100000000 > f32:1"},
    {"cumsum", KERNELS, 1, {478.4, 327.5}, "cumsum f32:100000000 1 > f32:100000000"},
    {"where",
     KERNELS,
     0,
     {294.0, 422.7},
     "where bool:100000000 f32:100000000 f32:100000000 > f32:100000000"},
    {"masked_select",
     KERNELS,
     1,
     {254.7, 293.8},
     "masked_select f32:100000000 bool:100000000 > f32:50000000"},
    {"softmax", KERNELS, 1, {164.0, 182.4}, "softmax f32:8192x8192 2 > f32:8192x8192"},
    {"layer_norm", KERNELS, 1, {203.2, 211.1}, "layer_norm f32:8192x8192 8192 > f32:8192x8192"},
    {"transposed copy", KERNELS, 1, {144.1, 184.8}, "copy f32:8192x8192t > f32:8192x8192"},
    {"matmul f32",
     KERNELS,
     0,
     {21432, 21271},
     "matmul f32:8192x8192 f32:8192x8192 > f32:8192x8192"},
    {"matmul bf16",
     KERNELS,
     0,
     {1397, 1384},
     "matmul bf16:8192x8192 bf16:8192x8192 > bf16:8192x8192"},
    {"conv2d 10 to 10",
     KERNELS,
     0,
     {492.1, 494.8},
     "conv2d f32:128x10x256x256 f32:10x10x3x3 > f32:128x10x256x256"},
    {"max_pool2d",
     KERNELS,
     0,
     {151.5, 154.7},
     "max_pool2d f32:128x10x256x256 3,3 2,2 1,1 > f32:128x10x128x128"},
    {"conv2d bf16 64 to 64",
     KERNELS,
     1,
     {154.3, 189.6},
     "conv2d bf16:128x64x64x64 bf16:64x64x3x3 > bf16:128x64x64x64"},
    {"attention bf16",
     KERNELS,
     0,
     {1138, 1120},
     "attention bf16:8x16x4096x64 bf16:8x16x4096x64 bf16:8x16x4096x64 > bf16:8x16x4096x64"},
    {"copy from pinned memory", KERNELS, 0, {1805, 2420}, "pinned 100000000"},
    {"copy 1e8", CALL, 0, {197.4, 270.1}, "copy f32:100000000 > f32:100000000"},
    {"exp 1e8", CALL, 0, {198.9, 269.4}, "exp f32:100000000 > f32:100000000"},
    {"softmax 32768x4096", CALL, 1, {261.7, 360.5}, "softmax f32:32768x4096 2 > f32:32768x4096"},
    {"layer_norm 32768x4096",
     CALL,
     1,
     {313.2, 360.4},
     "layer_norm f32:32768x4096 4096 f32:4096 f32:4096 > f32:32768x4096"},
    {"sort 1e7", CALL, 0, {478.2, 524.2}, "sort f32:10000000 1 > f32:10000000 i64:10000000"},
    {"matmul bf16 8192",
     CALL,
     0,
     {1649, 1501},
     "matmul bf16:8192x8192 bf16:8192x8192 > bf16:8192x8192"},
    {"matmul f32 8192",
     CALL,
     0,
     {21781, 21443},
     "matmul f32:8192x8192 f32:8192x8192 > f32:8192x8192"},
    {"conv2d 10 to 10, 128x256x256",
     CALL,
     0,
     {511.4, 496.8},
     "conv2d f32:128x10x256x256 f32:10x10x3x3 > f32:128x10x256x256"},
    {"conv2d 10 to 10 backward, 128x256x256",
     CALL,
     0,
     {1091, 1080},
     "conv_input_grad f32:128x10x256x256 f32:10x10x3x3 > f32:128x10x256x256;"
     "conv_weight_grad f32:128x10x256x256 f32:128x10x256x256 > f32:10x10x3x3"},
    {"max_pool2d 3, 128x10x256x256",
     CALL,
     0,
     {158.2, 151.7},
     "max_pool2d f32:128x10x256x256 3,3 2,2 1,1 > f32:128x10x128x128"},
    {"svd 8x128x128",
     CALL,
     0,
     {4697, 4620},
     "linalg_svd f32:8x128x128 > f32:8x128x128 f32:8x128 f32:8x128x128"},
    {"svd 512x128x128",
     CALL,
     0,
     {18506, 18229},
     "linalg_svd f32:512x128x128 > f32:512x128x128 f32:512x128 f32:512x128x128"},
    {"svd 1000x64x64",
     CALL,
     0,
     {7490, 7297},
     "linalg_svd f32:1000x64x64 > f32:1000x64x64 f32:1000x64 f32:1000x64x64"},
    {"svd 2048x2048",
     CALL,
     0,
     {220360, 232196},
     "linalg_svd f32:2048x2048 > f32:2048x2048 f32:2048 f32:2048x2048"},
    {"lstm 50x50x1024",
     CALL,
     1,
     {2268, 2054},
     "lstm f32:50x50x1024 f32:4096x1024 1 > f32:50x50x1024 f32:1x50x1024 f32:1x50x1024"},
    {"cumsum 1e8", CALL, 1, {504.6, 319.5}, "cumsum f32:100000000 1 > f32:100000000"},
    {"cumsum 10000x10000, dim 1",
     CALL,
     1,
     {262.1, 360.4},
     "cumsum f32:10000x10000 1 > f32:10000x10000"},
    {"cumsum 10000x10000, dim 2",
     CALL,
     1,
     {322.5, 300.7},
     "cumsum f32:10000x10000 2 > f32:10000x10000"},
    {"cumsum 1000000x100", CALL, 1, {239.3, 288.6}, "cumsum f32:1000000x100 2 > f32:1000000x100"},
    {"softmax 1e8", CALL, 1, {346.2, 417.4}, "softmax f32:100000000 1 > f32:100000000"},
    {"softmax 10000x10000, dim 1",
     CALL,
     1,
     {502.4, 442.3},
     "softmax f32:10000x10000 1 > f32:10000x10000"},
    {"histc 1e8", CALL, 0, {100.5, 136.8}, "histc f32:100000000 100 > f32:100"},
    {"bincount 1e8", CALL, 1, {424.0, 298.1}, "bincount i64:100000000 > i64:100"},
    {"bernoulli 1e8", CALL, 1, {235.8, 138.4}, "bernoulli > f32:100000000"},
    {"arange 1e8", CALL, 1, {235.4, 124.9}, "range > f32:100000000"},
    {"multinomial 1e6 of 1e6", CALL, 0, {95.3, 101.1}, "multinomial f32:1000000 > i64:1000000"},
    {"layer_norm backward 8x131072",
     CALL,
     0,
     {37.5, 35.0},
     "layer_norm_grad f32:8x131072 f32:8x131072 131072 > f32:8x131072"},
    {"softmax 100000x1001", CALL, 1, {316.2, 274.4}, "softmax f32:100000x1001 2 > f32:100000x1001"},
    {"cross_entropy 100000x1000",
     CALL,
     1,
     {162.4, 154.1},
     "cross_entropy f32:100000x1000 i64:100000 > f32:1"},
    {"topk(10) 64x1000000",
     CALL,
     0,
     {386.1, 388.5},
     "topk f32:64x1000000 10 2 > f32:64x10 i64:64x10"},
    {"group_norm backward 32x64x112x112",
     CALL,
     1,
     {350.9, 177.8},
     "group_norm_grad f32:32x64x112x112 f32:32x64x112x112 2 f32:64 > f32:32x64x112x112 f32:64 "
     "f32:64"},
    {"eigh 4096",
     CALL,
     0,
     {89299, 94460},
     "add f32:4096x4096 f32:4096x4096t > f32:4096x4096;"
     "linalg_eigh f32:4096x4096 > f32:4096 f32:4096x4096"},
    {"eigh 10000x8x8",
     CALL,
     0,
     {291.8, 289.1},
     "linalg_eigh f32:10000x8x8 > f32:10000x8 f32:10000x8x8"},
    {"qr 10000x8x8",
     CALL,
     0,
     {176.4, 175.4},
     "linalg_qr f32:10000x8x8 > f32:10000x8x8 f32:10000x8x8"},
    {"solve 10000x8x8",
     CALL,
     0,
     {116.0, 109.8},
     "linalg_solve f32:10000x8x8 f32:10000x8x8 > f32:10000x8x8"},
    {"f16 + f32, 10000x10000",
     CALL,
     0,
     {344.9, 382.4},
     "add f16:10000x10000 f32:10000x10000 > f32:10000x10000"},
    {"x * 2 of the transposed, 10000x10000",
     CALL,
     1,
     {656.9, 292.2},
     "mul f32:10000x10000t 2 > f32:10000x10000"},
    {"transposed copy f16 10000x10000",
     CALL,
     1,
     {159.0, 149.0},
     "copy f16:10000x10000t > f16:10000x10000"},
    {"transposed copy u8 10000x10000",
     CALL,
     1,
     {158.6, 95.7},
     "copy u8:10000x10000t > u8:10000x10000"},
    {"gather 10000x10000",
     CALL,
     0,
     {1549, 1555},
     "gather f32:10000x10000 1 i64:10000x10000 > f32:10000x10000"},
    {"var 10000x10000, dim 2", CALL, 0, {141.0, 175.5}, "var f32:10000x10000 2 > f32:10000"},
    {"matmul i32 2048",
     CALL,
     0,
     {945.9, 933.8},
     "matmul i32:2048x2048 i32:2048x2048 > i32:2048x2048"},
    {"lstm bf16 50x50x1024",
     CALL,
     1,
     {959.5, 429.4},
     "lstm bf16:50x50x1024 bf16:4096x1024 1 > bf16:50x50x1024 bf16:1x50x1024 bf16:1x50x1024"},
    {"conv2d bf16 64 to 64, 128x56x56",
     CALL,
     1,
     {361.1, 157.5},
     "conv2d bf16:128x64x56x56 bf16:64x64x3x3 > bf16:128x64x56x56"},
    {"to the device 1e8", CALL, 0, {50287, 46177}, "pageable 400000000"},
    {"attention bf16 8x16x4096x64, causal, backward",
     CALL,
     0,
     {3130, 3101},
     "attention_forward bf16:8x16x4096x64 bf16:8x16x4096x64 bf16:8x16x4096x64 - 1 > "
     "bf16:8x16x4096x64;attention_backward bf16:8x16x4096x64 bf16:8x16x4096x64 bf16:8x16x4096x64 "
     "- 1 - bf16:8x16x4096x64 bf16:8x16x4096x64 > bf16:8x16x4096x64 bf16:8x16x4096x64 "
     "bf16:8x16x4096x64"},
    {"attention bf16 8x16x4096x64",
     CALL,
     0,
     {1240, 1232},
     "attention bf16:8x16x4096x64 bf16:8x16x4096x64 bf16:8x16x4096x64 > bf16:8x16x4096x64"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- how far off it is ---- */

/* Judges the rows of card number c by the shares of card number by; `all`: those that changed, too.
 * Prints what is off by more than a quarter. */
static void judge(int c, int by, bool all) {
    static const char *const keys[] = {"h200", "h100"};
    gp_card card = *gp_card_find(keys[c]);
    card.known = gp_card_find(keys[by])->known;
    int n = 0, near = 0, far = 0;
    for (int i = 0; i < ROWS; i++) {
        bool bound = false;
        double ratio = modelled(&card, rows[i].calls, &bound) / rows[i].us[c];
        if (bound) printf("# %s: nobody measured it\n", rows[i].name);
        if (bound || (rows[i].changed && !all)) continue;
        n++;
        near += fabs(ratio - 1) <= 0.25;
        far += ratio > 2 || ratio < 0.5;
        if (fabs(ratio - 1) > 0.25) printf("# %s on %s: %.2f\n", rows[i].name, keys[c], ratio);
    }
    tap_ok(n >= 40, "%s by %s: %d rows are judged", keys[c], keys[by], n);
    tap_ok(near >= 0.9 * n, "%d of %d are within 25 %% of what was measured", near, n);
    tap_is_int(far, 0, "and none is off by more than 2");
}

/* How far off predictions for a card are that say nothing of its own rows: the rows of each by the
 * other's shares, in %. gpush prints it with every such prediction, from the line of
 * profile/replay/accuracy.def. */
static int compare_offs(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int offs_of(int c, int by, double *off) {
    gp_card card = *gp_card_find(c ? "h100" : "h200");
    card.known = gp_card_find(by ? "h100" : "h200")->known;
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        bool bound = false;
        double ratio = modelled(&card, rows[i].calls, &bound) / rows[i].us[c];
        if (!bound && !rows[i].changed) off[n++] = 100 * fabs(ratio - 1);
    }
    return n;
}

static void accuracy(void) {
    static const struct {
        const char *kind;
        int pairs;
        double median, decile;
    } line[] = {
#define ACCURACY(kind, pairs, median, decile) {#kind, pairs, median, decile},
#include "profile/replay/accuracy.def"
    };
    double off[2 * ROWS];
    int n = offs_of(0, 1, off), i = 0;
    n += offs_of(1, 0, off + n);
    qsort(off, (size_t)n, sizeof *off, compare_offs);
    double median = off[(n + 1) / 2 - 1], decile = off[(9 * n + 9) / 10 - 1];
    while (strcmp(line[i].kind, "card") != 0) i++;
    tap_is_int(line[i].pairs, n, "the figure of predictions for cards is of these rows");
    tap_ok(fabs(line[i].median - median) < 0.051 && fabs(line[i].decile - decile) < 0.051,
           "their median and 9th decile are %.1f and %.1f %%", median, decile);
}

/* Where nobody measured, the time is the data sheet's bound, and says so. */
static void bounds(void) {
    gp_cost product = cost_of("matmul f64:4096x4096 f64:4096x4096 > f64:4096x4096");
    const gp_card *h200 = gp_card_find("h200"), *t4 = gp_card_find("t4");
    gp_card_time t = gp_card_kernel(h200, &product);
    tap_ok(t.at_least, "products in f64 were not measured on the H200");
    tap_is_int((long long)t.work, llround(2 * 4096. * 4096 * 4096 / 67e12 * 1e9),
               "their time is their operations over the data sheet's rate");
    gp_cost add = cost_of("add f32:1000000 f32:1000000 > f32:1000000");
    t = gp_card_kernel(t4, &add);
    tap_ok(t.at_least, "nothing was measured on the T4");
    tap_is_int((long long)t.work, 37500, "12 MB over 320 GB/s");
    tap_ok(!gp_card_kernel(h200, &add).at_least, "additions were on the H200");
    gp_card tf32 = *h200;
    tf32.tf32 = true;
    product.dtype = GP_f32;
    tap_ok(!gp_card_kernel(h200, &product).at_least && gp_card_kernel(&tf32, &product).at_least,
           "products in f32 were, those rounded to tf32 were not");
}

/* A row without a formula has a family and a function in its column cost. */
static void every_row(void) {
    const char *without = "";
    for (int i = 0; i < GP_ROWS; i++)
        if (gp_ops[i].kind == GP_CUSTOM && (!gp_ops[i].cost.family || !gp_ops[i].cost.fn))
            without = gp_ops[i].name;
    tap_is_str(without, "", "every row without a formula names its cost");
}

int main(void) {
    every_row();
    judge(0, 0, false);
    judge(1, 1, true);
    judge(0, 1, false); /* one card left out */
    judge(1, 0, false);
    accuracy();
    bounds();
    return tap_done();
}
