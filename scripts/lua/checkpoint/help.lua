--!plain
-- Help texts of checkpoints; their form: scripts/lua/help/topics.lua.
return [==[
checkpoint (see safetensors, nn, optim)
    A training run in one safetensors file: checkpoint.save(file, {model = m, optimizer = o}),
    checkpoint.load; or in a file for each rank of a job.
]==]
