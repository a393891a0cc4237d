--!plain
-- Help texts of ops of neural networks: convolutions, pooling, norms, losses, recurrent layers; their form: ../topics.lua.
return {
}
