/* The sync report: the ledger as text, one row per source line. */
#ifndef GP_REPORT_H
#define GP_REPORT_H

/* malloc'd text that ends in a newline; the lines that waited longest first. Advice is folded at
 * that many columns (0: never). NULL when out of memory. */
char *gp_sync_report(int columns);

#endif
