/* The rewrite's reader: Lua's grammar, noting every expression, where it stands, and what local variables may hold. */
#include "bindings/rewrite_tree.h"

#include <stdlib.h>
#include <string.h>

/* Deeper than Lua itself allows (200), so what is refused here is refused there too. */
#define MAX_DEPTH 1000

const gp_known gp_known_calls[K_COUNT] = {
    [K_TYPE] = {"type", C_STR}, [K_TOSTRING] = {"tostring", C_STR}, [K_RAWLEN] = {"rawlen", C_NUM},
    [K_RAWEQUAL] = {"rawequal", C_BOOL}, [K_IPAIRS] = {"ipairs", C_ANY},
};

struct active {
    const char *name;
    uint32_t len, var;
};

typedef struct parser {
    gp_tree *t;
    gp_token tok, ahead;
    bool has_ahead;
    uint32_t last; /* end of the token before tok */
    int depth;
    LIST(struct active) scope;
} parser;

static uint32_t expr(parser *p);
static void block(parser *p);
static void statement(parser *p);

/* tokens ---------------------------------------------------------------------------------------------------------- */

static void next(parser *p) {
    p->last = p->tok.end;
    p->tok = p->has_ahead ? p->ahead : gp_lex(p->t, p->tok.end);
    p->has_ahead = false;
}

static int look_ahead(parser *p) {
    if (!p->has_ahead) p->ahead = gp_lex(p->t, p->tok.end);
    p->has_ahead = true;
    return p->ahead.kind;
}

/* Everything stops at the end of the text, so a mistake ends the chunk. */
static void mistake(parser *p) {
    p->t->bad = true;
    p->has_ahead = false;
    p->tok = (gp_token){TK_EOF, p->t->len, p->t->len};
}

static bool accept(parser *p, int kind) {
    if (p->tok.kind != kind) return false;
    next(p);
    return true;
}

static gp_token expect(parser *p, int kind) {
    gp_token tok = p->tok;
    if (!accept(p, kind)) mistake(p);
    return tok;
}

static bool enter(parser *p) {
    if (++p->depth > MAX_DEPTH) mistake(p);
    return !p->t->bad;
}

/* variables ------------------------------------------------------------------------------------------------------- */

static bool same_name(const parser *p, gp_token name, const char *s, uint32_t len) {
    return name.end - name.start == len && !memcmp(p->t->text + name.start, s, len);
}

static uint32_t new_var(parser *p, uint8_t cls) {
    PUSH(p->t, p->t->vars, cls);
    return p->t->vars.n - 1;
}

static void activate(parser *p, gp_token name, uint32_t var) {
    PUSH(p->t, p->scope, (struct active){p->t->text + name.start, name.end - name.start, var});
}

static void declare(parser *p, gp_token name, uint8_t cls) { activate(p, name, new_var(p, cls)); }

