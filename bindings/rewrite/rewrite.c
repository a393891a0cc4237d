/* The rewrite's writer: decides what each expression may be and inserts the helper calls that
 * tensors need. */
#include "bindings/rewrite/rewrite.h"

#include "bindings/rewrite/tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- What expressions may be ---- */

static bool only(uint8_t cls, uint8_t set) { return !(cls & ~set); }

/* The class of `a and b`, where a was tested: a false tensor has become false. */
static uint8_t class_and(uint8_t a, uint8_t b) {
    return (a & C_ANY ? C_NIL | C_FALSE : a & (C_NIL | C_FALSE)) | b;
}

static uint8_t class_or(uint8_t a, uint8_t b) { return (a & ~(C_NIL | C_FALSE)) | b; }

/* Whether nothing is compared elementwise: no tensor takes part, or one side is neither a tensor
 * nor a number. */
static bool plain_equality(uint8_t a, uint8_t b) {
    return !((a | b) & C_ANY) || !(a & (C_NUM | C_ANY)) || !(b & (C_NUM | C_ANY));
}

/* op: the operator's token. Classes are sets: the result's is the union of what the operands may
 * give. */
static uint8_t class_binary(int op, uint8_t a, uint8_t b) {
    switch (op) {
    case TK_AND: return class_and(a, b);
    case TK_OR: return class_or(a, b);
    case TK_EQ:
    case TK_NE: return plain_equality(a, b) ? C_BOOL : C_ANY;
    case '<':
    case '>':
    case TK_LE:
    case TK_GE: return (a | b) & C_ANY ? C_ANY : C_BOOL;
    case '@': return C_ANY;
    case TK_CONCAT: return only(a | b, C_NUM | C_STR) ? C_STR : C_ANY;
    default: /* a table may have an __add that gives a tensor */
        return only(a | b, C_NUM | C_STR) ? C_NUM : C_ANY;
    }
}

/* Computed from the classes of the operands, which have smaller numbers: operands are recorded
 * first. */
static uint8_t class_of(const gp_tree *t, const gp_syntax_node *n) {
    const gp_syntax_node *nodes = t->nodes.at;
    switch (n->kind) {
    case N_LOCAL: return t->vars.at[n->a];
    case N_KNOWN: return t->env || t->tainted[n->a] ? C_ANY : n->cls;
    case N_PAR: return nodes[n->a].cls;
    case N_UN:
        if (n->op == TK_NOT) return C_BOOL;
        if (n->op == '#') return C_NUM;
        return only(nodes[n->a].cls, C_NUM | C_STR) ? C_NUM : C_ANY;
    case N_BIN: return class_binary(n->op, nodes[n->a].cls, nodes[n->b].cls);
    default: return n->cls;
    }
}

/* Classes only grow, so that repeating this ends. True if some variable's did. */
static bool classify_once(gp_tree *t) {
    bool changed = false;
    for (uint32_t i = 0; i < t->nodes.n; i++) t->nodes.at[i].cls = class_of(t, &t->nodes.at[i]);
    for (uint32_t i = 0; i < t->assigns.n; i++) {
        const gp_assign *s = &t->assigns.at[i];
        uint8_t cls = t->vars.at[s->var] | t->nodes.at[s->node].cls;
        changed |= cls != t->vars.at[s->var];
        t->vars.at[s->var] = cls;
    }
    return changed;
}

/* Finds the smallest classes that agree with all assignments; a chain too long to follow makes
 * every variable unknown. */
static void classify(gp_tree *t) {
    for (int round = 0; round < 16; round++)
        if (!classify_once(t)) return;
    memset(t->vars.at, C_ANY, t->vars.n);
    classify_once(t);
    classify_once(t);
}

/* ---- Edits ---- */

enum { E_CLOSE, E_REPLACE, E_OPEN }; /* the order of edits at one byte */

struct edit {
    uint32_t pos, rank, seq;
    const char *text;
    uint32_t len, skip; /* skip: bytes of the source that it replaces */
};

typedef struct writer {
    gp_tree *t;
    bool own_env;
    LIST(struct edit) edits;
} writer;

