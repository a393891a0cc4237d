/* The rewrite of tensor syntax, text against text. Helpers are written [NAME ...] here, short for
 * either way to reach one. */
#include "tap.h"

#include "bindings/rewrite/rewrite.h"

#include <stdlib.h>

/* Replaces every way to reach helper NAME by [NAME and a blank; *own counts those through a
 * string. */
static void shorten(const char *text, char *out, size_t size, int *own) {
    static const char global[] = "(_ENV[\"", string[] = "(\"\")[\"", either[] = "\"]or(\"\")[\"";
    char *end = out + size - 1;
    while (*text && out < end) {
        bool g = !strncmp(text, global, sizeof global - 1),
             s = !strncmp(text, string, sizeof string - 1);
        if (!g && !s) {
            *out++ = *text++;
            continue;
        }
        text += g ? sizeof global - 1 : sizeof string - 1;
        *out++ = '[';
        while (*text && *text != '"' && out < end) *out++ = *text++;
        *out++ = ' ';
        if (g) text = strstr(text, either) + sizeof either - 1;
        text = strstr(text, g ? "\"])(" : "\"](") + (g ? 4 : 3);
        *own += s;
    }
    *out = 0;
}

/* want is NULL where the text must stay as it is. */
static void becomes(const char *text, const char *want) {
    char *out = NULL, got[4096];
    size_t len = 0;
    int own = 0;
    gp_rewritten r = gp_rewrite(text, strlen(text), false, &out, &len);
    if (!want) {
        tap_is_int(r, GP_REWRITE_SAME, "stays: %s", text);
    } else if (tap_is_int(r, GP_REWRITE_DONE, "changes: %s", text)) {
        shorten(out, got, sizeof got, &own);
        tap_is_str(got, want, "%s", text);
        tap_is_int(own, strstr(text, "_ENV") ? own : 0, "reached as globals");
        tap_is_int((long long)len, (long long)strlen(out), "its length");
    }
    free(out);
}

static void conditions(void) {
    becomes("if x then end", "if [(?) x) then end");
    becomes("while not x do end", "while not [(?) x) do end");
    becomes("repeat local x = f() until x", "repeat local x = f() until [(?) x)");
    becomes("if f() then elseif g(1) then end", "if [(?) (f())) then elseif [(?) (g(1))) then end");
    becomes("if a and (b or c.d[1]) then end", "if [(?) a) and ([(?) b) or [(?) c.d[1])) then end");
    becomes("if a + 1 then end", "if [(?) a + 1) then end");
    becomes("if a < b or a >= 3 then end", NULL);
    becomes("if not (a <= b) then end", NULL);
    becomes("if x == 0 then end", "if [(=1) 0,x) == 0 then end");
    becomes("local y if x ~= y then end", NULL);
    becomes("local y = f() if x ~= y then end", "local y = f() if [(=) y,x) ~= y then end");
    becomes("local y = f() if y == g() then end", "local y = f() if y == [(=) y,(g())) then end");
    becomes("local y = f() if 1 == y then end", "local y = f() if 1 == [(=1) 1,y) then end");
    becomes("if f() ~= g() then end", "if not [(==?) f() , (g())) then end");
    becomes("if a.b == c.d then end", "if [(==?) a.b , c.d) then end");
    becomes("if x == -1 then end", "if [(=1) -1,x) == -1 then end");
    becomes("if (a == b)\n -- why\n == c then end",
            "if [(==?) ([(==) a , b))\n -- why\n , c) then end");
}

