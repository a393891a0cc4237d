--!plain
-- Help texts of ops of linear algebra and Fourier's; their form: ../topics.lua.
return {
}