/* Adds an edit; at one byte edits are ordered by their rank, then by creation. */
static void edit(writer *w, uint32_t pos, int rank, const char *text, uint32_t len, uint32_t skip) {
    PUSH(w->t, w->edits, (struct edit){pos, rank, w->edits.n, text, len, skip});
}

/* Inserts text before byte pos, after whatever closes there. */
static void open_text(writer *w, uint32_t pos, const char *text) {
    edit(w, pos, E_OPEN, text, strlen(text), 0);
}

static void close_at(writer *w, uint32_t pos) { edit(w, pos, E_CLOSE, ")", 1, 0); }

/* A global is found in 4 ns, a field of a string in 11; the string is for chunks with other
 * globals. */
#define HELPER(h)                                                                                  \
    { "(_ENV[\"" h "\"]or(\"\")[\"" h "\"])(", "(\"\")[\"" h "\"](" }
/* clang-format off */
enum {
    H_TRUTH, H_SAME, H_SAME1, H_TENSOR, H_TENSOR1, H_EQC, H_NUMBER, H_LINK, H_UNPACK, H_MATMUL,
    H_EQ, H_NE, H_LT, H_LE, H_GT, H_GE, H_RETURN /* H_RETURN + H_LT - H_EQ: < after a return */
};
/* clang-format on */
static const char *const helpers[][2] = {
    [H_TRUTH] = HELPER(GP_H_TRUTH),
    [H_SAME] = HELPER(GP_H_SAME),
    [H_SAME1] = HELPER(GP_H_SAME1),
    [H_TENSOR] = HELPER(GP_H_TENSOR),
    [H_TENSOR1] = HELPER(GP_H_TENSOR1),
    [H_EQC] = HELPER(GP_H_EQC),
    [H_NUMBER] = HELPER(GP_H_NUMBER),
    [H_LINK] = HELPER(GP_H_LINK),
    [H_UNPACK] = HELPER(GP_H_UNPACK),
    [H_MATMUL] = HELPER(GP_H_MATMUL),
    [H_EQ] = HELPER(GP_H_EQ),
    [H_NE] = HELPER(GP_H_NE),
    [H_LT] = HELPER(GP_H_LT),
    [H_LE] = HELPER(GP_H_LE),
    [H_GT] = HELPER(GP_H_GT),
    [H_GE] = HELPER(GP_H_GE),
    [H_RETURN] = HELPER(GP_H_EQ GP_H_RETURN),
    HELPER(GP_H_NE GP_H_RETURN),
    HELPER(GP_H_LT GP_H_RETURN),
    HELPER(GP_H_LE GP_H_RETURN),
    HELPER(GP_H_GT GP_H_RETURN),
    HELPER(GP_H_GE GP_H_RETURN),
};

static void open_call(writer *w, uint32_t pos, int helper) {
    open_text(w, pos, helpers[helper][w->own_env]);
}

/* Repeats the text of node n. */
static void open_copy(writer *w, uint32_t pos, const gp_syntax_node *n) {
    edit(w, pos, E_OPEN, w->t->text + n->start, n->end - n->start, 0);
}

/* Reduces a last argument that may give several values to one. */
static void one_value(writer *w, const gp_syntax_node *n) {
    if (!n->multi) return;
    open_text(w, n->start, "(");
    close_at(w, n->end);
}

/* helper(n) */
static void wrap(writer *w, int helper, const gp_syntax_node *n) {
    open_call(w, n->start, helper);
    one_value(w, n);
    close_at(w, n->end);
}

/* ---- Comparisons ---- */

static const struct comparison {
    int16_t op, helper, len;
} comparisons[] = {
    {TK_EQ, H_EQ, 2}, {TK_NE, H_NE, 2}, {'<', H_LT, 1},
    {TK_LE, H_LE, 2}, {'>', H_GT, 1},   {TK_GE, H_GE, 2},
};

static const struct comparison *find_comparison(const gp_syntax_node *n) {
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (n->kind == N_BIN && n->op == comparisons[i].op) return &comparisons[i];
    return NULL;
}

