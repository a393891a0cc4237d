/* Parses signatures of ops, the texts in ops.def. */
#include "tensor/sig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"

static const char *const type_names[] = {
#define SIG(name) #name,
#include "tensor/sig.def"
};

/* Copies the word at *s (letters, digits, _) and moves on; false if it is empty or too long. */
static bool word(const char **s, char *out, size_t size) {
    size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (n == 0 || n >= size) return false;
    memcpy(out, *s, n);
    out[n] = 0;
    *s += n;
    return true;
}

static void blanks(const char **s) { *s += strspn(*s, " "); }

enum { WHY = 120 }; /* bytes of what is wrong; empty: that it is malformed there */

/* Whether the default is a number of the parameter's type. */
static bool fits(const gp_param *p, char *why) {
    bool whole = p->type == GP_SIG_int || p->type == GP_SIG_dim;
    if (!whole || p->number == (double)(int64_t)p->number) return true;
    snprintf(why, WHY, "the default of '%s' is no %s", p->name, type_names[p->type]);
    return false;
}

/* A number, true, false, or a text in quotes. */
static bool param_default(const char **s, gp_param *p, char *why) {
    p->has_default = true;
    if (**s == '"') {
        size_t n = strcspn(++*s, "\"");
        if (n >= sizeof p->text || !(*s)[n]) return false;
        memcpy(p->text, *s, n);
        *s += n + 1;
        return true;
    }
    if (!strncmp(*s, "true", 4) || !strncmp(*s, "false", 5)) {
        p->number = **s == 't';
        *s += **s == 't' ? 4 : 5;
        return true;
    }
    char *end;
    p->number = strtod(*s, &end);
    if (end == *s)
        snprintf(why, WHY, "the default of '%s' is no number, true, false or \"text\"", p->name);
    if (end == *s) return false;
    *s = end;
    return fits(p, why);
}

static bool param(const char **s, gp_param *p, char *why) {
    char type[16];
    if (!word(s, type, sizeof type)) return false;
    int t = 0;
    while (t < GP_SIGS && strcmp(type, type_names[t])) t++;
    if (t == GP_SIGS) return snprintf(why, WHY, "unknown type '%s'", type), false;
    p->type = (uint8_t)t;
    if (**s == '?') p->optional = true, ++*s;
    if (**s == '!') p->written = true, ++*s;
    blanks(s);
    if (!word(s, p->name, sizeof p->name)) return false;
    if (**s == '=') return ++*s, param_default(s, p, why);
    return true;
}

static bool one(const char **s, const char *text, gp_param *p) {
    char why[WHY];
    *why = 0;
    if (param(s, p, why)) return true;
    if (*why) return gp_fail("signature '%s': %s", text, why);
    return gp_fail("signature '%s' is malformed at '%s'", text, *s);
}

bool gp_sig_parse(const char *text, gp_sig *out) {
    memset(out, 0, sizeof *out);
    const char *s = text;
    blanks(&s);
    while (*s) {
        if (out->n == GP_MAX_PARAMS)
            return gp_fail("signature '%s' has more than %d parameters", text, GP_MAX_PARAMS);
        if (!one(&s, text, &out->p[out->n++])) return false;
        blanks(&s);
        if (*s == ',') s++;
        blanks(&s);
    }
    return true;
}
