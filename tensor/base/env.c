/* Reads the variables of the environment, each as its row of env.def says. */
#include "tensor/base/env.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tensor/base/error.h"
#include "tensor/base/safe_text.h"

enum { WORDS = 4 };
typedef enum kind { A_TEXT, AN_INTEGER, SOME_INTEGERS, A_SIZE, A_WORD } kind;

static const struct {
    const char *name;
    kind kind;
    int64_t least, most; /* of a size: bytes of a number alone, and 0 */
    const char *unit, *word[WORDS];
} rows[GP_ENVS] = {
#define INTEGER(name, least, most) {#name, AN_INTEGER, least, most, NULL, {NULL}},
#define INTEGERS(name, least, most) {#name, SOME_INTEGERS, least, most, NULL, {NULL}},
#define SIZE(name, bytes, unit) {#name, A_SIZE, bytes, 0, unit, {NULL}},
#define WORD(name, ...) {#name, A_WORD, 0, 0, NULL, {__VA_ARGS__}},
#define TEXT(name) {#name, A_TEXT, 0, 0, NULL, {NULL}},
#include "tensor/base/env.def"
};

const char *gp_env_name(gp_env v) { return rows[v].name; }

const char *gp_env_text(gp_env v) {
    const char *text = getenv(rows[v].name);
    return text && *text ? text : NULL;
}

bool gp_env_is(gp_env v, const char *word) {
    const char *text = gp_env_text(v);
    return text && !strcmp(text, word);
}

uint64_t gp_size_parse(const char *text, double unit) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                 {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"K", 0x1p10},
                 {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40}};
    char *end;
    double n = strtod(text, &end);
    if (end == text) return 0;
    while (*end == ' ') end++;
    if (*end) unit = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(end, units[i].name)) unit = units[i].bytes;
    return n * unit >= 1 && n * unit <= 0x1p62 ? (uint64_t)(n * unit) : 0;
}

/* The first integer of text if all of it is one from least to most, or, with `several`, many of
 * them with commas between; INT64_MIN where it is not. */
static int64_t integer(const char *text, int64_t least, int64_t most, bool several) {
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || n < least || n > most) return INT64_MIN;
    while (isspace((unsigned char)*end)) end++;
    if (several && *end == ',' && integer(end + 1, least, most, true) != INT64_MIN) return n;
    return *end ? INT64_MIN : n;
}

/* The number that the text is for v; INT64_MIN where it is none. */
static int64_t number(gp_env v, const char *text) {
    uint64_t bytes;
    switch (rows[v].kind) {
    case AN_INTEGER:
    case SOME_INTEGERS:
        return integer(text, rows[v].least, rows[v].most, rows[v].kind == SOME_INTEGERS);
    case A_SIZE:
        bytes = gp_size_parse(text, (double)rows[v].least);
        return bytes ? (int64_t)bytes : INT64_MIN;
    default: return INT64_MIN;
    }
}

int64_t gp_env_number(gp_env v, int64_t otherwise) {
    const char *text = gp_env_text(v);
    int64_t n = text ? number(v, text) : INT64_MIN;
    return n == INT64_MIN ? otherwise : n;
}

static bool usable(gp_env v, const char *text) {
    bool known = false;
    for (int i = 0; i < WORDS && rows[v].word[i]; i++) known |= !strcmp(text, rows[v].word[i]);
    return rows[v].kind == A_TEXT ||
           (rows[v].kind == A_WORD ? known : number(v, text) != INT64_MIN);
}

/* What is expected of v. */
static void describe(gp_env v, char *text, size_t size) {
    bool several = rows[v].kind == SOME_INTEGERS;
    int n = 0;
    if (rows[v].kind == A_SIZE)
        snprintf(text, size, "a size such as 3GB, 512MiB or 512M; a number alone is in %s",
                 rows[v].unit);
    else if (rows[v].kind != A_WORD && rows[v].most < INT_MAX)
        snprintf(text, size, "an integer from %lld to %lld", (long long)rows[v].least,
                 (long long)rows[v].most);
    else if (rows[v].kind != A_WORD)
        snprintf(text, size, "%s of at least %lld%s", several ? "integers" : "an integer",
                 (long long)rows[v].least, several ? ", as in 4 or 4,2" : "");
    for (int i = 0; i < WORDS && rows[v].word[i]; i++)
        n += snprintf(text + n, size - (size_t)n, "%s%s",
                      !i                                     ? ""
                      : i + 1 < WORDS && rows[v].word[i + 1] ? ", "
                                                             : " or ",
                      rows[v].word[i]);
}

bool gp_env_check(void) {
    char value[200], expected[100];
    for (gp_env v = 0; v < GP_ENVS; v++) {
        const char *text = gp_env_text(v);
        if (!text || usable(v, text)) continue;
        describe(v, expected, sizeof expected);
        return gp_fail("%s=%s: expected %s", rows[v].name, gp_safe_text(text, value, sizeof value),
                       expected);
    }
    return true;
}