/* Whether the text may be evaluated twice: a local variable or a number, with a sign or not. */
static bool repeatable(const gp_tree *t, const gp_syntax_node *n) {
    if (n->kind == N_UN && n->op == '-') {
        const gp_syntax_node *a = &t->nodes.at[n->a];
        return a->kind == N_CONST && a->cls == C_NUM && a->start == n->start + 1;
    }
    return n->kind == N_LOCAL || (n->kind == N_CONST && n->cls == C_NUM);
}

/* Whether Lua's operator is right here. So it is for an order of tensors in a condition, where its
 * metamethod gives the boolean. */
static bool stays(const gp_syntax_node *a, const gp_syntax_node *b, const struct comparison *c,
                  gp_context ctx) {
    if (plain_equality(a->cls, b->cls) && (c->helper == H_EQ || c->helper == H_NE)) return true;
    if (c->helper == H_EQ || c->helper == H_NE) return false;
    return ctx == X_COND || !((a->cls | b->cls) & C_ANY) || only(a->cls, C_NIL | C_BOOL | C_STR) ||
           only(b->cls, C_NIL | C_BOOL | C_STR);
}

/* Passes both operands of n, whose operator is len bytes long, to the helper; its result replaces
 * n. */
static void call_binary(writer *w, const gp_syntax_node *n, int helper, int len, gp_context ctx) {
    const gp_syntax_node *b = &w->t->nodes.at[n->b];
    if (ctx == X_RETURN) { /* an operator is not a tail call */
        open_text(w, n->start, "(");
        close_at(w, n->end);
    }
    open_call(w, n->start, helper);
    edit(w, n->opat, E_REPLACE, ",", 1, len);
    one_value(w, b);
    close_at(w, n->end);
}

static int comparison_helper(const struct comparison *c, gp_context ctx) {
    if (ctx == X_COND) return H_EQC;
    return ctx == X_RETURN ? H_RETURN + c->helper - H_EQ : c->helper;
}

static void call_comparison(writer *w, const gp_syntax_node *n, const struct comparison *c,
                            gp_context ctx) {
    if (ctx == X_COND && c->helper == H_NE) open_text(w, n->start, "not ");
    call_binary(w, n, comparison_helper(c, ctx), c->len, ctx);
}

/* a == b in a condition, one of them being repeatable: "(=)"(b, a) == b or a == "(=)"(a, b). */
static void same_comparison(writer *w, const gp_syntax_node *a, const gp_syntax_node *b) {
    bool left =
        repeatable(w->t, b) && (!(b->cls & C_ANY) || !repeatable(w->t, a) || (a->cls & C_ANY));
    const gp_syntax_node *kept = left ? b : a, *wrapped = left ? a : b;
    open_call(w, wrapped->start, kept->cls & C_ANY ? H_SAME : H_SAME1);
    open_copy(w, wrapped->start, kept);
    open_text(w, wrapped->start, ",");
    one_value(w, wrapped);
    close_at(w, wrapped->end);
}

/* a < b as a value, both being repeatable: ("(t)"(a, b) and "(<)"(a, b) or a < b). */
static void tensor_comparison(writer *w, const gp_syntax_node *n, const gp_syntax_node *a,
                              const gp_syntax_node *b, const struct comparison *c, gp_context ctx) {
    bool both = a->cls & b->cls & C_ANY;
    open_text(w, n->start, "(");
    open_call(w, n->start, both ? H_TENSOR : H_TENSOR1);
    if (both) open_copy(w, n->start, a), open_text(w, n->start, ",");
    open_copy(w, n->start, both || !(a->cls & C_ANY) ? b : a);
    open_text(w, n->start, ")and ");
    open_call(w, n->start, comparison_helper(c, ctx));
    open_copy(w, n->start, a);
    open_text(w, n->start, ",");
    open_copy(w, n->start, b);
    open_text(w, n->start, ")or ");
    close_at(w, n->end);
}

/* Decides among the three ways to write a comparison that an operator would get wrong. */
static void compare(writer *w, const gp_syntax_node *n, const struct comparison *c,
                    gp_context ctx) {
    const gp_syntax_node *a = &w->t->nodes.at[n->a], *b = &w->t->nodes.at[n->b];
    bool ra = repeatable(w->t, a), rb = repeatable(w->t, b);
    if (stays(a, b, c, ctx)) return;
    if (ctx == X_COND && (ra || rb)) same_comparison(w, a, b);
    else if (ctx != X_COND && ra && rb) tensor_comparison(w, n, a, b, c, ctx);
    else call_comparison(w, n, c, ctx);
}

