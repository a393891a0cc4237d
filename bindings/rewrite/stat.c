/* The rewrite's reader of statements: scopes, and the values assigned to local variables. */
#include "bindings/rewrite/parse.h"

#include <stdlib.h>

static void statement(parser *p);

static void condition(parser *p) { gp_parse_root(p, gp_parse_expr(p), X_COND); }

static void scoped_block(parser *p) {
    uint32_t outer = p->scope.n;
    gp_parse_block(p);
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
    do gp_parse_root(p, gp_parse_expr(p), X_FOR);
    while (++bounds < 3 && accept(p, ','));
    if (bounds < 2) mistake(p);
    gp_parse_declare(p, name, C_NUM);
    expect(p, TK_DO);
    gp_parse_block(p);
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
    uint32_t e = gp_parse_list(p, &count);
    if (!p->t->bad && count == 1 && gp_parse_at(p, e)->kind == N_KNOWN &&
        gp_parse_at(p, e)->a == K_IPAIRS)
        index = gp_parse_node(p, (gp_syntax_node){.kind = N_KNOWN, .cls = C_NUM, .a = K_IPAIRS});
    uint32_t first = gp_parse_var(p, index == NONE ? C_ANY : 0);
    gp_parse_activate(p, name, first);
    if (index != NONE) gp_parse_assign(p, first, index);
    for (int i = 1; i < n; i++) gp_parse_declare(p, names[i], C_ANY);
    expect(p, TK_DO);
    gp_parse_block(p);
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
    gp_parse_block(p);
    expect(p, TK_UNTIL);
    condition(p); /* sees the block's variables */
    p->scope.n = outer;
}

static void function_statement(parser *p) {
    bool method = false;
    next(p);
    gp_token name = expect(p, TK_NAME);
    uint32_t f = gp_parse_node(p, (gp_syntax_node){.kind = N_CONST, .cls = C_OBJ});
    if (p->tok.kind == '(') gp_parse_assign_name(p, name, f);
    while (!method && (p->tok.kind == '.' || p->tok.kind == ':')) {
        method = p->tok.kind == ':';
        next(p);
        name = expect(p, TK_NAME);
        if (p->tok.kind == '(') gp_parse_field_function(p, name);
    }
    gp_parse_body(p, method);
}

static uint32_t constant(parser *p, uint8_t cls) {
    return gp_parse_node(p, (gp_syntax_node){.kind = N_CONST, .cls = cls});
}

/* What the variables at set[0..n) get from an expression list that starts here: the values one by
 * one, then nil or, after a call or ..., anything. A name in set that is not a local variable is
 * NONE. */
static void assigned_list(parser *p, const uint32_t *set, uint32_t n) {
    uint32_t i = 0, e;
    do {
        e = gp_parse_expr(p);
        gp_parse_root(p, e, X_VALUE);
        if (i < n && set[i] != NONE) gp_parse_assign(p, set[i], e);
        i++;
    } while (accept(p, ','));
    if (i >= n || p->t->bad) return;
    if (!gp_parse_at(p, e)->multi || gp_parse_at(p, e)->list)
        p->t->roots.at[p->t->roots.n - 1].parts = n - i + 1;
    uint32_t rest = constant(p, gp_parse_at(p, e)->multi ? C_ANY : C_NIL);
    for (; i < n; i++)
        if (set[i] != NONE) gp_parse_assign(p, set[i], rest);
}

static void local_statement(parser *p) {
    gp_token names[256];
    uint32_t vars[256], n = 0;
    bool function = accept(p, TK_FUNCTION);
    if (p->depth == 1) p->t->last_local = p->tok;
    if (function) {
        gp_parse_declare(p, expect(p, TK_NAME), C_OBJ);
        gp_parse_body(p, false);
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
    for (uint32_t i = 0; i < n; i++) vars[i] = gp_parse_var(p, 0);
    if (accept(p, '=')) assigned_list(p, vars, n);
    else
        for (uint32_t i = 0; i < n && !p->t->bad; i++) p->t->vars.at[vars[i]] = C_NIL;
    for (uint32_t i = 0; i < n; i++) gp_parse_activate(p, names[i], vars[i]);
}

/* The variable that assigning to expression e sets, or NONE. */
static uint32_t target(parser *p, uint32_t e) {
    if (p->t->bad) return NONE;
    const gp_syntax_node *n = gp_parse_at(p, e);
    if (n->kind == N_LOCAL) return n->a;
    if (n->kind == N_OTHER) gp_parse_assign_name(p, (gp_token){TK_NAME, n->start, n->end}, NONE);
    return NONE;
}

static void expression_statement(parser *p) {
    LIST(uint32_t) set = {0};
    uint32_t e = gp_parse_suffixed(p);
    if (p->tok.kind == '=' || p->tok.kind == ',') {
        PUSH(p->t, set, target(p, e));
        while (accept(p, ',')) {
            e = gp_parse_suffixed(p);
            PUSH(p->t, set, target(p, e));
        }
        uint32_t end = p->last;
        expect(p, '=');
        if (p->tok.kind == TK_FUNCTION && end >= 4)
            gp_parse_field_function(p, (gp_token){TK_NAME, end - 4, end});
        assigned_list(p, set.at, set.n);
    } else if (!p->t->bad && !gp_parse_at(p, e)->multi) {
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
        uint32_t e = gp_parse_list(p, &count);
        if (count == 1 && !p->t->bad)
            p->t->roots.at[p->t->roots.n - 1] = (gp_root){e, p->verdict ? X_VERDICT : X_RETURN, 0};
    }
    accept(p, ';');
    if (!block_end(p)) mistake(p);
}

static void statement(parser *p) {
    if (!enter(p)) return;
    if (p->depth == 1 && p->tok.kind != ';') p->t->last_local = (gp_token){0};
    switch (p->tok.kind) {
    case ';':
    case TK_BREAK: next(p); break;
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
    case TK_LOCAL:
        next(p);
        local_statement(p);
        break;
    case TK_DBCOLON:
        next(p);
        expect(p, TK_NAME);
        expect(p, TK_DBCOLON);
        break;
    case TK_GOTO:
        next(p);
        expect(p, TK_NAME);
        break;
    case TK_RETURN: return_statement(p); break;
    default: expression_statement(p);
    }
    p->depth--;
}

void gp_parse_block(parser *p) {
    while (!block_end(p)) statement(p);
}

void gp_parse(gp_tree *t) {
    parser p = {.t = t};
    p.tok = gp_lex(t, 0);
    gp_parse_block(&p);
    if (p.tok.kind != TK_EOF) t->bad = true;
    free(p.scope.at);
}
