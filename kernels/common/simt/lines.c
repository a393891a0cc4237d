/* Reads ELF and DWARF 4 (its section 6.2): just what gcc writes for a kernel. All offsets are
 * checked, since the file comes from disk. */
#include "kernels/common/simt/lines.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ---- */

typedef struct elf {
    const char *p;
    size_t n;
    const Elf64_Ehdr *head;
} elf;

/* n elements of that size at offset `at`, or NULL. */
static const void *part(const elf *e, uint64_t at, uint64_t n, uint64_t size) {
    return n <= e->n / (size ? size : 1) && at <= e->n - n * size ? e->p + at : NULL;
}

static const Elf64_Shdr *section(const elf *e, int i) {
    const Elf64_Shdr *s = part(e, e->head->e_shoff, e->head->e_shnum, sizeof *s);
    return s && i < e->head->e_shnum ? s + i : NULL;
}

static const char *text_at(const elf *e, const Elf64_Shdr *strings, uint64_t at) {
    const char *p =
        strings && at < strings->sh_size ? part(e, strings->sh_offset, strings->sh_size, 1) : NULL;
    return p && memchr(p + at, 0, strings->sh_size - at) ? p + at : "";
}

static const Elf64_Shdr *section_named(const elf *e, const char *name) {
    const Elf64_Shdr *names = section(e, e->head->e_shstrndx);
    for (int i = 0; i < e->head->e_shnum; i++) {
        const Elf64_Shdr *s = section(e, i);
        if (s && !strcmp(text_at(e, names, s->sh_name), name)) return s;
    }
    return NULL;
}

/* ---- variables ---- */

/* Of a mangled name the last one that it is made of: "_ZZ5scaleIfEvPT_E4tile_0" is tile. A name
 * stands after its length, that of a function's variable after an E, a static one's after an L.
 * After the last one there are an E and a number at most. */
static const char *last_name(const char *name, size_t *n) {
    const char *last = name + strlen(name), *from = last, *found = NULL;
    while (from > name && strchr("_0123456789E", from[-1])) from--;
    for (const char *stop = last; stop >= from; stop--)
        for (const char *at = stop; --at > name + 1;) {
            char *rest;
            size_t length = *at > '0' && *at <= '9' ? strtoul(at, &rest, 10) : 0;
            if (!length || rest + length != stop) continue;
            found = rest, *n = length;
            if (strchr("EL", at[-1])) return found;
        }
    if (!found) *n = (size_t)(last - name);
    return found ? found : name;
}

/* "tile.3", of a function's static, is "tile". */
static void add_symbol(gp_simt_symbols *all, const char *name, const Elf64_Sym *s, bool shared) {
    size_t n = strcspn(name, ".");
    bool guard = !strncmp(name, "_ZGV", 4);
    if (!strncmp(name, "_Z", 2)) name = last_name(name, &n);
    if (!strncmp(name, "gp_first", 8)) all->first = s->st_value;
    if ((!guard && !strncmp(name, "gp_", 3)) || !s->st_size) return;
    gp_simt_symbol *row = realloc(all->row, (size_t)(all->n + 1) * sizeof *row);
    if (!row) return;
    all->row = row;
    row += all->n++;
    *row =
        (gp_simt_symbol){.at = s->st_value, .size = s->st_size, .shared = shared, .guard = guard};
    if (n >= sizeof row->name) n = sizeof row->name - 1;
    memcpy(row->name, name, n);
}

static void read_symbols(const elf *e, gp_simt_symbols *all) {
    const Elf64_Shdr *table = section_named(e, ".symtab");
    const Elf64_Shdr *strings = table ? section(e, (int)table->sh_link) : NULL;
    uint64_t n = table ? table->sh_size / sizeof(Elf64_Sym) : 0;
    const Elf64_Sym *s = table ? part(e, table->sh_offset, n, sizeof *s) : NULL;
    for (uint64_t i = 0; s && i < n; i++) {
        int type = ELF64_ST_TYPE(s[i].st_info);
        if (type == STT_TLS || type == STT_OBJECT)
            add_symbol(all, text_at(e, strings, s[i].st_name), &s[i], type == STT_TLS);
    }
}

