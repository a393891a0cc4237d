/* A pull reader of JSON that lies in memory, for traces: it makes no values, and says where an
 * error is. */
#ifndef GP_LOAD_JSON_H
#define GP_LOAD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_load_window gp_load_window;

/* *end is 0, which no valid text contains. */
typedef struct gp_json {
    const char *start, *at, *end;
    const char *file;      /* for messages */
    gp_load_window *input; /* of which more is read (input.h); NULL: all is there */
    int64_t before;        /* bytes that it has dropped */
    bool failed;           /* the message is set; from then on nothing is read */
    bool ended;            /* it failed because the text ends too early */
    bool cut;              /* the text is known to: the file's packed data do */
    int64_t cut_at; /* bytes of the file that the text was made of, which ends early; 0: it does
                       not */
} gp_json;

/* A text in the buffer, without its quotes; escaped: it holds backslashes. */
typedef struct gp_json_text {
    const char *p;
    size_t n;
    bool escaped;
} gp_json_text;

/* The number of the present byte. */
static inline int64_t gp_json_byte(const gp_json *j) { return j->before + (j->at - j->start); }

/* Fails at the present byte: "profile.load: FILE: byte N: ...". The first message stays. */
bool gp_json_fail(gp_json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline bool gp_json_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
/* Reads over space, of which one character has been read. */
void gp_json_space(gp_json *j);

/* The next character that is not space; 0 at the end or after a failure. */
static inline char gp_json_peek(gp_json *j) {
    if (gp_json_is_space(*j->at) && gp_json_is_space(*++j->at)) gp_json_space(j);
    return j->failed ? 0 : *j->at;
}

/* An array or object is read by
 *     if (gp_json_open(j, '[')) for (bool first = true; gp_json_more(j, ']', &first);) ...
 * where each round reads one element; of an object gp_json_key, then the value. */
bool gp_json_open(gp_json *j, char bracket);
bool gp_json_more(gp_json *j, char close, bool *first);
bool gp_json_key(gp_json *j, gp_json_text *key);
/* In an array of known length after an element: reads on to the next one, or over the end. */
bool gp_json_next(gp_json *j);
bool gp_json_close(gp_json *j);

/* A text, whose escapes are checked and kept. */
bool gp_json_string(gp_json *j, gp_json_text *text);
/* An integer of 64 bits. */
bool gp_json_int(gp_json *j, int64_t *value);
/* A number times 1000, rounded: microseconds as nanoseconds, exactly. */
bool gp_json_milli(gp_json *j, int64_t *value);
/* A number times 1,000,000, rounded. */
bool gp_json_micro(gp_json *j, int64_t *value);
bool gp_json_bool(gp_json *j, bool *value);
/* Reads over one value, of at most 512 levels. */
bool gp_json_skip(gp_json *j);
/* Fails unless only space is left. */
bool gp_json_done(gp_json *j);

static inline bool gp_json_is(const gp_json_text *t, const char *word, size_t n) {
    return t->n == n && !__builtin_memcmp(t->p, word, n);
}
#define GP_JSON_IS(text, word) gp_json_is(text, word, sizeof(word) - 1)

/* Writes the text without its escapes to `to`, of at least t->n bytes, and returns its length.
 * \u escapes become UTF-8, halves of pairs U+FFFD. False escapes have failed before. */
size_t gp_json_unescape(const gp_json_text *t, char *to);
/* The text as an integer; false where it is none. */
bool gp_json_text_int(const gp_json_text *t, int64_t *value);

#endif
