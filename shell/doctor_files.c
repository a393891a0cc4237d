/* gpush doctor on the installation: how this gpush came here, whether its files are all there, and
 * what brings those that are not. */
#include "shell/doctor.h"

#include "bindings/paths.h"
#include "tensor/io/own_file.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is shared by all machines, below share/gpush or a clone's scripts/: CMake's list, by which
 * it is installed, too. Those of a folder are one after another. */
static const char *const shared[] = {
#include "shell/shared.inc"
};
enum { SHARED = sizeof shared / sizeof *shared, SHOWN = 6 };

bool gp_doctor_any_file(const char *pattern, const char *text) {
    glob_t g;
    char line[200];
    bool found = false;
    if (glob(pattern, 0, NULL, &g)) return false;
    for (size_t i = 0; i < g.gl_pathc && !found; i++) {
        FILE *f = text ? fopen(g.gl_pathv[i], "re") : NULL;
        found = !text || (f && fgets(line, sizeof line, f) && strstr(line, text));
        if (f) fclose(f);
    }
    globfree(&g);
    return found;
}

/* ---- how it came here ---- */

/* Whether a file that matches `pattern` lies below the folder, whose own name is no pattern. */
static bool below(const char *folder, const char *pattern) {
    char path[2 * PATH_MAX + 100];
    size_t n = 0;
    for (const char *s = folder; *s && n < 2 * PATH_MAX - 2; s++) {
        if (strchr("*?[\\", *s)) path[n++] = '\\';
        path[n++] = *s;
    }
    snprintf(path + n, sizeof path - n, "/%s", pattern);
    return gp_doctor_any_file(path, NULL);
}

/* Sets root to own/up, resolved. */
static const char *folder_from_own(const char *up, char root[PATH_MAX]) {
    char own[PATH_MAX], path[2 * PATH_MAX];
    if (!gp_own_folder(own)) return strcpy(root, "");
    snprintf(path, sizeof path, "%s/%s", own, up);
    return realpath(path, root) ? root : strcpy(root, "");
}

static gp_origin find_origin(char root[PATH_MAX]) {
    if (below(folder_from_own("../..", root), "scripts/gpush") && below(root, "CMakeLists.txt"))
        return GP_CLONE;
    char path[PATH_MAX + 20];
    snprintf(path, sizeof path, "%s/../..", gp_scripts_dir()); /* a build folder elsewhere */
    if (realpath(path, root) && below(root, "scripts/gpush") && below(root, "CMakeLists.txt"))
        return GP_CLONE;
    folder_from_own("..", root);
    if (below(root, "lib*/python3*/*-packages/gpush-*.dist-info") ||
        below(root, "gpush-*.dist-info"))
        return GP_WHEEL;
    if (!strcmp(root, "/usr") && below("/var/lib/dpkg/info", "gpush.list")) return GP_PACKAGE;
    return below(root, "gpush.spdx.json") || below(root, "share/gpush/gpush.spdx.json") ? GP_TARBALL
                                                                                        : GP_PREFIX;
}

static char root[PATH_MAX];

gp_origin gp_doctor_origin(void) {
    static int known = -1;
    if (known < 0) known = find_origin(root);
    return (gp_origin)known;
}

const char *gp_doctor_root(void) { return gp_doctor_origin(), root; }

const char *gp_doctor_root_word(void) {
    static char word[4 * PATH_MAX + 3];
    size_t n = 0;
    bool plain = true;
    word[n++] = '\'';
    for (const char *s = gp_doctor_root(); *s; s++) {
        plain = plain && (isalnum((unsigned char)*s) || strchr("/._-+@%:,=", *s));
        n += (size_t)snprintf(word + n, sizeof word - n, *s == '\'' ? "'\\''" : "%c", *s);
    }
    word[n++] = '\'';
    word[n] = 0;
    return plain ? root : word;
}

const char *gp_doctor_python(void) {
    static char path[4 * PATH_MAX + 20];
    snprintf(path, sizeof path, "%s/bin/python3", gp_doctor_root());
    bool own = gp_doctor_origin() == GP_WHEEL && strcmp(root, "/usr/local") && !access(path, X_OK);
    snprintf(path, sizeof path, "%s/bin/python3", gp_doctor_root_word());
    return own ? path : "python3";
}

