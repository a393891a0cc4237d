/* Tags: the byte that says what the following bytes of a serialized value are (serialize.c,
 * deserialize.c). */
#ifndef GP_SERIAL_TAGS_H
#define GP_SERIAL_TAGS_H

typedef enum gp_tag {
    GP_TAG_nil,
    GP_TAG_no,
    GP_TAG_yes,
    GP_TAG_int,        /* 8 bytes */
    GP_TAG_float,      /* 8 bytes */
    GP_TAG_string,     /* length in 8 bytes, text */
    GP_TAG_tensor,     /* the next of the tensors */
    GP_TAG_table,      /* keys and values, end, metatable */
    GP_TAG_function,   /* length, bytecode, upvalues, end */
    GP_TAG_c_function, /* its address */
    GP_TAG_name,       /* as a string: its name in the other state (names.h) */
    GP_TAG_again,      /* number of a table or function that came before */
    GP_TAG_shared,     /* number of an upvalue that came before */
    GP_TAG_end,
    GP_TAG_refused /* as a string: why a global is missing */
} gp_tag;

#endif
