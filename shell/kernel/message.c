/* Messages as frames and back: a signature over four texts in JSON, as
 * https://jupyter-client.readthedocs.io/en/stable/messaging.html describes them. What comes is
 * checked here, before anything else sees it. */
#include "shell/kernel/kernel.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "shell/kernel/sha256.h"

static struct {
    char session[33];
    char *key; /* "": messages are not signed */
    atomic_ulong number;
} own = {.key = ""};

void gp_kmessage_begin(const char *key) {
    uint8_t bytes[16] = {0};
    own.key = strdup(key);
    if (getrandom(bytes, sizeof bytes, 0) < 0) memcpy(bytes, &(time_t){time(NULL)}, sizeof(time_t));
    for (int i = 0; i < 16; i++) snprintf(own.session + 2 * i, 3, "%02x", bytes[i]);
}

gp_kbytes gp_kbytes_copy(const char *p, size_t n) {
    gp_kbytes b = {malloc(n + 1), n};
    if (!b.p) return (gp_kbytes){0};
    memcpy(b.p, p, n);
    b.p[n] = 0;
    return b;
}

void gp_kmessage_free(gp_kmessage *m) {
    if (!m) return;
    for (int i = 0; i < m->nids; i++) free(m->id[i].p);
    for (int i = 0; i < GP_K_PARTS; i++) free(m->part[i].p);
    free(m);
}

void gp_kmessage_sign(const gp_kmessage *m, char out[65]) {
    const char *text[GP_K_PARTS];
    size_t len[GP_K_PARTS];
    for (int i = 0; i < GP_K_PARTS; i++) text[i] = m->part[i].p, len[i] = m->part[i].n;
    if (*own.key) gp_hmac_sha256(own.key, strlen(own.key), text, len, GP_K_PARTS, out);
    else *out = 0;
}

/* ---- what comes ---- */

/* Takes as long for any two texts of that length. */
static bool same(const char *a, const char *b, size_t n) {
    unsigned char differ = 0;
    for (size_t i = 0; i < n; i++) differ |= (unsigned char)(a[i] ^ b[i]);
    return !differ;
}

static bool is_signed(const gp_kmessage *m, gp_kbytes signature) {
    char right[65];
    if (!*own.key) return true;
    gp_kmessage_sign(m, right);
    return signature.n == 64 && same(signature.p, right, 64);
}

/* Copies a field of the header that is a short text; false where it is something else. */
static bool copy_field(const json_t *header, const char *name, char *out, size_t size) {
    const char *text = json_string_value(json_object_get(header, name));
    if (!text || strlen(text) >= size) return false;
    strcpy(out, text);
    return true;
}

/* Whether all parts are JSON objects, and the header names type and sender. */
static bool is_whole(gp_kmessage *m) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    char id[256];
    bool ok = true;
    for (int i = 0; ok && i < GP_K_PARTS; i++) {
        json_t *j = json_loadb(m->part[i].p, m->part[i].n, 0, NULL);
        ok = json_is_object(j);
        if (ok && i == GP_K_HEADER) {
            ok = copy_field(j, "msg_id", id, sizeof id) &&
                 copy_field(j, "msg_type", m->type, sizeof m->type) && *m->type &&
                 !m->type[strspn(m->type, letters)];
            const json_t *sub = json_object_get(j, "subshell_id");
            if (sub && !json_is_null(sub))
                ok = ok && copy_field(j, "subshell_id", m->subshell, sizeof m->subshell);
        }
        json_decref(j);
    }
    return ok;
}

/* The frame that ends the identities; -1: there is none, or a part is missing. */
static int delimiter(const gp_kbytes *frame, int n) {
    static const char mark[] = "<IDS|MSG>";
    for (int i = 0; i < n && i <= GP_K_IDS; i++)
        if (frame[i].n == sizeof mark - 1 && !memcmp(frame[i].p, mark, sizeof mark - 1))
            return i + 1 + GP_K_PARTS < n ? i : -1;
    return -1;
}

