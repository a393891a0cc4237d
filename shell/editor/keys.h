/* Keys from the terminal: characters, arrows, pasted text; and the signals of a terminal. */
#ifndef GP_KEYS_H
#define GP_KEYS_H

#include <stdbool.h>
#include <wchar.h>

/* What the up and down arrows are, and a paste, whose text gp_key_pasted reads; behind it what
 * gp_key_whole is about. */
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

/* What makes a terminal mark pasted text, and no longer. */
extern const char gp_paste_on[], gp_paste_off[];

/* Are there a keyboard and a screen whose cursor can be moved? */
bool gp_keys_usable(void);

/* Catches the change of the terminal's size, and signals that end the program, which then finds the
 * terminal as it is now. */
void gp_keys_open(void);

/* The terminal as it was at gp_keys_open, for the end of the program; as a signal handler may. */
void gp_keys_restore(void);
/* Was gp_keys_open called? */
bool gp_keys_used(void);

/* Waits for a key, calling resized when the terminal's size has changed meanwhile; false at the end
 * of the input. Decodes by the current locale. */
bool gp_key_read(wchar_t *key, void (*resized)(void));

/* key, in libedit's notation ("^[[1;5C"), is bound. Other sequences of the terminal's but the usual
 * ones (arrows, Home, End, Delete) are taken and mean nothing; with Shift and the like the usual
 * ones are what they are alone. */
void gp_key_bind(const char *key);

/* Whether Left, Right, Home, End and Delete are keys of their own, or come as what the terminal
 * sends. */
void gp_key_whole(bool are);

/* Is there a key already? */
bool gp_key_pending(void);

/* The next gp_key_read gives c. */
void gp_key_unread(char c);

/* After GP_KEY_PASTE: what is pasted, malloc'ed, NULL when out of memory. */
char *gp_key_pasted(void);

#endif
