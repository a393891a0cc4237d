/* Standard input of a kernel: what reads it (io.read, io.lines, io.stdin) asks the front end for a
 * line, which the user types there. */
#include "shell/kernel/kernel.h"

#include <errno.h>
#include <jansson.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

static const gp_kmessage *asker; /* the request that runs, if its front end can be asked */
static char *line;               /* of the answer, with its end */
static size_t line_n, line_at;

static FILE *input;

void gp_kinput_of(const gp_kmessage *m) {
    asker = m;
    if (!input) return;
    clearerr(input);
    __fpurge(input); /* what an earlier cell left of its line */
    line_at = line_n;
}

/* Keeps the value of an answer as a line. */
static bool keep(const gp_kmessage *m) {
    json_t *j = json_loadb(m->part[GP_K_CONTENT].p, m->part[GP_K_CONTENT].n, 0, NULL);
    const json_t *value = json_object_get(j, "value");
    const char *text = json_string_value(value);
    free(line);
    line = NULL, line_n = line_at = 0;
    if (text && asprintf(&line, "%s\n", text) >= 0) line_n = strlen(line);
    json_decref(j);
    return line != NULL;
}

/* Asks, and waits for the answer; false: interrupted, or the end of all input. */
static bool ask(void) {
    gp_kmessage *m;
    while ((m = gp_kqueue_take(&gp_kinputs, false))) gp_kmessage_free(m); /* answers to nothing */
    fflush(stdout);
    gp_ksend(gp_kmessage_new(GP_K_STDIN, asker, "input_request",
                             "{\"prompt\":\"\",\"password\":false}", NULL));
    for (;;) {
        m = gp_kqueue_take(&gp_kinputs, false);
        bool answer = m && !strcmp(m->type, "input_reply") && keep(m);
        gp_kmessage_free(m);
        if (answer) return true;
        if (gp_interrupted || atomic_load(&gp_kending)) return false;
        if (!m) poll(NULL, 0, 10);
    }
}

/* As read(2), for fopencookie. */
static ssize_t read_line(void *cookie, char *to, size_t n) {
    (void)cookie;
    if (line_at == line_n && (!asker || !ask())) return errno = EINTR, asker ? -1 : 0;
    if (n > line_n - line_at) n = line_n - line_at;
    memcpy(to, line + line_at, n);
    line_at += n;
    return (ssize_t)n;
}

void gp_kinput_open(lua_State *L) {
    input = fopencookie(NULL, "r", (cookie_io_functions_t){.read = read_line});
    if (!input) return;
    lua_getglobal(L, "io");
    lua_getfield(L, -1, "stdin");
    luaL_Stream *s = luaL_testudata(L, -1, LUA_FILEHANDLE);
    if (s) s->f = input;
    lua_pop(L, 2);
}
