/* What a compiled kernel's file says of itself: the source line of each instruction, from its
 * .debug_line (DWARF 4, which the compiler is asked for), and its variables, from its symbols. */
#ifndef GP_SIMT_LINES_H
#define GP_SIMT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_simt_line {
    uint64_t at; /* from where the file is loaded */
    int order;   /* of two at one address the later one counts */
    int line;    /* of the kernel's own text; 0: of what is put before it */
} gp_simt_line;

typedef struct gp_simt_lines {
    int n;
    gp_simt_line *row; /* by address; malloc'd */
} gp_simt_lines;

enum { GP_SYMBOL_NAME = 40 };
typedef struct gp_simt_symbol {
    char name[GP_SYMBOL_NAME];
    uint64_t at, size;  /* of a shared one: from the thread's block; else from the file's start */
    bool shared, guard; /* guard: C++'s own, of a variable that has a constructor */
} gp_simt_symbol;

typedef struct gp_simt_symbols {
    int n;
    gp_simt_symbol *row;     /* malloc'd */
    uint64_t shared;         /* bytes of the thread's block */
    uint64_t first;          /* where gp_first is in it */
    uint64_t data, data_end; /* the variables that are not shared */
    uint64_t end;            /* of all that is loaded */
} gp_simt_symbols;

/* Reads both from the n bytes of an ELF file; what it does not understand is left out. */
void gp_simt_read_elf(const char *p, size_t n, gp_simt_lines *lines, gp_simt_symbols *symbols);
/* The line at that address; 0: not known. */
int gp_simt_line_at(const gp_simt_lines *l, uint64_t at);
/* Whether the instruction there is of the kernel's own text. */
bool gp_simt_own_line(const gp_simt_lines *l, uint64_t at);

#endif
