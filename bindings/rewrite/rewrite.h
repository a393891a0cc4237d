/* The tensor-syntax rewrite: Lua text in, Lua text out, in which truth tests and comparisons of
 * tensors are right. */
#ifndef GP_REWRITE_H
#define GP_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

/* The functions that rewritten text calls. Each helper is a global of this name, which no
 * identifier can have, and also a field of every string; truth.c defines them all. a and b are
 * operands in source order. */
#define GP_H_TRUTH "(?)" /* (x) -> x, or false for a false tensor */
/* (x, y) -> y; if one is a tensor: x if they are equal, else a value that x does not equal */
#define GP_H_SAME "(=)"
#define GP_H_SAME1 "(=1)"   /* the same where x cannot be a tensor */
#define GP_H_TENSOR "(t)"   /* (a, b) -> true if one is a tensor, else nothing */
#define GP_H_TENSOR1 "(t1)" /* (x) -> the same for one */
#define GP_H_EQC "(==?)"    /* (a, b) -> boolean */
#define GP_H_EQ "(==)"      /* (a, b) -> boolean or bool tensor; so the next five */
#define GP_H_NE "(~=)"
#define GP_H_LT "(<)"
#define GP_H_LE "(<=)"
#define GP_H_GT "(>)"
#define GP_H_GE "(>=)"
/* The same after a return: the truth where the function runs as a metamethod of Lua's
 * comparisons. */
#define GP_H_RETURN "return"
#define GP_H_LINK                                                                                  \
    "(<<)" /* (text, x) -> x, if it is not a tensor: else raises with text, two comparisons */
#define GP_H_UNPACK "(,)" /* (n, x) -> x, or the n parts of one of gpush's lists */
#define GP_H_MATMUL "(@)" /* (a, b) -> their matrix product */
#define GP_H_NUMBER "(n)" /* (x) -> x, or the number in a one-element tensor */

typedef enum gp_rewritten {
    GP_REWRITE_SAME,   /* nothing to change: use the text as it is */
    GP_REWRITE_DONE,   /* *out holds the new text */
    GP_REWRITE_SYNTAX, /* not Lua: let Lua say why */
    GP_REWRITE_MEMORY
} gp_rewritten;

/* Rewrites text of len bytes. Lines keep their numbers. own_env says that the chunk will not see
 * the global table, so that helpers are reached through strings only. On GP_REWRITE_DONE *out is
 * malloc'ed, of *outlen bytes, and the caller frees it. A text whose first line is "--!plain" is
 * unchanged. */
gp_rewritten gp_rewrite(const char *text, size_t len, bool own_env, char **out, size_t *outlen);

/* The text, malloc'ed and of the same length, with * for each operator @, which has the same
 * precedence: Lua's messages for a chunk with mistakes are made from that. NULL where there is no
 * such operator, or no memory. */
char *gp_rewrite_stock(const char *text, size_t len);

/* Whether the chunk's last statement declares a local variable or function, which nothing can use.
 * If so, its name has n bytes from *at on. */
bool gp_rewrite_last_local(const char *text, size_t len, size_t *at, size_t *n);

#endif