/* The source from byte start to end as a part of the text that opens at pos. */
static void open_source(writer *w, uint32_t pos, uint32_t start, uint32_t end) {
    edit(w, pos, E_OPEN, w->t->text + start, end - start, 0);
}

/* Whether the text of n can be in a long string on its line. */
static bool quotable(const gp_tree *t, const gp_syntax_node *n) {
    const char *s = t->text + n->start;
    uint32_t len = n->end - n->start;
    if (len > 200 || memchr(s, '\n', len) || memchr(s, '\r', len)) return false;
    for (uint32_t i = 1; i < len; i++)
        if (s[i - 1] == ']' && s[i] == '=') return false;
    return true;
}

/* n compares the comparison `inner` again: a tensor operand raises, and the error shows what Python
 * would do. */
static void link(writer *w, const gp_syntax_node *n, const gp_syntax_node *inner,
                 const gp_syntax_node *operand) {
    uint32_t pos = operand->start;
    if (!(operand->cls & C_ANY)) return;
    open_call(w, pos, H_LINK);
    open_text(w, pos, "[==[");
    if (quotable(w->t, n)) {
        open_text(w, pos, "(");
        open_source(w, pos, inner->start, inner->end);
        open_text(w, pos, ") & (");
        open_source(w, pos, w->t->nodes.at[inner->b].start, n->end);
        open_text(w, pos, ")");
    } else {
        open_text(w, pos, "(a < b) & (b < c)");
    }
    open_text(w, pos, "]==],");
    one_value(w, operand);
    close_at(w, operand->end);
}

/* a < b < c; (a < b) < c is different. */
static void links(writer *w, const gp_syntax_node *n) {
    const gp_syntax_node *inner = &w->t->nodes.at[n->a];
    if (!find_comparison(inner)) return;
    link(w, n, inner, inner);
    link(w, n, inner, &w->t->nodes.at[n->b]);
}

/* ---- Expressions ---- */

/* Recursion goes right and into operands, iteration left: chains nest to the left and may be
 * long. */
static void emit(writer *w, uint32_t i, gp_context ctx) {
    for (;;) {
        const gp_syntax_node *n = &w->t->nodes.at[i];
        const struct comparison *c = find_comparison(n);
        bool transparent =
            c || n->kind == N_PAR || n->op == TK_NOT || n->op == TK_AND || n->op == TK_OR;
        if (ctx == X_COND && !transparent && (n->cls & C_ANY)) wrap(w, H_TRUTH, n);
        if (n->kind < N_PAR) return;
        gp_context inner = ctx, left = X_VALUE;
        if (n->kind == N_PAR || n->op == TK_NOT) {
            left = n->kind == N_PAR ? inner : X_COND;
        } else if (n->kind == N_BIN) {
            bool logic = n->op == TK_AND || n->op == TK_OR;
            if (c) compare(w, n, c, ctx), links(w, n);
            if (n->op == '@') call_binary(w, n, H_MATMUL, 1, ctx);
            emit(w, n->b, logic ? inner : X_VALUE);
            if (logic) left = X_COND;
        }
        i = n->a;
        ctx = left;
    }
}

/* The helper gets the number of parts wanted, in digits, and n with all its values. */
static void unpack(writer *w, const gp_syntax_node *n, uint32_t parts) {
    open_call(w, n->start, H_UNPACK);
    for (uint32_t d = 100; d; d /= 10)
        if (parts >= d) edit(w, n->start, E_OPEN, &"0123456789"[parts / d % 10], 1, 0);
    open_text(w, n->start, ",");
    close_at(w, n->end);
}

