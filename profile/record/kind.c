/* What kind of numbers times are: one place for the words. */
#include "profile/record/kind.h"

#include <stdio.h>
#include <string.h>

#include "profile/record/record.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/card/model.h"

static const char measured[] = "measured", cpu_backed[] = "CPU-backed, not a GPU's";

char *gp_kind_now(bool sim, char buf[GP_KIND_TEXT]) {
    bool counted = gp_clock_op_ns(); /* the host's time, too, is the model's */
    if (gp_model_card() && (sim || counted)) return gp_model_text(buf, GP_KIND_TEXT);
    snprintf(buf, GP_KIND_TEXT, "%s", sim ? cpu_backed : measured);
    return buf;
}

char *gp_kind_of_device(const char *name, char buf[GP_KIND_TEXT]) {
    return gp_kind_now(name && !strncmp(name, "sim", 3), buf);
}

static bool is_own(const char *kind) {
    return !kind || !strcmp(kind, measured) || !strcmp(kind, cpu_backed);
}

bool gp_kinds_compare(const char *a, const char *b) {
    return is_own(a) ? is_own(b) : b && !strcmp(a, b);
}

bool gp_prof_has_sim(const gp_prof *p) {
    for (const gp_track *t = p->foreign ? NULL : p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (gp_rec_is_work(r) && !strcmp(((gp_stream *)r->where)->dev->vt->kind, "sim"))
                return true;
    }
    return false;
}

char *gp_prof_kind(const gp_prof *p, char buf[GP_PROF_KIND_TEXT]) {
    const char *made = p->modelled ? p->modelled : gp_prof_has_sim(p) ? cpu_backed : NULL;
    if (!p->predicted) snprintf(buf, GP_PROF_KIND_TEXT, "%s", made ? made : measured);
    else
        snprintf(buf, GP_PROF_KIND_TEXT, "predicted by a replay, not measured (%s%s%s)%s%s",
                 p->predicted, p->accuracy ? "; " : "", p->accuracy ? p->accuracy : "",
                 made ? ", " : "", made ? made : "");
    return buf;
}
