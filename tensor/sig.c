/* Parses signatures of ops, the texts in ops.def. */
#include "tensor/sig.h"

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

static bool param_default(const char **s, gp_param *p) {
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
    if (end == *s) return false;
    *s = end;
    return true;
}

static bool param(const char **s, gp_param *p) {
    char type[16];
    if (!word(s, type, sizeof type)) return false;
    int t = 0;
    while (t < GP_SIGS && strcmp(type, type_names[t])) t++;
    if (t == GP_SIGS) return false;
    p->type = (uint8_t)t;
    if (**s == '?') p->optional = true, ++*s;
    if (**s == '!') p->written = true, ++*s;
    blanks(s);
    if (!word(s, p->name, sizeof p->name)) return false;
    if (**s == '=') return ++*s, param_default(s, p);
    return true;
}

bool gp_sig_parse(const char *text, gp_sig *out) {
    memset(out, 0, sizeof *out);
    const char *s = text;
    blanks(&s);
    while (*s) {
        if (out->n == GP_MAX_PARAMS || !param(&s, &out->p[out->n++]))
            return gp_fail("signature '%s' is malformed at '%s'", text, s);
        blanks(&s);
        if (*s == ',') s++;
        blanks(&s);
    }
    return true;
}