static uint32_t find_local(const parser *p, gp_token name) {
    for (uint32_t i = p->scope.n; i-- > 0;) {
        const struct active *a = &p->scope.at[i];
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

static void assign(parser *p, uint32_t var, uint32_t node) {
    PUSH(p->t, p->t->assigns, (gp_assign){var, node});
}

/* An assignment of an unknown or known value to a name: a local variable, or a global that gp_known_calls may list. */
static void assign_name(parser *p, gp_token name, uint32_t node) {
    uint32_t var = find_local(p, name);
    int k = var == NONE ? find_known(p, name) : -1;
    if (var != NONE) assign(p, var, node);
    if (k >= 0) p->t->tainted[k] = true;
}

/* expressions ----------------------------------------------------------------------------------------------------- */

static uint32_t node(parser *p, gp_node n) {
    n.end = p->last;
    PUSH(p->t, p->t->nodes, n);
    return p->t->nodes.n - 1;
}

static gp_node *at(parser *p, uint32_t n) { return &p->t->nodes.at[n]; }

static void root(parser *p, uint32_t n, gp_context ctx) { PUSH(p->t, p->t->roots, (gp_root){n, ctx}); }

static void value(parser *p) { root(p, expr(p), X_VALUE); }

static void condition(parser *p) { root(p, expr(p), X_COND); }

/* Returns the last expression of the list; the others are roots already, and so is the last. */
static uint32_t expr_list(parser *p, uint32_t *count) {
    uint32_t e;
    *count = 0;
    do {
        e = expr(p);
        root(p, e, X_VALUE);
        ++*count;
    } while (accept(p, ','));
    return e;
}

static void table(parser *p) {
    expect(p, '{');
    while (p->tok.kind != '}' && p->tok.kind != TK_EOF) {
        if (accept(p, '[')) {
            value(p);
            expect(p, ']');
            expect(p, '=');
        } else if (p->tok.kind == TK_NAME && look_ahead(p) == '=') {
            next(p);
            next(p);
        }
        value(p);
        if (!accept(p, ',') && !accept(p, ';')) break;
    }
    expect(p, '}');
}

/* Parameters and body up to end. */
static void body(parser *p, bool method) {
    uint32_t outer = p->scope.n;
    if (method) PUSH(p->t, p->scope, (struct active){"self", 4, new_var(p, C_ANY)});
    expect(p, '(');
    while (p->tok.kind == TK_NAME) {
        declare(p, p->tok, C_ANY);
        next(p);
        if (!accept(p, ',')) break;
    }
    accept(p, TK_DOTS);
    expect(p, ')');
    block(p);
    expect(p, TK_END);
    p->scope.n = outer;
}

static void call_arguments(parser *p) {
    uint32_t count;
    if (p->tok.kind == '{') table(p);
    else if (!accept(p, TK_STRING)) {
        expect(p, '(');
        if (p->tok.kind != ')') expr_list(p, &count);
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
    case ':':
        next(p);
        expect(p, TK_NAME); /* fall through */
    case '(': case '{': case TK_STRING:
        call_arguments(p);
        *call = true;
        return true;
    default:
        return false;
    }
}

static uint32_t primary(parser *p, int *known) {
    gp_node n = {.kind = N_OTHER, .cls = C_ANY, .start = p->tok.start};
    *known = -1;
    if (accept(p, '(')) {
        n.kind = N_PAR;
        n.a = expr(p);
        expect(p, ')');
        return node(p, n);
    }
    gp_token name = expect(p, TK_NAME);
    if (p->t->bad) return node(p, n);
    n.a = find_local(p, name);
    if (n.a != NONE) n.kind = N_LOCAL;
    else *known = find_known(p, name);
    return node(p, n);
}

static uint32_t suffixed(parser *p) {
    int known;
    bool call, was_call = false;
    uint32_t first = primary(p, &known), suffixes = 0;
    uint32_t start = p->t->bad ? 0 : at(p, first)->start;
    bool method = p->tok.kind == ':';
    while (suffix(p, &call)) {
        if (suffixes++ == 0 && !p->t->bad && at(p, first)->kind == N_PAR) root(p, at(p, first)->a, X_VALUE);
        was_call = call;
    }
    if (!suffixes) return first;
    if (suffixes == 1 && was_call && known >= 0 && !method)
        return node(p, (gp_node){.kind = N_KNOWN, .cls = gp_known_calls[known].cls, .a = known, .start = start, .multi = true});
    return node(p, (gp_node){.kind = N_OTHER, .cls = C_ANY, .start = start, .multi = was_call});
}

static uint32_t simple(parser *p) {
    gp_node n = {.kind = N_CONST, .start = p->tok.start};
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
        return node(p, n);
    case TK_FUNCTION:
        next(p);
        body(p, false);
        n.cls = C_OBJ;
        return node(p, n);
    default: return suffixed(p);
    }
    next(p);
    return node(p, n);
}

typedef struct power {
    int8_t left, right;
} power;

/* Lua's table of priorities; left is 0 for what is no binary operator. */
static power priority(int op) {
    switch (op) {
    case TK_OR: return (power){1, 1};
    case TK_AND: return (power){2, 2};
    case '<': case '>': case TK_LE: case TK_GE: case TK_NE: case TK_EQ: return (power){3, 3};
    case '|': return (power){4, 4};
    case '~': return (power){5, 5};
    case '&': return (power){6, 6};
    case TK_SHL: case TK_SHR: return (power){7, 7};
    case TK_CONCAT: return (power){9, 8};
    case '+': case '-': return (power){10, 10};
    case '*': case '/': case TK_IDIV: case '%': return (power){11, 11};
    case '^': return (power){14, 13};
    default: return (power){0, 0};
    }
}

#define UNARY_PRIORITY 12

static uint32_t subexpr(parser *p, int limit) {
    uint32_t e = 0, start = p->tok.start;
    if (!enter(p)) return node(p, (gp_node){.kind = N_CONST, .cls = C_NIL});
    int op = p->tok.kind;
    if (op == TK_NOT || op == '-' || op == '#' || op == '~') {
        uint32_t opat = start;
        next(p);
        uint32_t a = subexpr(p, UNARY_PRIORITY);
        e = node(p, (gp_node){.kind = N_UN, .op = op, .a = a, .start = start, .opat = opat});
    } else {
        e = simple(p);
    }
    for (power w; w = priority(op = p->tok.kind), w.left > limit;) {
        uint32_t opat = p->tok.start;
        next(p);
        uint32_t b = subexpr(p, w.right);
        e = node(p, (gp_node){.kind = N_BIN, .op = op, .a = e, .b = b, .start = start, .opat = opat});
    }
    p->depth--;
    return e;
}

static uint32_t expr(parser *p) { return subexpr(p, 0); }

/* statements ------------------------------------------------------------------------------------------------------ */

static void scoped_block(parser *p) {
    uint32_t outer = p->scope.n;
    block(p);
    p->scope.n = outer;
}

static void if_statement(parser *p) {
    do {
        next(p);
        condition(p);
        expect(p, TK_THEN);
        scoped_block(p);
    } while (p->tok.kind == TK_ELSEIF);
    if (accept(p, TK_ELSE)) scoped_block(p);
    expect(p, TK_END);
}

static void numeric_for(parser *p, gp_token name) {
    uint32_t outer = p->scope.n;
    int bounds = 0;
    do root(p, expr(p), X_FOR);
    while (++bounds < 3 && accept(p, ','));
    if (bounds < 2) mistake(p);
    declare(p, name, C_NUM);
    expect(p, TK_DO);
    block(p);
    expect(p, TK_END);
    p->scope.n = outer;
}

static void generic_for(parser *p, gp_token name) {
    uint32_t outer = p->scope.n, count, index = NONE;
    gp_token names[256] = {name};
    int n = 1;
    while (accept(p, ',')) {
        if (n < 256) names[n++] = p->tok;
        expect(p, TK_NAME);
    }
    expect(p, TK_IN);
    uint32_t e = expr_list(p, &count);
    if (!p->t->bad && count == 1 && at(p, e)->kind == N_KNOWN && at(p, e)->a == K_IPAIRS)
        index = node(p, (gp_node){.kind = N_KNOWN, .cls = C_NUM, .a = K_IPAIRS});
    uint32_t first = new_var(p, index == NONE ? C_ANY : 0);
    activate(p, name, first);
    if (index != NONE) assign(p, first, index);
    for (int i = 1; i < n; i++) declare(p, names[i], C_ANY);
    expect(p, TK_DO);
    block(p);
    expect(p, TK_END);
    p->scope.n = outer;
}

static void for_statement(parser *p) {
    next(p);
    gp_token name = expect(p, TK_NAME);
    if (accept(p, '=')) numeric_for(p, name);
    else generic_for(p, name);
}

static void repeat_statement(parser *p) {
    uint32_t outer = p->scope.n;
    next(p);
    block(p);
    expect(p, TK_UNTIL);
    condition(p); /* sees the block's variables */
    p->scope.n = outer;
}

static void function_statement(parser *p) {
    bool method = false;
    next(p);
    gp_token name = expect(p, TK_NAME);
    uint32_t f = node(p, (gp_node){.kind = N_CONST, .cls = C_OBJ});
    if (p->tok.kind == '(') assign_name(p, name, f);
    while (!method && (p->tok.kind == '.' || p->tok.kind == ':')) {
        method = p->tok.kind == ':';
        next(p);
        expect(p, TK_NAME);
    }
    body(p, method);
}

static uint32_t constant(parser *p, uint8_t cls) { return node(p, (gp_node){.kind = N_CONST, .cls = cls}); }

/*
 * What the variables at set[0..n) get from an expression list that starts here: the values one by one, then nil or,
 * after a call or ..., anything. A name in set that is no local variable is NONE.
 */
static void assigned_list(parser *p, const uint32_t *set, uint32_t n) {
    uint32_t i = 0, e;
    do {
        e = expr(p);
        root(p, e, X_VALUE);
        if (i < n && set[i] != NONE) assign(p, set[i], e);
        i++;
    } while (accept(p, ','));
    if (i >= n || p->t->bad) return;
    uint32_t rest = constant(p, at(p, e)->multi ? C_ANY : C_NIL);
    for (; i < n; i++)
        if (set[i] != NONE) assign(p, set[i], rest);
}

static void local_statement(parser *p) {
    gp_token names[256];
    uint32_t vars[256], n = 0;
    if (accept(p, TK_FUNCTION)) {
        declare(p, expect(p, TK_NAME), C_OBJ);
        body(p, false);
        return;
    }
    do {
        if (n == 256) return mistake(p); /* Lua allows 200 */
        names[n++] = expect(p, TK_NAME);
        if (accept(p, '<')) {
            expect(p, TK_NAME);
            expect(p, '>');
        }
    } while (accept(p, ','));
    for (uint32_t i = 0; i < n; i++) vars[i] = new_var(p, 0);
    if (accept(p, '=')) assigned_list(p, vars, n);
    else
        for (uint32_t i = 0; i < n && !p->t->bad; i++) p->t->vars.at[vars[i]] = C_NIL;
    for (uint32_t i = 0; i < n; i++) activate(p, names[i], vars[i]);
}

/* The variable that assigning to expression e sets, or NONE. */
static uint32_t target(parser *p, uint32_t e) {
    if (p->t->bad) return NONE;
    const gp_node *n = at(p, e);
    if (n->kind == N_LOCAL) return n->a;
    if (n->kind == N_OTHER) assign_name(p, (gp_token){TK_NAME, n->start, n->end}, NONE);
    return NONE;
}

static void expression_statement(parser *p) {
    LIST(uint32_t) set = {0};
    uint32_t e = suffixed(p);
    if (p->tok.kind == '=' || p->tok.kind == ',') {
        PUSH(p->t, set, target(p, e));
        while (accept(p, ',')) {
            e = suffixed(p);
            PUSH(p->t, set, target(p, e));
        }
        expect(p, '=');
        assigned_list(p, set.at, set.n);
    } else if (!p->t->bad && !at(p, e)->multi) {
        mistake(p); /* neither a call nor an assignment */
    }
    free(set.at);
}

static bool block_end(const parser *p) {
    int k = p->tok.kind;
    return k == TK_EOF || k == TK_END || k == TK_ELSE || k == TK_ELSEIF || k == TK_UNTIL;
}

static void return_statement(parser *p) {
    uint32_t count;
    next(p);
    if (!block_end(p) && p->tok.kind != ';') {
        uint32_t e = expr_list(p, &count);
        if (count == 1 && !p->t->bad) p->t->roots.at[p->t->roots.n - 1] = (gp_root){e, X_RETURN};
    }
    accept(p, ';');
    if (!block_end(p)) mistake(p);
}

static void statement(parser *p) {
    if (!enter(p)) return;
    switch (p->tok.kind) {
    case ';': case TK_BREAK: next(p); break;
    case TK_IF: if_statement(p); break;
    case TK_WHILE:
        next(p);
        condition(p);
        expect(p, TK_DO);
        scoped_block(p);
        expect(p, TK_END);
        break;
    case TK_DO:
        next(p);
        scoped_block(p);
        expect(p, TK_END);
        break;
    case TK_FOR: for_statement(p); break;
    case TK_REPEAT: repeat_statement(p); break;
    case TK_FUNCTION: function_statement(p); break;
    case TK_LOCAL: next(p); local_statement(p); break;
    case TK_DBCOLON:
        next(p);
        expect(p, TK_NAME);
        expect(p, TK_DBCOLON);
        break;
    case TK_GOTO: next(p); expect(p, TK_NAME); break;
    case TK_RETURN: return_statement(p); break;
    default: expression_statement(p);
    }
    p->depth--;
}

static void block(parser *p) {
    while (!block_end(p)) statement(p);
}

void gp_parse(gp_tree *t) {
    parser p = {.t = t};
    p.tok = gp_lex(t, 0);
    block(&p);
    if (p.tok.kind != TK_EOF) t->bad = true;
    free(p.scope.at);
}