static void values(void) {
    becomes("return x == y", "return ([(==)return x , y))");
    becomes("return x == y, 1", "return [(==) x , y), 1");
    becomes("return (x == y)", "return (([(==)return x , y)))");
    becomes("m = x == 0", "m = [(==) x , 0)");
    becomes("local x = f() m = x < 2", "local x = f() m = ([(t1) x)and [(<) x,2)or x < 2)");
    becomes("local x = f() m = 2 <= x", "local x = f() m = ([(t1) x)and [(<=) 2,x)or 2 <= x)");
    becomes("local x, y = f() m = x ~= y",
            "local x, y = f() m = ([(t) x,y)and [(~=) x,y)or x ~= y)");
    becomes("f(a.b > c, ...)", "f([(>) a.b , c), ...)");
    becomes("m = f() >= g()", "m = [(>=) f() , (g()))");
    becomes("m = x < ...", "m = [(<) x , (...))");
    becomes("t[x == y] = z ~= 1", "t[[(==) x , y)] = [(~=) z , 1)");
    becomes("t = {x == y, [a] = b < c, d = e > f}",
            "t = {[(==) x , y), [a] = [(<) b , c), d = [(>) e , f)}");
    becomes("y = x and 1 or 2", "y = [(?) x) and 1 or 2");
    becomes("y = x or z", "y = [(?) x) or z");
    becomes("y = a and b and c", "y = [(?) a) and [(?) b) and c");
    becomes("y = a == 1 or b == 2", "y = [(=1) 1,a) == 1 or [(==) b , 2)");
    becomes("y = not x", "y = not [(?) x)");
    becomes("f(function() return x and y end)", "f(function() return [(?) x) and y end)");
    becomes("f{g(x == 1)}'s'", "f{g([(==) x , 1))}'s'");
    becomes("(a == b).c = 1", "([(==) a , b)).c = 1");
    becomes("for i = 1, n do end", "for i = 1, [(n) n) do end");
    becomes("for i = f(), #t, 2 do end", "for i = [(n) (f())), #t, 2 do end");
}

/* a < b < c, which Python has and Lua lacks. */
static void chains(void) {
    becomes("m = a < 1 < c", "m = [(<) [(<<) [==[(a < 1) & (1 < c)]==],[(<) a , 1)) , [(<<) [==[(a "
                             "< 1) & (1 < c)]==],c))");
    becomes("m = (a < b) < c", "m = [(<) ([(<) a , b)) , c)");
    becomes("m = 1 < 2 == a", "m = 1 < 2 == [(<<) [==[(1 < 2) & (2 == a)]==],a)");
    becomes("if 0 < x < 1 then end",
            "if [(<<) [==[(0 < x) & (x < 1)]==],[(<) 0 , x)) < 1 then end");
    becomes("if f\n() < 1 < 2 then end",
            "if [(<<) [==[(a < b) & (b < c)]==],[(<) f\n() , 1)) < 2 then end");
    becomes("if t[a[1]] < 1 < t[a[2]] then end",
            "if [(<<) [==[(t[a[1]] < 1) & (1 < t[a[2]])]==],[(<) t[a[1]] , 1)) < "
            "[(<<) [==[(t[a[1]] < 1) & (1 < t[a[2]])]==],t[a[2]]) then end");
    becomes("if a[ [=[]=] ] < 1 < 2 then end",
            "if [(<<) [==[(a < b) & (b < c)]==],[(<) a[ [=[]=] ] , 1)) < 2 then end");
    becomes("if 1 < 2 == true then end", NULL);
    becomes("m = 1 < 2 ~= (3 > 2)", NULL);
}

/* The matrix product, which Lua lacks. */
static void products(void) {
    becomes("y = a @ b", "y = [(@) a , b)");
    becomes("y = a @ b @ c", "y = [(@) [(@) a , b) , c)");
    becomes("y = 1 + a @ b * c", "y = 1 + [(@) a , b) * c");
    becomes("y = a * b @ c", "y = [(@) a * b , c)");
    becomes("y = -a @ b ^ 2", "y = [(@) -a , b ^ 2)");
    becomes("return a@f()", "return ([(@) a,(f())))");
    becomes("y = a\n@ --[[ @ ]] '@'", "y = [(@) a\n, --[[ @ ]] '@')");
    becomes("if a @ b == c then end", "if [(==?) [(@) a , b) , c) then end");
    becomes("while a @ b do end", "while [(?) [(@) a , b)) do end");
    char *stock = gp_rewrite_stock("y = a @ '@' @ -- @\n", 19);
    tap_is_str(stock ? stock : "", "y = a * '@' * -- @\n", "what Lua is shown of a product");
    free(stock);
    tap_ok(!gp_rewrite_stock("y = '@'", 7), "nothing where there is none");
    tap_ok(!gp_rewrite_stock("@f", 2), "nor where it stands by itself");
}

/* One value for several names. */
static void parts(void) {
    becomes("n, d = x.shape", "n, d = [(,) 2,x.shape)");
    becomes("local n, d = x:size()", "local n, d = [(,) 2,x:size())");
    becomes("local a, b, c = 1, f.where(m)", "local a, b, c = 1, [(,) 2,f.where(m))");
    becomes("a, b = x.y[1]", "a, b = [(,) 2,x.y[1])");
    becomes("local a, b = f()", NULL);
    becomes("local a, b = ...", NULL);
    becomes("local a, b = x.size().y()", NULL);
    becomes("local a, b = x:chunk(2), 1", NULL);
    becomes("local a, b = {}", NULL);
    becomes("a = x.shape", NULL);
}