/* In a clone: `git checkout` undoes edits, so it names no more than is gone. */
static void fix_clone(const char *scripts) {
    char names[3000] = "";
    const char *to = gp_doctor_root_word();
    size_t at = 0;
    for (const char *s = scripts; s && *s && at < sizeof names; s += strspn(s, ", ")) {
        int n = (int)strcspn(s, ",");
        at += (size_t)snprintf(names + at, sizeof names - at, " scripts/%.*s", n, s);
        s += n;
    }
    if (scripts)
        gp_doctor_fix("git -C %s checkout --%s && cmake --build %s/build/default --target ship", to,
                      *names ? names : " scripts, which undoes edits there,", to);
    else gp_doctor_fix("cmake --build %s/build/default --target ship", to);
}

void gp_doctor_reinstall(const char *scripts) {
    switch (gp_doctor_origin()) {
    case GP_CLONE: fix_clone(scripts); return;
    case GP_WHEEL:
        gp_doctor_fix("%s -m pip install --force-reinstall gpush-%s-*.whl, the wheel that it came "
                      "from",
                      gp_doctor_python(), GPUSH_VERSION);
        return;
    case GP_PACKAGE:
        gp_doctor_fix("dpkg -i gpush_%s_*.deb, the package that it came from", GPUSH_VERSION);
        return;
    case GP_TARBALL:
        gp_doctor_fix("tar -C %s --strip-components=1 -xf %s, the tarball that it came from",
                      gp_doctor_root_word(),
                      below(root, "gpu-check") ? "gpush-bundle.tar.xz" : "gpush-*.tar.xz");
        return;
    case GP_PREFIX:
        gp_doctor_fix("cmake --install build/default --prefix %s, in the clone that it came from",
                      gp_doctor_root_word());
    }
}

/* ---- its files ---- */

static bool is_whole(const char *folder, const char *name) {
    char path[2 * PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, R_OK) && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size > 0;
}

static int folder_length(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? (int)(slash - name) : 0;
}

/* The files of the folder that file i is in, which begin with it: how many, and how many of them
 * are not whole. */
static int count_folder(const char *folder, int i, int *bad) {
    int n = 0, length = folder_length(shared[i]);
    *bad = 0;
    for (; i + n < SHARED && folder_length(shared[i + n]) == length &&
           !strncmp(shared[i + n], shared[i], (size_t)length);
         n++)
        *bad += !is_whole(folder, shared[i + n]);
    return n;
}

/* Writes what is not whole to text, a folder that is gone as such; returns the number of files. */
static int list_missing(const char *folder, char *text, size_t size) {
    int all = 0, told = 0, bad;
    size_t at = 0;
    for (int i = 0, n; i < SHARED; i += n) {
        n = count_folder(folder, i, &bad);
        all += bad;
        bool whole = bad == n && n > 1;
        for (int k = i; bad && k < (whole ? i + 1 : i + n) && at < size; k++) {
            if (!whole && is_whole(folder, shared[k])) continue;
            if (told++ >= SHOWN) break;
            at += (size_t)snprintf(text + at, size - at, "%s%.*s%s", told > 1 ? ", " : "",
                                   whole ? folder_length(shared[k]) : 200, shared[k],
                                   whole ? "/" : "");
        }
    }
    if (told > SHOWN && at < size) snprintf(text + at, size - at, ", …");
    return all;
}

void gp_doctor_files(void) {
    char folder[PATH_MAX + 20], text[2000] = "";
    snprintf(folder, sizeof folder, "%s/%s", gp_doctor_root(),
             gp_doctor_origin() == GP_CLONE ? "scripts" : "share/gpush");
    int bad = list_missing(folder, text, sizeof text);
    if (!bad) {
        gp_doctor_say(GP_WORKS, "files", "all %d in %s", SHARED, folder);
        return;
    }
    gp_doctor_say(GP_BROKEN, "files", "%d of %d in %s are missing, empty or not to be read: %s",
                  bad, SHARED, folder, text);
    gp_doctor_reinstall(strstr(text, "…") ? "" : text);
}
