/* Signatures of ops, parsed from the texts in ops.def for argument checks, help and completion. */
#ifndef GP_SIG_H
#define GP_SIG_H

#include <stdbool.h>
#include <stdint.h>

/* `type name=default, …`; `type? name` may be left out, `tensor! x` may be written in place,
 * `tensors! xs` are written by the op. Types of parameters. `operand` is a tensor or a number;
 * `dim` is one dim counted from 1 or the end; `dims` and `shape` are lists of integers (a table,
 * or consecutive numbers), `ints` a table or one number; `padding` is ints or one of the strings
 * 'same' and 'valid'; `tensors` is a table of tensors, `varargs` one or consecutive tensors;
 * `program` is one that fuse or cuda.kernel made, which Lua has no values for; `group` one of
 * ranks, which only scripts/lua/dist passes; `any` is any Lua value. Of functions in Lua: `numbers`
 * is a number or a list of numbers, `order`, which norms have, a number or a string. Of functions
 * that are not ops, which take arguments as they are given: `value` is any Lua value, also a table
 * that could be options; `text` a string; `table` a table (`table?` is absent where the argument is
 * not one); `list` a table that has the entries 1 to n only; `function` what can be called; `rest`,
 * at the end, all that follows, and then there are no options; `self`, the first, an object of the
 * class that the parameter's name says. */
typedef enum gp_sig_type {
#define SIG(name) GP_SIG_##name,
#include "tensor/sig.def"
    GP_SIGS
} gp_sig_type;

typedef struct gp_param {
    char name[28];
    uint8_t type;  /* gp_sig_type */
    bool optional; /* `?`: may be absent or nil */
    bool written;  /* `!`: the op has an in-place form, NAME_, that writes this tensor; of a list:
                      the op writes it */
    bool has_default;
    double number; /* default of int, dim, float, number, bool (0 or 1) */
    char text[16]; /* default of str, dtype */
} gp_param;

#define GP_MAX_PARAMS 18

typedef struct gp_sig {
    int n;
    gp_param p[GP_MAX_PARAMS];
} gp_sig;

/* Parses `text`. False with a message if it is not a signature. */
bool gp_sig_parse(const char *text, gp_sig *out);

#endif
