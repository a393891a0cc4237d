--!plain
-- Help texts of ops that make tensors and change shapes, and of random numbers; their form: ../topics.lua.
return {
}
