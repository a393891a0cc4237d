-- Where the plug-in finds NVIDIA's libraries, and which it passes over: a cuDNN for another version
-- of CUDA, by its package's name and by what it says itself.
local t = require "tap"
local build, root = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

local function sh(command, ...) assert(os.execute(command:format(...))) end
-- The doctor's line on a library with these settings of the environment, and without others.
local function line(name, settings)
    local p = assert(io.popen(("env -u CUDA_HOME -u CUDA_PATH GPUSH_CUDA_PLUGIN=%s/plugin/\z
        libgpush_cuda.so HOME=%s PATH=%s/bin:/usr/bin:/bin %s %s/gpush doctor"):format(root, root,
        root, settings, build)))
    local text = p:read "a"
    p:close()
    return text:match("[^\n]*  " .. name .. " [^\n]*\n") or text
end
local function finds(name, settings, want, what)
    local found = line(name, settings)
    if not t.ok(found:find(want), what) then io.stderr:write("#   ", found) end
end

-- A plug-in without its libraries beside it, and a python3 without packages.
sh("mkdir -p %s/plugin %s/bin && cp %s/fake/libgpush_cuda.so %s/fake/libfakecudart.so %s/plugin",
    root, root, build, build, root)
sh("printf '#!/bin/sh\n' > %s/bin/python3 && chmod +x %s/bin/python3", root, root)
local fake = ("$(realpath %s/fake)"):format(build)

-- Two packages of cuDNN: the first, for another CUDA, is not opened.
local wheels = root .. "/lib/python3.11/site-packages"
local function wheel(cuda, library)
    sh("rm -rf %s && mkdir -p %s/nvidia/cudnn/lib %s/nvidia_cudnn_%s-9.9.0.1.dist-info", wheels,
        wheels, wheels, cuda)
    sh("cp %s/%s/libcudnn.so.9 %s/nvidia/cudnn/lib", fake, library, wheels)
end
wheel("cu13", ".")
finds("cuDNN", "GPUSH_CUDA_LIBRARIES=",
    "ok  cuDNN +9%.19%.0, [^\n]*site%-packages/nvidia/cudnn/lib",
    "Python's package of cuDNN is found")
wheel("cu12", ".")
-- The machine may have one of its own, which is then found; else the line says what was wrong.
local found = line("cuDNN", "GPUSH_CUDA_LIBRARIES=")
t.ok(found:find "site%-packages[^\n]* is for another CUDA" or (found:find "ok  cuDNN"
    and not found:find "site%-packages"), "one for another CUDA is not, by its name")
sh("mkdir -p %s/toolkit/lib64 && cp %s/libcudnn.so.9 %s/toolkit/lib64", root, fake, root)
finds("cuDNN", ("GPUSH_CUDA_LIBRARIES= CUDA_HOME=%s/toolkit"):format(root),
    "ok  cuDNN +9%.19%.0, [^\n]*toolkit/lib64", "CUDA_HOME comes before")
found = line("cuDNN", ("GPUSH_CUDA_LIBRARIES=%s/fake/other"):format(build))
t.ok(found:find "fake/other[^\n]* is for CUDA 12 %(expected one for CUDA 13%)"
    or (found:find "ok  cuDNN" and not found:find "fake/other"),
    "one that says so itself is not used")
finds("cuDNN", ("GPUSH_CUDA_LIBRARIES=%s/fake/other CUDA_PATH=%s/toolkit"):format(build, root),
    "ok  cuDNN +9%.19%.0, [^\n]*toolkit/lib64", "and the next place is searched, CUDA_PATH, too")

-- A plug-in that pip installed, in an environment that is not on PATH.
sh("mkdir -p %s/own/lib/gpush && cp %s/plugin/* %s/own/lib/gpush", root, root, root)
sh("mv %s/lib/python3.11 %s/own/lib", root, root)
wheels = root .. "/own/lib/python3.11/site-packages"
wheel("cu13", ".")
finds("cuDNN", ("GPUSH_CUDA_LIBRARIES= GPUSH_CUDA_PLUGIN=%s/own/lib/gpush/libgpush_cuda.so")
    :format(root), "ok  cuDNN +9%.19%.0, [^\n]*/own/lib/[^\n]*/nvidia/cudnn/lib",
    "the packages beside the plug-in are found")

-- NVIDIA's installer keeps CUPTI apart.
sh("mkdir -p %s/toolkit/extras/CUPTI/lib64 && cp -L %s/libcupti.so.13 \z
    %s/toolkit/extras/CUPTI/lib64", root, fake, root)
finds("CUPTI", ("GPUSH_CUDA_LIBRARIES= CUDA_HOME=%s/toolkit"):format(root),
    "ok  CUPTI +[%d?]+, [^\n]*extras/CUPTI/lib64", "CUPTI is found in a toolkit's extras")

-- pyenv's python3 is a script that starts one of several; conda's libraries are in its own folder.
sh("rm -rf %s && mkdir -p %s/pyenv/shims %s/pyenv/versions/3.12/lib/python3.12/site-packages/\z
    nvidia/cudnn/lib && cp %s/bin/python3 %s/pyenv/shims", wheels, root, root, root, root)
sh("cp -L %s/libcudnn.so.9 %s/pyenv/versions/3.12/lib/python3.12/site-packages/nvidia/cudnn/lib",
    fake, root)
finds("cuDNN", ("GPUSH_CUDA_LIBRARIES= PATH=%s/pyenv/shims:/usr/bin:/bin"):format(root),
    "ok  cuDNN +9%.19%.0, [^\n]*pyenv/versions/3.12/lib/", "in a Python of pyenv's")
for _, folder in ipairs { "lib", "targets/x86_64-linux/lib" } do
    sh("rm -rf %s/conda && mkdir -p %s/conda/%s && cp -L %s/libcudnn.so.9 %s/conda/%s", root, root,
        folder, fake, root, folder)
    finds("cuDNN", ("GPUSH_CUDA_LIBRARIES= CONDA_PREFIX=%s/conda"):format(root),
        "ok  cuDNN +9%.19%.0, [^\n]*conda/" .. folder:gsub("%-", "%%-"), "in conda's " .. folder)
end
t.done()
