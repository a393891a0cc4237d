/* Keys from the terminal: characters, arrows, pasted text; and the signals of a terminal. */
#ifndef GP_KEYS_H
#define GP_KEYS_H

#include <stdbool.h>
#include <wchar.h>

/* The up and down arrows; a paste, whose text gp_key_pasted reads; and the keys that gp_key_whole
 * switches. */
enum {
    GP_KEY_UP = 034,
    GP_KEY_DOWN = 035,
    GP_KEY_PASTE = 0x110000,
    GP_KEY_LEFT,
    GP_KEY_RIGHT,
    GP_KEY_HOME,
    GP_KEY_END,
    GP_KEY_DELETE
};

/* Switch a terminal's marking of pasted text on and off. */
extern const char gp_paste_on[], gp_paste_off[];

/* Whether there are a keyboard and a screen whose cursor can be moved. */
bool gp_keys_usable(void);

/* Catches changes of the terminal's size, and signals that end the program, which restore the
 * terminal to its present state. */
void gp_keys_open(void);

/* Restores the terminal to its state at gp_keys_open, for the end of the program; safe in a signal
 * handler. */
void gp_keys_restore(void);
/* Whether gp_keys_open was called. */
bool gp_keys_used(void);

/* Waits for a key, calling resized when the terminal's size has changed meanwhile; false at the end
 * of the input. Decodes by the current locale. */
bool gp_key_read(wchar_t *key, void (*resized)(void));

/* Declares that key, in libedit's notation ("^[[1;5C"), is bound. Other sequences except the usual
 * ones (arrows, Home, End, Delete) are consumed and ignored; Shift and similar modifiers on the
 * usual ones are ignored. */
void gp_key_bind(const char *key);

/* Whether Left, Right, Home, End and Delete are keys of their own, or come as the terminal's
 * sequences. */
void gp_key_whole(bool are);

/* Whether a key has already been typed. */
bool gp_key_pending(void);

/* Makes the next gp_key_read return c. */
void gp_key_unread(char c);

/* After GP_KEY_PASTE: the pasted text, malloc'ed, NULL when out of memory. */
char *gp_key_pasted(void);

#endif
