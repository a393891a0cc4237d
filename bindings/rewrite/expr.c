/* The rewrite's reader of expressions: records each one, its position, and the local variable that
 * a name is. */
#include "bindings/rewrite/parse.h"

#include <string.h>

const gp_known gp_known_calls[K_COUNT] = {
    [K_TYPE] = {"type", C_STR},     [K_TOSTRING] = {"tostring", C_STR},
    [K_RAWLEN] = {"rawlen", C_NUM}, [K_RAWEQUAL] = {"rawequal", C_BOOL},
    [K_IPAIRS] = {"ipairs", C_ANY},
};

static uint32_t subexpr(parser *p, int limit);

/* ---- variables ---- */

static bool same_name(const parser *p, gp_token name, const char *s, uint32_t len) {
    return name.end - name.start == len && !memcmp(p->t->text + name.start, s, len);
}

uint32_t gp_parse_var(parser *p, uint8_t cls) {
    PUSH(p->t, p->t->vars, cls);
    return p->t->vars.n - 1;
}

void gp_parse_activate(parser *p, gp_token name, uint32_t var) {
    PUSH(p->t, p->scope, (active){p->t->text + name.start, name.end - name.start, var});
}

void gp_parse_declare(parser *p, gp_token name, uint8_t cls) {
    gp_parse_activate(p, name, gp_parse_var(p, cls));
}

/* The innermost variable of that name, or NONE: a global. */
static uint32_t find_local(const parser *p, gp_token name) {
    for (uint32_t i = p->scope.n; i-- > 0;) {
        const active *a = &p->scope.at[i];
        if (same_name(p, name, a->name, a->len)) return a->var;
    }
    return NONE;
}

static int find_known(const parser *p, gp_token name) {
    for (int k = 0; k < K_COUNT; k++) {
        const char *s = gp_known_calls[k].name;
        if (same_name(p, name, s, strlen(s))) return k;
    }
    return -1;
}

void gp_parse_assign(parser *p, uint32_t var, uint32_t node) {
    PUSH(p->t, p->t->assigns, (gp_assign){var, node});
}

void gp_parse_assign_name(parser *p, gp_token name, uint32_t node) {
    uint32_t var = find_local(p, name);
    int k = var == NONE ? find_known(p, name) : -1;
    if (var != NONE) gp_parse_assign(p, var, node);
    if (k >= 0) p->t->tainted[k] = true;
}

/* ---- expressions ---- */

uint32_t gp_parse_node(parser *p, gp_syntax_node n) {
    n.end = p->last;
    PUSH(p->t, p->t->nodes, n);
    return p->t->nodes.n - 1;
}

void gp_parse_root(parser *p, uint32_t n, gp_context ctx) {
    PUSH(p->t, p->t->roots, (gp_root){n, ctx, 0});
}

/* An expression where a value is wanted. */
static void value(parser *p) { gp_parse_root(p, gp_parse_expr(p), X_VALUE); }

uint32_t gp_parse_list(parser *p, uint32_t *count) {
    uint32_t e;
    *count = 0;
    do {
        e = gp_parse_expr(p);
        gp_parse_root(p, e, X_VALUE);
        ++*count;
    } while (accept(p, ','));
    return e;
}

void gp_parse_field_function(parser *p, gp_token field) {
    static const char *const names[] = {"__eq", "__lt", "__le"};
    for (int i = 0; i < 3; i++)
        if (same_name(p, field, names[i], 4)) p->next_verdict = true;
}

/* A constructor. Functions for __eq, __lt and __le in it are called by Lua's own operators: see
 * gp_parse_field_function. */
static void table(parser *p) {
    expect(p, '{');
    while (p->tok.kind != '}' && p->tok.kind != TK_EOF) {
        if (accept(p, '[')) {
            value(p);
            expect(p, ']');
            expect(p, '=');
        } else if (p->tok.kind == TK_NAME && look_ahead(p) == '=') {
            gp_token field = p->tok;
            next(p);
            next(p);
            if (p->tok.kind == TK_FUNCTION) gp_parse_field_function(p, field);
        }
        value(p);
        if (!accept(p, ',') && !accept(p, ';')) break;
    }
    expect(p, '}');
}

void gp_parse_body(parser *p, bool method) {
    uint32_t outer = p->scope.n;
    bool outer_verdict = p->verdict;
    p->verdict = p->next_verdict;
    p->next_verdict = false;
    if (method) PUSH(p->t, p->scope, (active){"self", 4, gp_parse_var(p, C_ANY)});
    expect(p, '(');
    while (p->tok.kind == TK_NAME) {
        gp_parse_declare(p, p->tok, C_ANY);
        next(p);
        if (!accept(p, ',')) break;
    }
    accept(p, TK_DOTS);
    expect(p, ')');
    gp_parse_block(p);
    expect(p, TK_END);
    p->scope.n = outer;
    p->verdict = outer_verdict;
}

/* (…), {…} or a string. */
static void call_arguments(parser *p) {
    uint32_t count;
    if (p->tok.kind == '{') table(p);
    else if (!accept(p, TK_STRING)) {
        expect(p, '(');
        if (p->tok.kind != ')') gp_parse_list(p, &count);
        expect(p, ')');
    }
}

/* One of .name [e] :name(args) (args); false if none follows. */
static bool suffix(parser *p, bool *call) {
    *call = false;
    switch (p->tok.kind) {
    case '.':
        next(p);
        expect(p, TK_NAME);
        return true;
    case '[':
        next(p);
        value(p);
        expect(p, ']');
        return true;
    case ':': next(p); expect(p, TK_NAME); /* fall through */
    case '(':
    case '{':
    case TK_STRING:
        call_arguments(p);
        *call = true;
        return true;
    default: return false;
    }
}