static void read_segments(const elf *e, gp_simt_symbols *all) {
    const Elf64_Phdr *h = part(e, e->head->e_phoff, e->head->e_phnum, sizeof *h);
    for (int i = 0; h && i < e->head->e_phnum; i++) {
        if (h[i].p_type == PT_TLS) all->shared = h[i].p_memsz;
        if (h[i].p_type != PT_LOAD) continue;
        uint64_t end = h[i].p_vaddr + h[i].p_memsz;
        if (end > all->end) all->end = end;
        if (h[i].p_flags & PF_W) all->data = h[i].p_vaddr, all->data_end = end;
    }
}

/* ---- lines ---- */

typedef struct reader {
    const uint8_t *p, *end;
} reader;

static uint64_t fixed(reader *r, int bytes) {
    uint64_t v = 0;
    if (r->end - r->p < bytes) return r->p = r->end, 0;
    memcpy(&v, r->p, (size_t)bytes);
    r->p += bytes;
    return v;
}

static uint64_t uleb(reader *r) {
    uint64_t v = 0;
    for (int shift = 0; r->p < r->end; shift += 7) {
        uint8_t b = *r->p++;
        if (shift < 64) v |= (uint64_t)(b & 127) << shift;
        if (b < 128) break;
    }
    return v;
}

static int64_t sleb(reader *r) {
    uint64_t v = 0;
    int shift = 0;
    while (r->p < r->end) {
        uint8_t b = *r->p++;
        if (shift < 64) v |= (uint64_t)(b & 127) << shift;
        shift += 7;
        if (b >= 128) continue;
        if (b & 64 && shift < 64) v |= ~(uint64_t)0 << shift;
        break;
    }
    return (int64_t)v;
}

static const char *string(reader *r) {
    const char *s = (const char *)r->p;
    const uint8_t *zero = memchr(r->p, 0, (size_t)(r->end - r->p));
    if (!zero) return r->p = r->end, "";
    r->p = zero + 1;
    return s;
}

/* A table's header, and the state of its machine. */
typedef struct machine {
    int least, base, range, first_special;
    uint8_t lengths[256]; /* of standard opcodes, in operands */
    uint64_t kernel;      /* the number of the file that is the kernel's text; 0: none */
    uint64_t address, file;
    int64_t line;
} machine;

static void emit(gp_simt_lines *l, const machine *m) {
    if (l->n % 1024 == 0) {
        gp_simt_line *row = realloc(l->row, (size_t)(l->n + 1024) * sizeof *row);
        if (!row) return;
        l->row = row;
    }
    l->row[l->n] = (gp_simt_line){m->address, l->n, m->file == m->kernel ? (int)m->line : 0};
    l->n++;
}

static void reset(machine *m) { m->address = 0, m->file = 1, m->line = 1; }

static void extended(reader *r, machine *m, gp_simt_lines *l) {
    uint64_t n = uleb(r);
    if (!n || n > (uint64_t)(r->end - r->p)) {
        r->p = r->end;
        return;
    }
    const uint8_t *next = r->p + n;
    int op = (int)fixed(r, 1);
    if (op == 1) emit(l, m), reset(m);
    if (op == 2) m->address = fixed(r, 8);
    r->p = next;
}

static void standard(reader *r, machine *m, gp_simt_lines *l, int op) {
    switch (op) {
    case 1: emit(l, m); break;
    case 2: m->address += uleb(r) * (uint64_t)m->least; break;
    case 3: m->line += sleb(r); break;
    case 4: m->file = uleb(r); break;
    case 8: m->address += (uint64_t)((255 - m->first_special) / m->range * m->least); break;
    case 9: m->address += fixed(r, 2); break;
    default:
        for (int i = 0; i < m->lengths[op]; i++) uleb(r);
    }
}

