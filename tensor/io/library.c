/* Looks at a library's ELF header before dlopen does: how long the file should be, and for which
 * processor it is. What is no ELF file at all is left to dlopen's own message. */
#include "tensor/io/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local char text[PATH_MAX + 200];

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

/* The length that the file must have for its segments; 0 where that cannot be read. */
static uint64_t length_of(int fd, const Elf64_Ehdr *e) {
    uint64_t length = e->e_phoff;
    for (int i = 0; i < e->e_phnum; i++) {
        Elf64_Phdr p;
        off_t at = (off_t)(e->e_phoff + (uint64_t)i * e->e_phentsize);
        if (pread(fd, &p, sizeof p, at) != sizeof p) return (uint64_t)at + sizeof p;
        if (p.p_type == PT_LOAD && p.p_offset + p.p_filesz > length)
            length = p.p_offset + p.p_filesz;
    }
    return length;
}

/* Whether dlopen may read the file; else text says why not. */
static bool is_usable(int fd, const char *path) {
    Elf64_Ehdr e;
    struct stat st;
    if (fstat(fd, &st) || pread(fd, &e, sizeof e, 0) != sizeof e) return true;
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64) return true;
    uint64_t length = length_of(fd, &e);
    if ((uint64_t)st.st_size < length)
        snprintf(text, sizeof text, "%s is cut off: %jd of its %ju bytes are there", path,
                 (intmax_t)st.st_size, (uintmax_t)length);
    else if (e.e_machine != MACHINE)
        snprintf(text, sizeof text, "%s is for another kind of processor", path);
    else return true;
    return false;
}

void *gp_library_open(const char *path, int flags, const char **why) {
    int fd = strchr(path, '/') ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool usable = fd < 0 || is_usable(fd, path);
    if (fd >= 0) close(fd);
    void *so = usable ? dlopen(path, flags) : NULL;
    const char *error = so || !usable ? NULL : dlerror();
    if (error) snprintf(text, sizeof text, "%s", error);
    *why = text;
    return so;
}