/* Sets the field or method that the suffix starting here names. */
static void name_ahead(parser *p, gp_token *name) {
    if (p->tok.kind != '.' && p->tok.kind != ':') return;
    look_ahead(p);
    *name = p->ahead;
}

/* A name or a parenthesised expression. *known: which of gp_known_calls the name is, or -1. */
static uint32_t primary(parser *p, int *known) {
    gp_syntax_node n = {.kind = N_OTHER, .cls = C_ANY, .start = p->tok.start};
    *known = -1;
    if (accept(p, '(')) {
        n.kind = N_PAR;
        n.a = gp_parse_expr(p);
        expect(p, ')');
        return gp_parse_node(p, n);
    }
    gp_token name = expect(p, TK_NAME);
    if (p->t->bad) return gp_parse_node(p, n);
    n.a = find_local(p, name);
    if (n.a != NONE) n.kind = N_LOCAL;
    else *known = find_known(p, name);
    return gp_parse_node(p, n);
}

/* Whether the call returns one list, which an assignment to several names unpacks, as in Python. */
static bool gives_list(const parser *p, gp_token name) {
    static const char *const names[] = {
        "size",  "stride", "nonzero",      "where",    "split",
        "chunk", "unbind", "tensor_split", "meshgrid", "broadcast_tensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same_name(p, name, names[i], strlen(names[i]))) return true;
    return false;
}

uint32_t gp_parse_suffixed(parser *p) {
    int known;
    bool call, was_call = false;
    gp_token name = p->tok;
    uint32_t first = primary(p, &known), suffixes = 0;
    uint32_t start = p->t->bad ? 0 : gp_parse_at(p, first)->start;
    bool method = p->tok.kind == ':';
    while (name_ahead(p, &name), suffix(p, &call)) {
        if (suffixes++ == 0 && !p->t->bad && gp_parse_at(p, first)->kind == N_PAR)
            gp_parse_root(p, gp_parse_at(p, first)->a, X_VALUE);
        was_call = call;
    }
    if (!suffixes) return first;
    if (suffixes == 1 && was_call && known >= 0 && !method)
        return gp_parse_node(p, (gp_syntax_node){.kind = N_KNOWN,
                                                 .cls = gp_known_calls[known].cls,
                                                 .a = known,
                                                 .start = start,
                                                 .multi = true});
    return gp_parse_node(p, (gp_syntax_node){.kind = N_OTHER,
                                             .cls = C_ANY,
                                             .start = start,
                                             .multi = was_call,
                                             .list = was_call && gives_list(p, name)});
}

/* Constants, ..., constructors, functions, and their suffixes. */
static uint32_t simple(parser *p) {
    gp_syntax_node n = {.kind = N_CONST, .start = p->tok.start};
    switch (p->tok.kind) {
    case TK_NUMBER: n.cls = C_NUM; break;
    case TK_STRING: n.cls = C_STR; break;
    case TK_NIL: n.cls = C_NIL; break;
    case TK_TRUE: n.cls = C_TRUE; break;
    case TK_FALSE: n.cls = C_FALSE; break;
    case TK_DOTS:
        n.kind = N_OTHER;
        n.cls = C_ANY;
        n.multi = true;
        break;
    case '{':
        table(p);
        n.cls = C_OBJ;
        return gp_parse_node(p, n);
    case TK_FUNCTION:
        next(p);
        gp_parse_body(p, false);
        n.cls = C_OBJ;
        return gp_parse_node(p, n);
    default: return gp_parse_suffixed(p);
    }
    next(p);
    return gp_parse_node(p, n);
}

typedef struct power {
    int8_t left, right;
} power;

/* Lua's table of priorities; left is 0 if it is not a binary operator. */
static power priority(int op) {
    switch (op) {
    case TK_OR: return (power){1, 1};
    case TK_AND: return (power){2, 2};
    case '<':
    case '>':
    case TK_LE:
    case TK_GE:
    case TK_NE:
    case TK_EQ: return (power){3, 3};
    case '|': return (power){4, 4};
    case '~': return (power){5, 5};
    case '&': return (power){6, 6};
    case TK_SHL:
    case TK_SHR: return (power){7, 7};
    case TK_CONCAT: return (power){9, 8};
    case '+':
    case '-': return (power){10, 10};
    case '@':
    case '*':
    case '/':
    case TK_IDIV:
    case '%': return (power){11, 11};
    case '^': return (power){14, 13};
    default: return (power){0, 0};
    }
}

#define UNARY_PRIORITY 12

/* Operators that bind tighter than limit; precedence climbing, as in Lua's lparser.c. */
static uint32_t subexpr(parser *p, int limit) {
    uint32_t e = 0, start = p->tok.start;
    if (!enter(p)) return gp_parse_node(p, (gp_syntax_node){.kind = N_CONST, .cls = C_NIL});
    int op = p->tok.kind;
    if (op == TK_NOT || op == '-' || op == '#' || op == '~') {
        uint32_t opat = start;
        next(p);
        uint32_t a = subexpr(p, UNARY_PRIORITY);
        e = gp_parse_node(
            p, (gp_syntax_node){.kind = N_UN, .op = op, .a = a, .start = start, .opat = opat});
    } else {
        e = simple(p);
    }
    for (power w; w = priority(op = p->tok.kind), w.left > limit;) {
        uint32_t opat = p->tok.start;
        if (op == '@') PUSH(p->t, p->t->products, opat);
        next(p);
        uint32_t b = subexpr(p, w.right);
        e = gp_parse_node(
            p, (gp_syntax_node){
                   .kind = N_BIN, .op = op, .a = e, .b = b, .start = start, .opat = opat});
    }
    p->depth--;
    return e;
}

uint32_t gp_parse_expr(parser *p) { return subexpr(p, 0); }
