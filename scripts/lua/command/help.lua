--!plain
-- gpush help [WORD…]: what help "WORD…" prints at the prompt: a function, a class, or what was
-- found for a question; of a command what its --help prints. Without a word the program prints its
-- usage (shell/main.c).
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush = require "gpush"
local command = require "command_line"("help", [[
usage: gpush help [WORD…]
Tells about a command, or about a function, a class or a topic as help "WORD…" does at the prompt:
gpush help conv2d, gpush help nn, gpush help out of memory, gpush help record.
]], {})

local given, words = command.read({ ... }, true)
if not given then return words end
if #words == 0 then return gpush.help() or true end
local name = words[1]:match "^%l+$"
local about = name and not words[2] and loadfile(require "dir" .. "/command/" .. name .. ".lua")
if about and not require "help.topic"(name) then return about "--help" end
local ok, message = pcall(gpush.help, table.concat(words, " "))
if not ok then command.say("%s", (tostring(message):gsub("^help: ", ""))) end
if ok and about and name ~= "help" then print(("the command: gpush %s --help"):format(name)) end
return ok