static void run_program(reader *r, machine *m, gp_simt_lines *l) {
    reset(m);
    while (r->p < r->end) {
        int op = *r->p++;
        if (!op) extended(r, m, l);
        else if (op < m->first_special) standard(r, m, l, op);
        else {
            int by = op - m->first_special;
            m->address += (uint64_t)(by / m->range * m->least);
            m->line += m->base + by % m->range;
            emit(l, m);
        }
    }
}

/* The header's lists of folders and of files. */
static void read_files(reader *r, machine *m) {
    while (r->p < r->end && *string(r)) {
    }
    for (uint64_t i = 1; r->p < r->end; i++) {
        const char *name = string(r);
        if (!*name) return;
        if (!strcmp(name, "kernel")) m->kernel = i;
        uleb(r), uleb(r), uleb(r);
    }
}

/* One table; false where it is not of version 2 to 4. */
static bool read_table(reader *r, gp_simt_lines *l) {
    machine m = {0};
    uint64_t n = fixed(r, 4);
    if (n > (uint64_t)(r->end - r->p)) return false;
    reader t = {r->p, r->p + n};
    r->p += n;
    int version = (int)fixed(&t, 2);
    if (version < 2 || version > 4) return false;
    uint64_t header = fixed(&t, 4);
    if (header > (uint64_t)(t.end - t.p)) return false;
    const uint8_t *program = t.p + header;
    m.least = (int)fixed(&t, 1);
    if (version == 4) fixed(&t, 1);
    fixed(&t, 1);
    m.base = (int8_t)fixed(&t, 1);
    m.range = (int)fixed(&t, 1);
    m.first_special = (int)fixed(&t, 1);
    if (!m.range || !m.first_special) return false;
    for (int i = 1; i < m.first_special; i++) m.lengths[i] = (uint8_t)fixed(&t, 1);
    read_files(&t, &m);
    t.p = program;
    run_program(&t, &m, l);
    return true;
}

static int by_address(const void *a, const void *b) {
    const gp_simt_line *s = a, *t = b;
    if (s->at == t->at) return s->order - t->order;
    return (s->at > t->at) - (s->at < t->at);
}

void gp_simt_read_elf(const char *p, size_t n, gp_simt_lines *lines, gp_simt_symbols *symbols) {
    elf e = {p, n, (const void *)p};
    *lines = (gp_simt_lines){0};
    *symbols = (gp_simt_symbols){0};
    if (n < sizeof *e.head || memcmp(p, ELFMAG, SELFMAG) || p[EI_CLASS] != ELFCLASS64 ||
        e.head->e_shentsize != sizeof(Elf64_Shdr) || e.head->e_phentsize != sizeof(Elf64_Phdr))
        return;
    read_segments(&e, symbols);
    read_symbols(&e, symbols);
    const Elf64_Shdr *s = section_named(&e, ".debug_line");
    const uint8_t *at = s ? part(&e, s->sh_offset, s->sh_size, 1) : NULL;
    if (!at) return;
    reader r = {at, at + s->sh_size};
    while (r.end - r.p > 4 && read_table(&r, lines)) {
    }
    if (lines->n) qsort(lines->row, (size_t)lines->n, sizeof *lines->row, by_address);
}

/* Rows up to that address. */
static int rows_to(const gp_simt_lines *l, uint64_t at) {
    int low = 0, high = l->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (l->row[middle].at <= at) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool gp_simt_own_line(const gp_simt_lines *l, uint64_t at) {
    int n = rows_to(l, at);
    return n && l->row[n - 1].line;
}

int gp_simt_line_at(const gp_simt_lines *l, uint64_t at) {
    int low = rows_to(l, at);
    while (low > 0 && !l->row[low - 1].line) low--;
    return low ? l->row[low - 1].line : 0;
}
