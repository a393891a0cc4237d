/* The loop around a line of Lua text: of the same function, the innermost one. */
#include "tap.h"

#include "bindings/loops.h"

static void is(const char *text, int line, int loop) {
    tap_is_int(gp_loop_around(text, strlen(text), line), loop, "line %d of %s", line, text);
}

int main(void) {
    is("x = 1\nfor i = 1, 3 do\n y(x)\nend\nz()", 3, 2);
    is("x = 1\nfor i = 1, 3 do\n y(x)\nend\nz()", 5, 0);
    is("x = 1\nfor i = 1, 3 do\n y(x)\nend\nz()", 1, 0);
    is("for i = 1, 3 do y(x) end", 1, 1);
    is("while a do\nrepeat\ny()\nuntil b\nend", 3, 2);
    is("while a do\nrepeat\ny()\nuntil b\nz() end", 5, 1);
    is("for i = 1, 3 do\nif a then\ny() else z() end\nend", 3, 1);
    is("for i = 1, 3 do\ndo\ny() end\nend", 3, 1);
    is("while f(function()\nreturn x:item() end) do\ny() end", 2, 0);
    is("while f(function()\nreturn x:item() end) do\ny() end", 3, 1);
    is("for i = 1, 3 do\nfunction f()\nreturn x:item()\nend\ny()\nend", 3, 0);
    is("for i = 1, 3 do\nfunction f()\nreturn x:item()\nend\ny()\nend", 5, 1);
    is("s = 'for'\ny()\ns = [[\nend\n]]\n-- for x do\ny() end", 2, 0);
    is("--[[ while\n]] for i = 1, 2 do\ny() -- end\nend", 3, 2);
    is("for _, m in f(function() while a do end end) do\ny()\nend", 2, 1);
    /* A loop after something on one line repeats that only where no other loop is around. */
    is("for i = 1, 3 do\nif x:item() then for j = 1, 2 do y() end end\nend", 2, 1);
    is("for i = 1, 3 do\n\tfor j = 1, 2 do x:item() end\nend", 2, 2);
    is("if x:item() then for j = 1, 2 do y() end end", 1, 1);
    is("end", 1, 0);
    is("for for for", 1, 0);
    is("for i = 1, 3 do\ny('", 2, 0);
    return tap_done();
}
