/* The user's own keys for the line editor. */
#ifndef GP_EDITRC_H
#define GP_EDITRC_H

#include <stdbool.h>

struct editline;

/* Binds the keys of ~/.editrc, or of $EDITRC, again, over ours. */
void gp_editrc_again(struct editline *el);

/* Binds keys that only one of libedit's modes has: vi's commands, or what terminals send in
 * emacs's. */
void gp_editrc_mode(struct editline *el, bool vi);

#endif