/* want: the name that the chunk ends with, or "". */
static void last_local(const char *text, const char *want) {
    size_t at = 0, n = 0;
    char got[64];
    if (!gp_rewrite_last_local(text, strlen(text), &at, &n)) n = 0;
    snprintf(got, sizeof got, "%.*s", (int)n, text + at);
    tap_is_str(got, want, "ends with a local variable: %s", text);
}

static void last_locals(void) {
    last_local("local x = 1", "x");
    last_local("y = 1 local x, z;;", "x");
    last_local("local x <const> = 1", "x");
    last_local("local function f() return 1 end", "f");
    last_local("local f = function() local g = 1 end", "f");
    last_local("local x = 1 print(x)", "");
    last_local("do local x = 1 end", "");
    last_local("f = function() local x = 1 end", "");
    last_local("x = 1", "");
    last_local("", "");
    last_local("local x =", "");
}

/* Code that is evidently plain costs nothing. */
static void plain(void) {
    becomes("", NULL);
    becomes("x.y = f(z) + 1 return x", NULL);
    becomes("if x == nil or x ~= 'a' or true == x or {} == x or x == [[b]] then end", NULL);
    becomes("for i = 1, 10 do if i % 2 == 0 and i ~= 5 then end end", NULL);
    becomes("local n = 0 while n ~= 10 do n = n + 1 end", NULL);
    becomes("local n = 0 local function f() n = g() end if n == 1 then end",
            "local n = 0 local function f() n = g() end if [(=1) 1,n) == 1 then end");
    becomes("local n = 0 if n == 1 then end n = x",
            "local n = 0 if [(=1) 1,n) == 1 then end n = x");
    becomes("local a, b = 1 if a == b then end", NULL);
    becomes("local a, b = 1, f() if b == a then end",
            "local a, b = 1, f() if [(=1) a,b) == a then end");
    becomes("local a, b = f() if b then end", "local a, b = f() if [(?) b) then end");
    becomes("local s = 'a' .. 1 if s then end", NULL);
    becomes("if #x == 0 or type(x) == y or type(x) == type(y) then end", NULL);
    becomes("local type = g if type(x) == type(y) then end",
            "local type = g if [(==?) type(x) , (type(y))) then end");
    becomes("function type() end if type(x) == y then end",
            "function type() end if [(==?) type(x) , y) then end");
    becomes("if type(x).y == 1 then end", "if [(=1) 1,type(x).y) == 1 then end");
    becomes("for i, v in ipairs(t) do if i == 1 and v == 1 then end end",
            "for i, v in ipairs(t) do if i == 1 and [(=1) 1,v) == 1 then end end");
    becomes("for k in pairs(t) do if k == 1 then end end",
            "for k in pairs(t) do if [(=1) 1,k) == 1 then end end");
    becomes("local a = {} if a + 1 == 2 then end", "local a = {} if [(=1) 2,a + 1) == 2 then end");
    becomes("local ok = x == nil if ok then end", NULL);
    becomes("local function f(a) return a end if f then end", NULL);
    becomes("local x = x and 1 or 0 if x == 1 then end",
            "local x = [(?) x) and 1 or 0 if x == 1 then end");
    becomes("local a = b do local b = 1 if b == 2 then end end", NULL);
    becomes("for i = 1, 3 do i = f() if i == 1 then end end",
            "for i = 1, 3 do i = f() if [(=1) 1,i) == 1 then end end");
}

/* Lua takes the result of a comparison's metamethod as a boolean. */
static void verdicts(void) {
    becomes("m = {__lt = function(a, b) return a.x < b end}",
            "m = {__lt = function(a, b) return (a.x < b) end}");
    becomes(
        "m = {__eq = function(a) if a then return f(a) end return function() return a < b end end}",
        "m = {__eq = function(a) if [(?) a) then return ([(?) (f(a)))) end return function() "
        "return ([(<)return a , b)) end end}");
    becomes("function m.__le(a, b) return a == b end",
            "function m.__le(a, b) return ([(=) b,a) == b) end");
    becomes("m.__le = function(a) return a end", "m.__le = function(a) return ([(?) a)) end");
    becomes("m.le = function(a) return a end m.__le = f return x", NULL);
    becomes("m = {__le = f, g = function(a) return a end}", NULL);
}