/* Every expression of a statement; nested ones are reached from there. */
static void emit_roots(writer *w) {
    for (uint32_t i = 0; i < w->t->roots.n && !w->t->bad; i++) {
        gp_root r = w->t->roots.at[i];
        const gp_syntax_node *n = &w->t->nodes.at[r.node];
        if (r.ctx == X_FOR && (n->cls & C_ANY)) wrap(w, H_NUMBER, n);
        if (r.parts && (n->cls & C_ANY)) unpack(w, n, r.parts);
        if (r.ctx == X_VERDICT && (n->cls & C_ANY)) { /* parentheses: no tail call */
            open_text(w, n->start, "(");
            close_at(w, n->end);
        }
        emit(w, r.node, r.ctx == X_FOR ? X_VALUE : r.ctx == X_VERDICT ? X_COND : r.ctx);
    }
}

static int by_position(const void *x, const void *y) {
    const struct edit *a = x, *b = y;
    if (a->pos != b->pos) return a->pos < b->pos ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* The text with its edits, malloc'ed, or NULL when out of memory. */
static char *write_text(writer *w, size_t *outlen) {
    size_t len = w->t->len, done = 0;
    qsort(w->edits.at, w->edits.n, sizeof *w->edits.at, by_position);
    for (uint32_t i = 0; i < w->edits.n; i++) len = len + w->edits.at[i].len - w->edits.at[i].skip;
    char *out = malloc(len + 1), *p = out;
    if (!out) return NULL;
    for (uint32_t i = 0; i < w->edits.n; i++) {
        const struct edit *e = &w->edits.at[i];
        memcpy(p, w->t->text + done, e->pos - done);
        p += e->pos - done;
        memcpy(p, e->text, e->len);
        p += e->len;
        done = e->pos + e->skip;
    }
    memcpy(p, w->t->text + done, w->t->len - done);
    out[len] = 0;
    *outlen = len;
    return out;
}

/* Whether the text begins with the line --!plain, which turns off the rewrite. */
static bool plain_line(const char *text, size_t len) {
    static const char mark[] = "--!plain";
    if (len && *text == '\n') text++, len--; /* the rest of a first line #! */
    size_t n = sizeof mark - 1;
    if (len < n || memcmp(text, mark, n)) return false;
    while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r')) n++;
    return n == len || text[n] == '\n';
}

/* The steps in order; the caller frees what w and its tree hold. */
static gp_rewritten rewrite(writer *w, char **out, size_t *outlen) {
    gp_tree *t = w->t;
    gp_parse(t);
    if (t->bad) return t->nomem ? GP_REWRITE_MEMORY : GP_REWRITE_SYNTAX;
    w->own_env |= t->env;
    classify(t);
    emit_roots(w);
    if (t->nomem) return GP_REWRITE_MEMORY;
    if (!w->edits.n) return GP_REWRITE_SAME;
    *out = write_text(w, outlen);
    return *out ? GP_REWRITE_DONE : GP_REWRITE_MEMORY;
}

static void free_tree(gp_tree *t) {
    free(t->nodes.at);
    free(t->vars.at);
    free(t->roots.at);
    free(t->assigns.at);
    free(t->products.at);
}

char *gp_rewrite_stock(const char *text, size_t len) {
    gp_tree t = {.text = text, .len = len};
    if (len >= NONE / 2 || !memchr(text, '@', len)) return NULL;
    gp_parse(&t);
    char *out = t.products.n ? malloc(len + 1) : NULL;
    if (out) memcpy(out, text, len), out[len] = 0;
    for (uint32_t i = 0; out && i < t.products.n; i++) out[t.products.at[i]] = '*';
    free_tree(&t);
    return out;
}

bool gp_rewrite_last_local(const char *text, size_t len, size_t *at, size_t *n) {
    gp_tree t = {.text = text, .len = len};
    if (len < NONE / 2) gp_parse(&t);
    *at = t.last_local.start;
    *n = t.last_local.end - t.last_local.start;
    free_tree(&t);
    return !t.bad && *n;
}

gp_rewritten gp_rewrite(const char *text, size_t len, bool own_env, char **out, size_t *outlen) {
    gp_tree t = {.text = text, .len = len};
    writer w = {.t = &t, .own_env = own_env};
    if (plain_line(text, len)) return GP_REWRITE_SAME;
    if (len >= NONE / 2) return GP_REWRITE_MEMORY; /* positions are 32 bits */
    gp_rewritten r = rewrite(&w, out, outlen);
    free_tree(&t);
    free(w.edits.at);
    return r;
}
