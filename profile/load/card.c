/* Reads the card of a saved profile, whose figures a roofline needs; save.c describes it. */
#include <string.h>

#include "profile/load/reader.h"

/* Reads a text of at most size - 1 bytes into buf, which is zeroed. */
static bool read_name(gp_json *j, char *buf, size_t size) {
    gp_json_text text;
    if (!gp_json_string(j, &text)) return false;
    if (text.n >= size || text.escaped)
        return gp_json_fail(j, "a card's name of more than %zu plain bytes", size - 1);
    memcpy(buf, text.p, text.n);
    return true;
}

static bool read_figure(gp_json *j, gp_figure i, double *figure) {
    int64_t bits;
    if (!gp_json_next(j) || !gp_json_int(j, &bits)) return false;
    memcpy(figure, &bits, sizeof *figure);
    return gp_card_allows(i, *figure) ||
           gp_json_fail(j, "a card's figure that is out of range: %s", gp_figure_names[i]);
}

bool gp_load_card(gp_json *j, gp_prof *p) {
    gp_card card;
    memset(&card, 0, sizeof card); /* padding is interned with the rest */
    if (!gp_json_open(j, '[') || !read_name(j, card.key, sizeof card.key) || !gp_json_next(j) ||
        !read_name(j, card.name, sizeof card.name) || !gp_json_next(j) ||
        !gp_json_bool(j, &card.tf32))
        return false;
    for (int i = 0; i < GP_FIGURES; i++)
        if (!read_figure(j, (gp_figure)i, &card.figure[i])) return false;
    if (!gp_json_close(j)) return false;
    const gp_card *known; /* whose shares were measured */
    for (int i = 0; (known = gp_card_at(i)); i++)
        if (!strcmp(known->key, card.key) && gp_card_same(known, &card)) card.known = known->known;
    p->card = gp_intern_add(p->names, &card, sizeof card);
    return p->card || gp_json_fail(j, "out of memory");
}
