/* A row of a profile's table, as a table of Lua. */
#include "bindings/api/profile/profile.h"
#include "bindings/fields.h"
#include "profile/show/rows.h"
#include "profile/show/waves.h"
#include "tensor/base/safe_text.h"

/* What only rows by kernel have. */
static void push_kernel(lua_State *L, const gp_row *row) {
    const gp_wave *wave = row->wave;
    const gp_geometry *g = wave ? wave->geometry : NULL;
    char text[40];
    set_int(L, "device_time_min", (int64_t)row->shortest);
    set_int(L, "device_time_max", (int64_t)row->longest);
    if (row->on_tensor_cores) set_bool(L, "tensor_cores", true);
    if (wave && wave->ns > 0) set_number(L, "blocks_per_sm", wave->blocks / wave->ns);
    if (wave && wave->occupied > 0) set_number(L, "occupancy", wave->occupancy / wave->occupied);
    if (!g) return;
    if (*gp_geometry_text(g->grid, text, sizeof text)) set_text(L, "grid", text);
    if (*gp_geometry_text(g->block, text, sizeof text)) set_text(L, "block", text);
    if (g->registers >= 0) set_int(L, "registers", g->registers);
    if (g->shared >= 0) set_int(L, "shared_memory", g->shared);
}

void gp_lua_push_row(lua_State *L, const gp_rows *r, const gp_row *row) {
    char text[4096]; /* a stack of GP_STACK_DEPTH frames */
    lua_createtable(L, 0, 12);
    set_text(L, "name", gp_row_name(r, row, text, sizeof text));
    set_int(L, "count", (int64_t)row->calls);
    if (row->samples) set_int(L, "samples", (int64_t)row->samples);
    set_int(L, "self_cpu_time_total", row->self[GP_CPU]);
    set_int(L, "cpu_time_total", row->total[GP_CPU]);
    set_int(L, "self_device_time_total", row->self[GP_DEV]);
    set_int(L, "device_time_total", row->total[GP_DEV]);
    set_int(L, "self_cpu_memory_usage", row->self_mem[GP_CPU]);
    set_int(L, "cpu_memory_usage", row->mem[GP_CPU]);
    set_int(L, "self_device_memory_usage", row->self_mem[GP_DEV]);
    set_int(L, "device_memory_usage", row->mem[GP_DEV]);
    if (r->flops) {
        set_number(L, "flops", row->ops);
        set_number(L, "bytes", row->moved);
        set_number(L, "flops_per_second", gp_row_rate(row, row->ops));
        set_number(L, "bytes_per_second", gp_row_rate(row, row->moved));
        if (r->roofline) set_number(L, "roofline", gp_row_roofline(row));
    }
    if (r->group == GP_BY_KERNEL && row->rec) push_kernel(L, row);
    if (row->rec && gp_rec_op_shapes(row->rec))
        set_text(L, "shapes", gp_rec_shapes(row->rec->shapes, text, sizeof text));
    if (r->group == GP_BY_STACK && row->rec && row->rec->stack && row->rec->stack->module)
        set_text(L, "module", gp_safe_text(row->rec->stack->module, text, sizeof text));
    if (row->rec && row->rec->stack)
        set_text(L, "stack", gp_stack_text(row->rec->stack, GP_STACK_DEPTH, text, sizeof text));
}
