/* Inside the rewrite: tokens, expression nodes and the reader's output for the writer. */
#ifndef GP_REWRITE_TREE_H
#define GP_REWRITE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tokens of one character are that character. */
/* clang-format off */
enum {
    TK_EOF = 256, TK_NAME, TK_STRING, TK_NUMBER, TK_DOTS, TK_CONCAT, TK_IDIV, TK_SHL, TK_SHR,
    TK_EQ, TK_NE, TK_LE, TK_GE, TK_DBCOLON, TK_AND, TK_BREAK, TK_DO, TK_ELSE, TK_ELSEIF, TK_END,
    TK_FALSE, TK_FOR, TK_FUNCTION, TK_GOTO, TK_IF, TK_IN, TK_LOCAL, TK_NIL, TK_NOT, TK_OR,
    TK_REPEAT, TK_RETURN, TK_THEN, TK_TRUE, TK_UNTIL, TK_WHILE
};
/* clang-format on */

typedef struct gp_token {
    int kind;
    uint32_t start, end; /* bytes of the text */
} gp_token;

/* What a value may be: a union of these. Only ANY may be a tensor. */
enum {
    C_NIL = 1,
    C_FALSE = 2,
    C_TRUE = 4,
    C_NUM = 8,
    C_STR = 16,
    C_OBJ = 32,
    C_ANY = 64,
    C_BOOL = C_FALSE | C_TRUE
};

typedef enum gp_node_kind {
    N_CONST, /* cls is fixed; a number's text may be repeated */
    N_LOCAL, /* a local variable or upvalue: a is its number */
    N_OTHER, /* may be anything: fields, calls, globals, ... */
    N_KNOWN, /* a call of global function number a of gp_known */
    N_PAR,   /* (a) */
    N_UN,    /* op a */
    N_BIN    /* a op b */
} gp_node_kind;

typedef struct gp_syntax_node {
    uint8_t kind, cls;
    bool multi; /* may give any number of values: a call or ... */
    bool list;  /* may be one of gpush's lists where several values are assigned */
    int16_t op; /* token of the operator */
    uint32_t a, b;
    uint32_t start, end; /* bytes of the text */
    uint32_t opat;       /* position of the operator */
} gp_syntax_node;

/* The context of an expression. X_VERDICT: alone after the return of a comparison's metamethod. */
typedef enum gp_context { X_VALUE, X_COND, X_RETURN, X_VERDICT, X_FOR } gp_context;

/* Global functions whose result is known as long as the chunk does not assign them. */
enum { K_TYPE, K_TOSTRING, K_RAWLEN, K_RAWEQUAL, K_IPAIRS, K_COUNT };
typedef struct gp_known {
    const char *name;
    uint8_t cls;
} gp_known;
extern const gp_known gp_known_calls[K_COUNT];

/* An outermost expression, and a value that a local variable gets. */
typedef struct gp_root {
    uint32_t node;
    gp_context ctx;
    uint32_t parts; /* parts to unpack if it is a list; 0: it stays one */
} gp_root;

typedef struct gp_assign {
    uint32_t var, node;
} gp_assign;

#define NONE UINT32_MAX

#define LIST(T)                                                                                    \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t n, cap;                                                                           \
    }

typedef struct gp_tree {
    const char *text;
    uint32_t len;
    bool bad, nomem;
    bool env;                   /* the name _ENV occurs */
    bool tainted[K_COUNT];      /* the chunk assigns this global */
    gp_token last_local;        /* the name that the last statement declares, or an empty one */
    LIST(gp_syntax_node) nodes; /* children before parents */
    LIST(uint8_t) vars;         /* class of each local variable */
    LIST(gp_root) roots;
    LIST(gp_assign) assigns;
    LIST(uint32_t) products; /* bytes with an operator @ */
} gp_tree;

/* Makes room for one more element and returns whether there is. */
bool gp_tree_grow(gp_tree *t, void **at, uint32_t n, uint32_t *cap, size_t size);
#define PUSH(t, list, ...)                                                                         \
    (gp_tree_grow(t, (void **)&(list).at, (list).n, &(list).cap, sizeof *(list).at)                \
         ? (void)((list).at[(list).n++] = (__VA_ARGS__))                                           \
         : (void)0)

/* Reads the token at or after byte at; an invalid one sets t->bad and reads as the end. */
gp_token gp_lex(gp_tree *t, uint32_t at);

/* Reads the whole chunk into roots, nodes and assigns; t->bad if it is not Lua. */
void gp_parse(gp_tree *t);

#endif
