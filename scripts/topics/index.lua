--!plain
-- Help texts of ops that index, search, sort and count; their form: ../topics.lua.
return {
}
