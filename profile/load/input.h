/* The text of a trace's file, or of standard input, unpacked where gzip packed it. A reader goes
 * through it in a window, so that a text of any length takes little memory. */
#ifndef GP_LOAD_INPUT_H
#define GP_LOAD_INPUT_H

#include "profile/load/json.h"

/* Bytes at the text's beginning that stay in memory. */
enum { GP_INPUT_HEAD = 1 << 16 };

/* Opens the file, "-" for standard input, and lets j stand at its beginning, with at least
 * GP_INPUT_HEAD bytes of it or all. At most max bytes are read. False with a message that begins
 * with "profile.load". */
bool gp_input_open(gp_json *j, const char *file, uint64_t max);
/* Whether all of the text from j's place on is in memory. */
bool gp_input_is_over(const gp_json *j);
/* Reads more of the text, and drops what is before j's place, but for the head: texts in the buffer
 * are void then. j->cut: the packed data end early. Where it fails, j has: the file is damaged, has
 * more than max bytes, or interrupted. */
bool gp_input_go_on(gp_json *j);
/* The same for all of it, of which nothing is dropped. */
bool gp_input_all(gp_json *j);
/* After a failure: reads more where j failed because the text in memory ended, and puts it back to
 * `at`. False: that was not why, or there is no more; j has failed. */
bool gp_input_again(gp_json *j, const char *at);
/* Frees the text; j's file and place stay, for messages. */
void gp_input_close(gp_json *j);

#endif