static void text(void) {
    becomes("--!plain\nif x then end", NULL);
    becomes("\n--!plain \r\nif x then end", NULL);
    becomes("--!plainly\nif x then end", "--!plainly\nif [(?) x) then end");
    becomes("s = 'if x then' --[[ if x then ]] -- if x\nt = [==[ if ]] x ]==]", NULL);
    becomes("s = 'a\\'b\\\nc\\z  \n d' if x then end",
            "s = 'a\\'b\\\nc\\z  \n d' if [(?) x) then end");
    becomes("if(x)then end", "if([(?) x))then end");
    becomes("if x--c\nthen end", "if [(?) x)--c\nthen end");
    becomes("if not(x)and-y then end", "if not([(?) x))and[(?) -y) then end");
    becomes("goto continue ::continue:: local x <const>, y <close> = 1, nil;;; break", NULL);
    becomes("x = 0x1p-4 + 3e+2 .. 1 // 2 << 3 ~ 5 & ~6 | 7 >> -8 ^ 9", NULL);
    becomes("local _ENV = e if x then end", "local _ENV = e if [(?) x) then end");
    char *out = NULL;
    size_t len;
    int own = 0;
    char got[256];
    tap_is_int(gp_rewrite("if x then end", 13, true, &out, &len), GP_REWRITE_DONE,
               "in another environment");
    shorten(out, got, sizeof got, &own);
    tap_ok(own == 1 && !strstr(out, "_ENV"), "helpers are reached through a string there");
    free(out);
}

static void no_lua(void) {
    /* clang-format off */
    static const char *const bad[] = {"if x", "if x then", "x", "x +", "f(", "local 1",
        "for i = 1 do end", "'a\nb'", "[[", "--[[", "x = = 1", "end", "goto 1", "return 1 2",
        "x = 3x", "x = @", "\xff", "a.1 = 2", "function f(a b) end", "local function f.g() end",
        "x = {1 2}", "\"", "'\\", "for", "::a"};
    /* clang-format on */
    char *out;
    size_t len;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_is_int(gp_rewrite(bad[i], strlen(bad[i]), false, &out, &len), GP_REWRITE_SYNTAX,
                   "no Lua: %s", bad[i]);
    tap_is_int(gp_rewrite("x = 1\0", 6, false, &out, &len), GP_REWRITE_SYNTAX,
               "a zero byte is no Lua");
    tap_is_int(gp_rewrite("x = '\0'", 7, false, &out, &len), GP_REWRITE_SAME,
               "but may stand in a string");
}

/* Every prefix and every single changed byte of some text: no crash, and the sanitisers are
 * content. */
static void mangled(void) {
    static const char s[] = "local a <const>, b = f(), 'x\\z\n' for i = a, #b do if i == a.b[1] "
                            "then return a ~= 0x1p4, "
                            "[=[y]=] end end --[[c]] repeat local x = {b == 1; [a] = function(...) "
                            "end} until not x:y'z' // 2";
    char copy[sizeof s], *out;
    size_t len, n = sizeof s - 1, done = 0;
    for (size_t i = 0; i < n; i++) {
        static const char other[] = "([{'\"=-~<\n\\x0.\xff";
        out = NULL;
        gp_rewrite(s, i, false, &out, &len);
        free(out);
        for (const char *c = other; *c; c++, done++) {
            memcpy(copy, s, sizeof s);
            copy[i] = *c;
            out = NULL;
            gp_rewrite(copy, n, false, &out, &len);
            free(out);
        }
    }
    tap_ok(done > 2000, "mangled text");
}

/* Deep nesting is refused before the stack ends, long chains are not. */
static void limits(void) {
    size_t n = 200000, len;
    char *text = malloc(3 * n + 16), *out = NULL;
    memset(text, '(', n);
    tap_is_int(gp_rewrite(text, n, false, &out, &len), GP_REWRITE_SYNTAX, "deep nesting");
    char *p = text + sprintf(text, "if x");
    for (size_t i = 0; i < n; i++) p += sprintf(p, "+x");
    p += sprintf(p, " then end");
    if (tap_is_int(gp_rewrite(text, p - text, false, &out, &len), GP_REWRITE_DONE, "a long sum"))
        free(out);
    free(text);
}

int main(void) {
    conditions();
    values();
    chains();
    products();
    parts();
    last_locals();
    plain();
    verdicts();
    text();
    no_lua();
    mangled();
    limits();
    return tap_done();
}
