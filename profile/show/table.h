/* Rows as text, with torch.autograd.profiler's columns, and a roofline's. */
#ifndef GP_TABLE_H
#define GP_TABLE_H

#include "profile/show/rows.h"

/* malloc'd text that ends in a newline; NULL when out of memory. The rows' self times and
 * [unattributed] add up to the wall time. Where a line would have more than width characters,
 * averages and percentages are left out, then names are shortened; columns that still do not fit
 * continue below, with the names again. width 0: all columns. */
char *gp_table_text(const gp_prof *p, const gp_rows *r, int width);

/* "12.000us", "1.234ms", "3.210s", as torch writes times. */
char *gp_table_time(double ns, char *buf, size_t n);
/* "12", "3.2 k", "17.2 G", in units of 1000; "" for 0. Writes at most n bytes and returns buf. */
char *gp_count_text(double v, char *buf, size_t n);
/* "-12 B", "4.00 KiB", "1.50 MiB", in units of 1024. Both write at most n bytes and return buf. */
char *gp_bytes_text(int64_t bytes, char *buf, size_t n);

#endif
