/* The user's own keys for the line editor. */
#ifndef GP_EDITRC_H
#define GP_EDITRC_H

struct editline;

/* Binds the keys of ~/.editrc, or of $EDITRC, once more, over ours. */
void gp_editrc_again(struct editline *el);

#endif
