/* Inside the rewrite's reader: its state, its tokens, and the functions that the two halves of the
 * grammar call in each other. */
#ifndef GP_REWRITE_PARSE_H
#define GP_REWRITE_PARSE_H

#include "bindings/rewrite/tree.h"

/* Deeper than Lua itself allows (200), so that Lua also refuses what is refused here. */
#define MAX_DEPTH 1000

/* A local variable in scope: its name and its number. */
typedef struct active {
    const char *name;
    uint32_t len, var;
} active;

typedef struct parser {
    gp_tree *t;
    gp_token tok, ahead;
    bool has_ahead;
    uint32_t last; /* end of the token before tok */
    int depth;
    bool verdict;      /* in a function that is a metamethod of comparison */
    bool next_verdict; /* the function that starts here is one */
    LIST(active) scope;
} parser;

static inline void next(parser *p) {
    p->last = p->tok.end;
    p->tok = p->has_ahead ? p->ahead : gp_lex(p->t, p->tok.end);
    p->has_ahead = false;
}

static inline int look_ahead(parser *p) {
    if (!p->has_ahead) p->ahead = gp_lex(p->t, p->tok.end);
    p->has_ahead = true;
    return p->ahead.kind;
}

/* Everything stops at the end of the text, so a mistake ends the chunk. */
static inline void mistake(parser *p) {
    p->t->bad = true;
    p->has_ahead = false;
    p->tok = (gp_token){TK_EOF, p->t->len, p->t->len};
}

static inline bool accept(parser *p, int kind) {
    if (p->tok.kind != kind) return false;
    next(p);
    return true;
}

static inline gp_token expect(parser *p, int kind) {
    gp_token tok = p->tok;
    if (!accept(p, kind)) mistake(p);
    return tok;
}

static inline bool enter(parser *p) {
    if (++p->depth > MAX_DEPTH) mistake(p);
    return !p->t->bad;
}

/* Variables: a new one that may be cls, its entry into scope, and what it is assigned. */
uint32_t gp_parse_var(parser *p, uint8_t cls);
void gp_parse_activate(parser *p, gp_token name, uint32_t var);
void gp_parse_declare(parser *p, gp_token name, uint8_t cls);
void gp_parse_assign(parser *p, uint32_t var, uint32_t node);
/* The same for a name: a local variable, or a global that gp_known_calls may list. */
void gp_parse_assign_name(parser *p, gp_token name, uint32_t node);

/* Expressions return their node; it ends where the last token ended. Roots are where the writer
 * starts. */
static inline gp_syntax_node *gp_parse_at(parser *p, uint32_t n) { return &p->t->nodes.at[n]; }
uint32_t gp_parse_node(parser *p, gp_syntax_node n);
void gp_parse_root(parser *p, uint32_t n, gp_context ctx);
uint32_t gp_parse_expr(parser *p);
uint32_t gp_parse_suffixed(parser *p);
/* Records that the function expected next is the value of this field. */
void gp_parse_field_function(parser *p, gp_token field);
/* A list of expressions, all made roots; returns the last one. */
uint32_t gp_parse_list(parser *p, uint32_t *count);
/* Parameters and body of a function, up to and with its end. */
void gp_parse_body(parser *p, bool method);
void gp_parse_block(parser *p);

#endif