gp_kmessage *gp_kmessage_read(gp_kchannel channel, gp_kbytes *frame, int n) {
    int at = delimiter(frame, n);
    gp_kmessage *m = at < 0 ? NULL : calloc(1, sizeof *m);
    gp_kbytes *parts = frame + at + 2;
    bool ok = m != NULL;
    if (ok) {
        m->channel = channel;
        m->nids = at;
        memcpy(m->id, frame, (size_t)at * sizeof *frame);
        memcpy(m->part, parts, sizeof m->part);
        ok = is_signed(m, frame[at + 1]) && is_whole(m);
    }
    for (int i = 0; i < n; i++) /* what m did not take over: the signature, and buffers */
        if (!m || (i >= at && (i < at + 2 || i >= at + 2 + GP_K_PARTS))) free(frame[i].p);
    if (ok) return m;
    gp_kmessage_free(m);
    return NULL;
}

/* ---- what goes ---- */

static gp_kbytes header(const char *type) {
    struct timespec now;
    struct tm utc;
    char text[400], date[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(text, sizeof text,
                     "{\"msg_id\":\"%s_%lu\",\"session\":\"%s\",\"username\":\"kernel\",\"date\":"
                     "\"%s.%06ldZ\",\"msg_type\":\"%s\",\"version\":\"5.5\"}",
                     own.session, atomic_fetch_add(&own.number, 1), own.session, date,
                     now.tv_nsec / 1000, type);
    return gp_kbytes_copy(text, (size_t)n);
}

gp_kmessage *gp_kmessage_new(gp_kchannel channel, const gp_kmessage *to, const char *type,
                             const char *content, const char *metadata) {
    gp_kmessage *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->channel = channel;
    bool topic = channel == GP_K_IOPUB; /* by which subscribers choose */
    m->nids = topic ? 1 : to ? to->nids : 0;
    for (int i = 0; i < m->nids; i++)
        m->id[i] =
            topic ? gp_kbytes_copy(type, strlen(type)) : gp_kbytes_copy(to->id[i].p, to->id[i].n);
    snprintf(m->type, sizeof m->type, "%s", type);
    m->part[GP_K_HEADER] = header(type);
    const gp_kbytes *parent = to ? &to->part[GP_K_HEADER] : NULL;
    m->part[GP_K_PARENT_HEADER] =
        parent ? gp_kbytes_copy(parent->p, parent->n) : gp_kbytes_copy("{}", 2);
    const char *text[] = {metadata ? metadata : "{}", content ? content : "{}"};
    for (int i = 0; i < 2; i++)
        m->part[GP_K_METADATA + i] = gp_kbytes_copy(text[i], strlen(text[i]));
    bool ok = true;
    for (int i = 0; i < m->nids; i++) ok = ok && m->id[i].p;
    for (int i = 0; i < GP_K_PARTS; i++) ok = ok && m->part[i].p;
    if (ok) return m;
    gp_kmessage_free(m);
    return NULL;
}

gp_kmessage *gp_kmessage_take(gp_kchannel channel, const gp_kmessage *to, const char *type,
                              char *content) {
    gp_kmessage *m = content ? gp_kmessage_new(channel, to, type, content, NULL) : NULL;
    free(content);
    return m;
}

/* ---- text ---- */

/* The bytes of the character at s, of which n are there: 0: it is none; more than n: it begins
 * one. */
static size_t character(const unsigned char *s, size_t n) {
    size_t need = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < need && i < n; i++) {
        unsigned char low = 0x80, high = 0xbf;
        if (i == 1 && *s == 0xe0) low = 0xa0;
        if (i == 1 && *s == 0xed) high = 0x9f;
        if (i == 1 && *s == 0xf0) low = 0x90;
        if (i == 1 && *s == 0xf4) high = 0x8f;
        if (s[i] < low || s[i] > high) return 0;
    }
    return need;
}

char *gp_kutf8(const char *s, size_t n, size_t *out_n, size_t *left) {
    static const char unknown[] = "\xef\xbf\xbd";
    char *out = malloc(3 * n + 1), *to = out;
    size_t i = 0;
    if (left) *left = 0;
    while (out && i < n) {
        size_t k = character((const unsigned char *)s + i, n - i);
        if (k > n - i && left) {
            *left = n - i;
            break;
        }
        if (k && k <= n - i) memcpy(to, s + i, k), to += k, i += k;
        else memcpy(to, unknown, 3), to += 3, i++;
    }
    if (!out) return NULL;
    *to = 0;
    *out_n = (size_t)(to - out);
    return out;
}

char *gp_kstream_content(const char *name, const char *text, size_t n) {
    json_t *j = json_pack("{s:s, s:o}", "name", name, "text", json_stringn(text, n));
    char *out = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    return out;
}
