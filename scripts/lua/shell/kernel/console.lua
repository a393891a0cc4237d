--!plain
-- A console while a cell runs: :sync, :mem and :status are answered by the prompt's own commands, from
-- a Lua state beside the cell's; of the rest it says that the cell has the session.
return function(send, type, content) end
