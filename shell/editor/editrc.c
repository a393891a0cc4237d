/* The keys that the user binds in ~/.editrc, which take precedence over gpush's own. */
#include "shell/editor/editrc.h"

#include "shell/editor/keys.h"
#include "tensor/base/env.h"

#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a line of ~/.editrc that binds a key. Lines that choose a mode were run before: now they
 * would undo everything. The arrows are keys of our own here. */
static void rebind(EditLine *el, int argc, const char **argv) {
    static const char *const up[] = {"^[[A", "\\e[A", "\\033[A", "^[OA", "\\eOA", "\\033OA", NULL};
    const char *program = strrchr(argv[0], ':');
    if (argc < 3 || strcmp(program ? program + 1 : argv[0], "bind")) return;
    for (int i = 0; up[i]; i++) {
        size_t n = strlen(up[i]) - 1;
        if (strncmp(argv[1], up[i], n) || strlen(argv[1]) != n + 1) continue;
        if (argv[1][n] == 'A') argv[1] = "\\034";
        else if (argv[1][n] == 'B') argv[1] = "\\035";
    }
    for (int i = 1; i < argc; i++) gp_key_bind(argv[i]);
    el_parse(el, argc, argv);
}

void gp_editrc_again(EditLine *el) {
    const char *own = gp_env_text(GP_ENV_EDITRC), *home = gp_env_text(GP_ENV_HOME);
    char path[4096], *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "%s%s", own ? own : home ? home : "", own ? "" : "/.editrc");
    FILE *f = fopen(path, "re");
    Tokenizer *tok = f ? tok_init(NULL) : NULL;
    for (ssize_t n; tok && (n = getline(&line, &cap, f)) > 0;) {
        int argc;
        const char **argv;
        if (line[n - 1] == '\n') line[n - 1] = 0;
        tok_reset(tok);
        if (*line != '#' && tok_str(tok, line, &argc, &argv) == 0 && argc) rebind(el, argc, argv);
    }
    if (tok) tok_end(tok);
    if (f) fclose(f);
    free(line);
}

void gp_editrc_mode(EditLine *el, bool vi) {
    /* Replaces commands of libedit's own history, which is empty here; what reads a line for them
     * crashes on an unknown command. */
    static const char *const command[][2] = {
        {"u", "gpush-undo"},     {"U", "ed-unassigned"}, {"k", "gpush-up"},
        {"\\055", "gpush-up"},   {"K", "gpush-up"},      {"\\034", "gpush-up"},
        {"j", "gpush-down"},     {"+", "gpush-down"},    {"J", "gpush-down"},
        {"\\035", "gpush-down"}, {"/", "gpush-search"},  {"?", "gpush-search"},
        {"n", "ed-unassigned"},  {"N", "ed-unassigned"}, {"_", "ed-unassigned"},
        {"G", "ed-unassigned"},  {"v", "ed-unassigned"}, {"#", "ed-unassigned"},
        {":", "ed-unassigned"},  {"@", "ed-unassigned"}};
    static const char *const emacs[][2] = {{"\\033x", "ed-unassigned"},
                                           {"\\033X", "ed-unassigned"},
                                           {"\\033p", "gpush-up"},
                                           {"\\033P", "gpush-up"},
                                           {"\\033n", "gpush-down"},
                                           {"\\033N", "gpush-down"},
                                           {"\\033[3~", "ed-delete-next-char"},
                                           {"\\033[1;5C", "gpush-word"},
                                           {"\\033[1;5D", "ed-prev-word"},
                                           {"\\033[1;3C", "gpush-word"},
                                           {"\\033[1;3D", "ed-prev-word"}};
    for (size_t i = 0; vi && i < sizeof command / sizeof *command; i++)
        el_set(el, EL_BIND, "-a", command[i][0], command[i][1], NULL);
    for (size_t i = 0; !vi && i < sizeof emacs / sizeof *emacs; i++) {
        gp_key_bind(emacs[i][0]);
        el_set(el, EL_BIND, emacs[i][0], emacs[i][1], NULL);
    }
}
