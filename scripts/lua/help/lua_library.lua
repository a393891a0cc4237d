--!plain
-- Help texts of Lua's own library, a line each: how it is called, and what it does. The manual says
-- more: https://www.lua.org/manual/5.4/. Their form elsewhere: init.lua.
local text = [[
arg: the script's name at 0, and its arguments
_G: the table of the global variables
assert(v, [message]): gives its arguments if v is true, else raises the message; of a tensor that is
    a recorded wait
collectgarbage([opt], [arg]): "collect" (a full cycle), "count" (KiB in use), "stop", "restart",
    "step", "incremental", "generational"
dofile([file]): runs a file
error(message, [level]): raises; level 2 blames who called
getmetatable(v): v's metatable, or its __metatable field
ipairs(t): for i, v in ipairs(t) do: 1, 2, … up to the first nil
load(chunk, [name], [mode], [env]): a text, or a function that gives its pieces, as a function; nil
    and a message where it does not compile
loadfile([file], [mode], [env]): a file as a function that is not run yet
next(t, [key]): the key after this one and its value, in no order; nil at the end
pairs(t): for k, v in pairs(t) do: every key once, in no order
pcall(f, …): calls f; true and what it gave, or false and the error
print(…): its arguments as text, with tabs between, on standard output; of a tensor that is a
    recorded wait
rawequal(a, b): whether they are the same value, without metamethods
rawget(t, key): t[key] without metamethods
rawlen(v): #v without metamethods
rawset(t, key, value): t[key] = value without metamethods; gives t
require(name): the module of that name, loaded at the first call by package.path and package.cpath
setmetatable(t, meta): gives t its metatable; gives t
tonumber(v, [base]): the number that v is or says, or nil
tostring(v): v as text; of a tensor that is a recorded wait
type(v): "nil" "boolean" "number" "string" "table" "function" "thread" or "userdata"; of a tensor
    "userdata"
warn(message, …): writes a warning, if gpush was started with -W or after warn "@on"
xpcall(f, handler, …): pcall, but handler(error) is called where the error is raised
coroutine: functions that stop and go on
coroutine.close(co): ends a coroutine that is stopped and closes its variables
coroutine.create(f): a new coroutine of f, not started
coroutine.isyieldable([co]): whether it may yield
coroutine.resume(co, …): starts it or goes on with it; true and what it yields or returns, or
    false and the error
coroutine.running(): the running coroutine, and whether it is the main one
coroutine.status(co): "running" "suspended" "normal" or "dead"
coroutine.wrap(f): a function that resumes a new coroutine of f; errors pass through
coroutine.yield(…): stops the coroutine; resume gives the arguments
debug: Lua's functions to look into what runs. Of tensors and training: help "debugging"
debug.debug(): reads and runs lines until one says cont
debug.gethook([thread]): the hook, its mask and its count
debug.getinfo([thread], f, [what]): a table about a function, or a level of the stack: source, line,
    name …
debug.getlocal([thread], f, i): name and value of a local variable
debug.getmetatable(v): v's metatable, whatever its __metatable says
debug.getregistry(): the table of what C code keeps
debug.getupvalue(f, i): name and value of an upvalue
debug.getuservalue(u, i): the i-th value that belongs to a userdata
debug.setcstacklimit(limit): does nothing any more
debug.sethook([thread], hook, mask, [count]): calls hook at calls, returns, lines, or every count
    instructions
debug.setlocal([thread], level, i, value): sets a local variable
debug.setmetatable(v, meta): sets any value's metatable
debug.setupvalue(f, i, value): sets an upvalue
debug.setuservalue(u, value, i): sets the i-th value that belongs to a userdata
debug.traceback([thread], [message], [level]): the calls that led here, as text
debug.upvalueid(f, i): what is the same for upvalues that are one variable
debug.upvaluejoin(f1, i, f2, k): makes f1's upvalue the same variable as f2's
io: files
io.close([file]): closes a file
io.flush(): writes out what standard output has gathered
io.input([file]): sets the file that io.read reads; gives it
io.lines([file], …): for line in io.lines(file) do; closes it at the end
io.open(file, [mode="r"]): opens it: "r" "w" "a", with "b" for bytes and "+" for both ways; nil and
    a message where it cannot
io.output([file]): sets the file that io.write writes; gives it
io.popen(command, [mode]): runs a command of the system and reads what it writes, or writes what it
    reads
io.read(…): reads standard input: "n" a number, "l" a line, "L" with its end, "a" all, or a number
    of bytes
io.stderr: standard error, a file
io.stdin: standard input, a file
io.stdout: standard output, a file
io.tmpfile(): a file that goes away when the program ends
io.type(v): "file", "closed file" or nil
io.write(…): writes texts and numbers to standard output
math: functions of numbers; a tensor of one element is taken for its number, a recorded wait
math.abs(x): x without its sign
math.acos(x): arc cosine, in radians
math.asin(x): arc sine, in radians
math.atan(y, [x=1]): arc tangent of y / x in the right quadrant, in radians
math.atan2(y, x): math.atan by an older name
math.ceil(x): the least whole number that is not below x
math.cos(x): cosine of x in radians
math.cosh(x): hyperbolic cosine
math.deg(x): radians as degrees
math.exp(x): e raised to x
math.floor(x): the greatest whole number that is not above x
math.fmod(x, y): what is left of x / y rounded toward zero
math.frexp(x): m and e of x = m 2^e, m from 0.5 to below 1
math.huge: the float infinity
math.ldexp(m, e): m 2^e
math.log(x, [base]): logarithm, natural if no base is given
math.log10(x): logarithm to base 10
math.max(x, …): the greatest argument
math.maxinteger: the greatest integer, 2^63 - 1
math.min(x, …): the least argument
math.mininteger: the least integer, -2^63
math.modf(x): the whole part and the rest
math.pi: 3.14159…
math.pow(x, y): x ^ y
math.rad(x): degrees as radians
math.random([m], [n]): a float from 0 to below 1, or an integer from 1 to m, or from m to n
math.randomseed([a], [b]): restarts math.random; tensors have manual_seed
math.sin(x): sine of x in radians
math.sinh(x): hyperbolic sine
math.sqrt(x): square root
math.tan(x): tangent of x in radians
math.tanh(x): hyperbolic tangent
math.tointeger(x): x as an integer if it is a whole number, else nil
math.type(x): "integer", "float" or nil
math.ult(m, n): m < n of integers without a sign
os: time, files and programs
os.clock(): seconds of processor time; queued device work is not in it: timeit
os.date([format], [time]): a time as text, or with "*t" as a table
os.difftime(t2, t1): seconds between two times
os.execute([command]): runs a command of the system; !command does so at the prompt
os.exit([code], [close]): ends the program
os.getenv(name): a variable of the environment, or nil
os.remove(file): deletes a file
os.rename(old, new): renames a file
os.setlocale(locale, [category]): sets the program's locale
os.time([table]): seconds since 1970; queued device work is not waited for: timeit
os.tmpname(): a name for a temporary file
package: how require finds modules
package.config: the marks that paths are made of
package.cpath: where require looks for modules in C
package.loaded: the modules that are loaded, by name
package.loadlib(file, name): a function of a library in C
package.path: where require looks for modules in Lua
package.preload: functions that load modules, by name
package.searchers: the functions that require asks in turn
package.searchpath(name, path, [sep], [rep]): the first file of that name on a path
string: functions of texts, also methods: ("x"):rep(3)
string.byte(s, [i=1], [j=i]): the bytes from i to j as numbers
string.char(…): the text of these bytes
string.dump(f, [strip]): a function as bytecode
string.find(s, pattern, [init=1], [plain]): where the pattern is first found: its first and last
    place, then captures
string.format(format, …): as C's printf; %q quotes a text; a tensor of one element gives its
    number
string.gmatch(s, pattern, [init]): for a, b in s:gmatch(pattern) do: all matches
string.gsub(s, pattern, by, [n]): s with all matches replaced by a text, a table's entries or what a
    function gives; and how many
string.len(s): its length in bytes
string.lower(s): s in lower case
string.match(s, pattern, [init]): the captures of the first match, or the match
string.pack(format, …): values as bytes
string.packsize(format): how many bytes that makes
string.rep(s, n, [sep]): s n times
string.reverse(s): its bytes backwards
string.sub(s, i, [j=-1]): the bytes from i to j; negative ones count from the end
string.unpack(format, s, [pos]): values from bytes, and where the next begins
string.upper(s): s in upper case
table: functions of lists
table.concat(list, [sep], [i], [j]): its texts and numbers joined
table.insert(list, [pos], value): puts a value in, at the end if no place is given
table.move(a, f, e, t, [b=a]): copies a[f … e] to b[t …]
table.pack(…): {n = how many, …}
table.remove(list, [pos]): takes out and gives an entry, the last if no place is given
table.sort(list, [less]): sorts it in place
table.unpack(list, [i], [j]): its entries as values
utf8: texts in UTF-8
utf8.char(…): the text of these code points
utf8.charpattern: a pattern of one character
utf8.codepoint(s, [i], [j]): the code points from byte i to j
utf8.codes(s, [lax]): for pos, code in utf8.codes(s) do
utf8.len(s, [i], [j]): how many characters, or nil and where it is not UTF-8
utf8.offset(s, n, [i]): where the n-th character begins
and: a and b is a if a is false or nil, else b; b is not run then
break: leaves the innermost loop
do: do … end is a block, with local variables of its own
else: what an if does otherwise
elseif: another condition of an if
end: ends a block
false: the boolean
for: for i = 1, n do … end counts; for a, b in f do … end goes through what an iterator gives
function: function f(a, b) … end; function t.f() … end; function t:method() … end has a self
goto: goes to a label, ::name::
if: if c then … elseif d then … else … end; a tensor of one element is as true as its value, a
    recorded wait
in: for … in …
local: a variable of this block; local x <const>, local x <close> is closed at the block's end
nil: no value
not: the boolean opposite
or: a or b is a unless that is false or nil, else b
return: ends a function and gives values
then: if c then … end
true: the boolean
until: repeat … until c
while: while c do … end
_VERSION: which Lua this is
_: the last value that the prompt showed; _1, _2 and _3 are the last ones
_1: the last value that the prompt showed
_2: the one before
_3: the one before that
_PROMPT: a text that takes the place of "> "
_PROMPT2: a text that takes the place of ">> "
]]

local topics = {}
for call, what in text:gsub("\n +", " "):gmatch "([^\n]-): ([^\n]+)" do
    local name = call:match "^[%w_.]+"
    topics[name] = { text = what .. (what:find "[.…]$" and "" or "."),
        call = call ~= name and call or nil }
end
-- A name alone may also be a group of them.
for name, topic in pairs(topics) do
    local group = name:match "^(.*)%."
    topic.see = group
end
return topics
