--!plain
-- Help texts of checkpoints; their form: scripts/lua/help/topics.lua.
return [==[
checkpoint (see safetensors, nn, optim)
    A training run in one safetensors file: checkpoint.save(file, {model = m, optimizer = o}),
    checkpoint.load; or in a file for each rank of a job.
checkpoint.save (see checkpoint.load, safetensors.save)
    waits: for each tensor on a device
checkpoint.load (see checkpoint.save)
    waits: for the copies to a device
]==]
