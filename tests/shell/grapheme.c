/* Characters in the line editor: where each ends, by the examples of UAX 29, and its number of
 * columns, as terminals show it. */
// NOLINTNEXTLINE(bugprone-suspicious-include): the tests link the core, not the shell
#include "shell/editor/grapheme.c"

#include "tap.h"

#include <locale.h>

/* The first character of text: its length in bytes, its columns. */
static const struct row {
    const char *text, *what;
    int bytes, columns;
} rows[] = {
    {"ab", "a letter", 1, 1},
    {"\xc3\xa9x", "an accented letter", 2, 1},
    {"e\xcc\x81x", "a letter and its accent", 3, 1},
    {"e\xcc\x81\xcc\xa3x", "a letter and two", 5, 1},
    {"\xcc\x81x", "an accent alone", 2, 1},
    {"\xe7\x95\x8cx", "an ideograph", 3, 2},
    {"\nx", "a newline", 1, 1},
    {"\r\n", "a return, for the editor shows each control character", 1, 1},
    {"\n\xcc\x81", "a newline has no accent", 1, 1},
    {"\xff\xffx", "a byte that is none", 1, 1},
    {"\xf0\x9f\x91\x8dx", "an emoji", 4, 2},
    {"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbdx", "an emoji with a skin tone", 8, 2},
    {"\xe2\x98\x9d\xf0\x9f\x8f\xbdx", "a narrow one with a skin tone", 7, 2},
    {"a\xf0\x9f\x8f\xbd", "a letter has no skin tone", 1, 1},
    {"\xe7\x95\x8c\xf0\x9f\x8f\xbd", "nor an ideograph", 3, 2},
    {"\xe2\x9d\xa4x", "a heart", 3, 1},
    {"\xe2\x9d\xa4\xef\xb8\x8fx", "a heart as an emoji", 6, 2},
    {"\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5", "a heart on fire", 13, 2},
    {"1\xef\xb8\x8f\xe2\x83\xa3x", "a keycap", 7, 2},
    {"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7x", "a family", 18,
     2},
    {"a\xe2\x80\x8d\xf0\x9f\x91\xa9", "a joiner joins no letter to an emoji", 4, 1},
    {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab\xf0\x9f\x87\xb7", "the first of two flags",
     8, 2},
    {"\xf0\x9f\x87\xa9x", "half a flag", 4, 2},
    {"\xf0\x9f\xab\xa9x", "an emoji of Unicode 16", 4, 2},
    {"\xf0\xae\xaf\xb0x", "an ideograph of Unicode 15.1", 4, 2},
    {"\xe0\xa4\x95\xe0\xa4\xbex", "a consonant and its vowel sign, with a column each", 6, 2},
    {"\xe0\xa4\x95\xe0\xa4\xbf\xe0\xa4\x83x", "what would be a third column is apart", 6, 2},
    {"\xe0\xa4\x95\xe0\xa5\x8dx", "a consonant and its virama", 6, 1},
    {"\xe0\xb8\x81\xe0\xb8\xb3x", "Thai's sara am", 6, 2},
    {"\xef\xbd\xb6\xef\xbe\x9ex", "a halfwidth kana and its mark", 6, 2},
    {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8x", "a syllable of three jamo", 9, 2},
    {"\xe1\x84\x80\xe1\x84\x80x", "initials do not share columns", 3, 2},
    {"a\xe2\x80\x8bx", "what has no columns belongs to what precedes it", 4, 1},
    {"\xf0\x9d\x94\xbex", "a letter beyond the first plane", 4, 1},
};

int main(void) {
    if (!setlocale(LC_ALL, "C.UTF-8")) return tap_skip_all("no UTF-8 locale here");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int columns = -1;
        int bytes = (int)gp_cluster(rows[i].text, &columns);
        tap_ok(bytes == rows[i].bytes && columns == rows[i].columns,
               "%s: %d bytes, %d columns (got %d, %d)", rows[i].what, rows[i].bytes,
               rows[i].columns, bytes, columns);
    }
    tap_ok(gp_cluster_joins("\xe0\xa4\x95", 3, 0x93e), "a vowel sign joins the consonant");
    tap_ok(!gp_cluster_joins("\xe0\xa4\x95", 3, 0x915), "another consonant does not");
    tap_ok(gp_cluster_joins("\xf0\x9f\x91\x8d", 4, 0x1f3fd), "a skin tone joins the emoji");
    tap_ok(gp_cluster_joins("\xe2\x80\x8d", 3, 0x1f469), "and an emoji the joiner");
    tap_ok(!gp_cluster_joins("", 0, 0x754c), "an ideograph joins nothing");

    /* Text sent to the editor returns unchanged, with one code point per character. */
    const char *text =
        "a\xe0\xa4\x95\xe0\xa4\xbe\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xcc\x81\xe7\x95\x8c";
    wchar_t *points = gp_cluster_encode(text);
    size_t n = points ? wcslen(points) : 0, at = 2;
    char *back = points ? gp_cluster_decode(points, n, &at) : NULL;
    tap_is_int((long long)n, 4, "four characters");
    tap_ok(back && !strcmp(back, text), "come back");
    tap_is_int((long long)at, 7, "with the place of the third");
    for (size_t i = 0; i < n; i++)
        tap_is_int(wcwidth(points[i]), i ? 2 : 1, "the columns of %zu", i);
    free(points);
    free(back);
    gp_cluster_forget();
    return tap_done();
}
