-- Writes an SPDX 2.3 bill of materials, in JSON, of what is installed under a folder: its files,
-- and the packages of the libraries that its programs are linked to, as the loader finds them here.
-- usage: gpush scripts/dev/sbom.lua PREFIX [PARTS] >gpush.spdx.json; scripts/dev/sbom does it all.
-- PARTS, for a wheel, is a file of what was linked in and packed, a line each, by tabs: name,
-- version, release of Debian, how it is linked, licence. What else the programs need is then the
-- system's.
local gpush = require "gpush"
local json = gpush.json
local prefix = assert(arg[1], "usage: gpush scripts/dev/sbom.lua PREFIX [PARTS]")
local parts = arg[2]

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- The output of a command of the shell, by lines; raises where it fails.
local function lines_of(command, ...)
    local words = {}
    for i, s in ipairs { ... } do words[i] = quoted(s) end
    local p = assert(io.popen(command:format(table.unpack(words)) .. " 2>/dev/null"))
    local lines = {}
    for line in p:lines() do lines[#lines + 1] = line end
    local ok = p:close()
    return lines, ok
end
local function first(...) return lines_of(...)[1] end

local function sorted(set)
    local keys = {}
    for k in pairs(set) do keys[#keys + 1] = k end
    table.sort(keys)
    return keys
end

-- SPDX identifiers have letters, digits, dots and dashes.
local function id(kind, name) return "SPDXRef-" .. kind .. "-" .. name:gsub("[^%w.]", "-") end

-- ---- Files ----

local files, programs = {}, {}
for _, path in ipairs(lines_of("cd %s && find . -type f | LC_ALL=C sort", prefix)) do
    local full = prefix .. path:sub(2)
    files[#files + 1] = { SPDXID = id("File", #files + 1 .. path), fileName = path,
        licenseConcluded = "NOASSERTION", copyrightText = "NOASSERTION",
        checksums = {
            { algorithm = "SHA1", checksumValue = first("sha1sum %s", full):match "%x+" },
            { algorithm = "SHA256", checksumValue = first("sha256sum %s", full):match "%x+" } } }
    local f <close> = assert(io.open(full, "rb"))
    if f:read(4) == "\x7fELF" then programs[#programs + 1] = full end
end
assert(#programs > 0, "there is no program under " .. prefix)

-- The SPDX verification code: of the sums of all files, sorted and joined.
local sums = {}
for i, file in ipairs(files) do sums[i] = file.checksums[1].checksumValue end
table.sort(sums)
local code = first("printf %%s %s | sha1sum", table.concat(sums)):match "%x+"

-- ---- Libraries ----

-- The package of a file; Debian knows some by the path from before /usr was merged.
local function package_of(path)
    local real = first("readlink -f %s", path) or path
    local owner = first("dpkg-query -S %s", real) or first("dpkg-query -S %s",
        (real:gsub("^/usr", "")))
    return owner and owner:match "^([^:]+)"
end

-- packages: name -> how it is linked; the strongest wins.
local packages, paths = {}, {}
local rank = { DEPENDS_ON = 1, DYNAMIC_LINK = 2, STATIC_LINK = 3 }
local function add(name, how)
    if rank[how] > (rank[packages[name]] or 0) then packages[name] = how end
end

-- Names of the libraries that a program asks the loader for.
local function needed_by(program)
    local needed = {}
    for _, line in ipairs(lines_of("readelf -dW %s", program)) do
        local name = line:match "%(NEEDED%).*%[(.-)%]"
        if name then needed[name] = true end
    end
    return needed
end

local function find_packages(program)
    local needed = needed_by(program)
    for _, line in ipairs((lines_of("ldd %s", program))) do
        assert(not line:find "not found", program .. " needs " .. line)
        local name, path = line:match "^%s*(%S+) => (/%S+)"
        if not name then
            path = line:match "^%s*(/%S+) %("
            name = path and path:match "[^/]+$"
        end
        local owner = path and package_of(path)
        assert(owner or not path, ("no package owns %s, which %s needs"):format(path, program))
        if owner then
            add(owner, needed[name] and "DYNAMIC_LINK" or "DEPENDS_ON")
            paths[owner] = paths[owner] or {}
            paths[owner][path] = true
        end
    end
    -- Lua is inside the program where it defines lua_newstate itself.
    for _, line in ipairs(lines_of("readelf --dyn-syms -W %s", program)) do
        local section, name = line:match "DEFAULT%s+(%S+) (lua_newstate)$"
        if name and section ~= "UND" then add("liblua5.4-dev", "STATIC_LINK") end
    end
end
for _, program in ipairs(parts and {} or programs) do find_packages(program) end

-- ---- The document ----

local system = {}
for line in io.lines "/etc/os-release" do
    local k, v = line:match "^([%w_]+)=\"?(.-)\"?$"
    if k then system[k] = v end
end

local version = first("%s -v", prefix .. "/bin/gpush"):match "gpush ([%w.-]+)"
local own = { SPDXID = "SPDXRef-Package-gpush", name = "gpush", versionInfo = version,
    downloadLocation = "NOASSERTION", filesAnalyzed = true,
    packageVerificationCode = { packageVerificationCodeValue = code },
    licenseConcluded = "NOASSERTION", licenseDeclared = "MIT", copyrightText = "NOASSERTION",
    primaryPackagePurpose = "APPLICATION" }
local list, relations = { own }, { { spdxElementId = "SPDXRef-DOCUMENT",
    relationshipType = "DESCRIBES", relatedSpdxElement = own.SPDXID } }
for _, file in ipairs(files) do
    relations[#relations + 1] = { spdxElementId = own.SPDXID, relationshipType = "CONTAINS",
        relatedSpdxElement = file.SPDXID }
end
-- Adds a package of Debian's; fields are its own.
local function list_package(name, is, arch, how, fields)
    local escaped = is:gsub("[^%w.~-]", function(c) return ("%%%02X"):format(c:byte()) end)
    local package = { SPDXID = id("Package", name), name = name, versionInfo = is,
        downloadLocation = "NOASSERTION", filesAnalyzed = false, licenseConcluded = "NOASSERTION",
        licenseDeclared = "NOASSERTION", copyrightText = "NOASSERTION",
        externalRefs = { { referenceCategory = "PACKAGE-MANAGER", referenceType = "purl",
            referenceLocator = ("pkg:deb/%s/%s@%s?arch=%s"):format(parts and "debian" or
                system.ID or "debian", name, escaped, arch) } } }
    for k, v in pairs(fields) do package[k] = v end
    list[#list + 1] = package
    relations[#relations + 1] = { spdxElementId = own.SPDXID, relationshipType = how,
        relatedSpdxElement = package.SPDXID }
end
for _, name in ipairs(sorted(packages)) do
    local info = first(
        "dpkg-query -W -f='${Version} ${Architecture} ${source:Package}\n' %s", name)
    local is, arch, source = info:match "^(%S+) (%S+) (%S+)"
    list_package(name, is, arch, packages[name], {
        supplier = "Organization: " .. (system.NAME or "unknown"),
        sourceInfo = "built from " .. source,
        licenseComments = ("see /usr/share/doc/%s/copyright"):format(name),
        comment = paths[name] and table.concat(sorted(paths[name]), " ") or nil })
end

-- A wheel's: what it brings, and what it finds on the system.
for line in parts and io.lines(parts) or function() end do
    local name, is, release, how, licence = line:match "^(.-)\t(.-)\t(.-)\t(.-)\t(.+)$"
    assert(licence, parts .. " has a line that is not five words by tabs: " .. line)
    local as_is = release == "root" or release == "here"
    list_package(name, is, as_is and "amd64" or "source", how, {
        supplier = "Organization: Debian", licenseDeclared = licence,
        sourceInfo = as_is and "Debian's package, as it is"
            or "built from Debian's source of " .. release })
end
local brought, wanted = {}, {}
for _, program in ipairs(programs) do brought[program:match "[^/]+$"] = true end
for _, program in ipairs(parts and programs or {}) do
    for name in pairs(needed_by(program)) do wanted[name] = not brought[name] or nil end
end
for _, name in ipairs(sorted(wanted)) do
    list[#list + 1] = { SPDXID = id("Package", name), name = name,
        downloadLocation = "NOASSERTION", filesAnalyzed = false, licenseConcluded = "NOASSERTION",
        licenseDeclared = "NOASSERTION", copyrightText = "NOASSERTION",
        comment = "the system's own; not packed" }
    relations[#relations + 1] = { spdxElementId = own.SPDXID, relationshipType = "DYNAMIC_LINK",
        relatedSpdxElement = id("Package", name) }
end

-- CUDA's runtime, inside the plug-in, comes from NVIDIA's toolkit, which need not be a package.
for _, program in ipairs(programs) do
    if program:find "/libgpush_cuda%.so$" then
        list[#list + 1] = { SPDXID = "SPDXRef-Package-cudart", name = "NVIDIA CUDA runtime",
            versionInfo = (first "nvcc --version | grep release" or ""):match "release ([%d.]+)",
            supplier = "Organization: NVIDIA Corporation", downloadLocation = "NOASSERTION",
            filesAnalyzed = false, licenseConcluded = "NOASSERTION",
            licenseDeclared = "NOASSERTION", copyrightText = "NOASSERTION",
            licenseComments = "see the EULA of the CUDA toolkit" }
        relations[#relations + 1] = { spdxElementId = own.SPDXID,
            relationshipType = "STATIC_LINK", relatedSpdxElement = "SPDXRef-Package-cudart" }
    end
end

local when = math.tointeger(tonumber(os.getenv "SOURCE_DATE_EPOCH")) or os.time()
print(json.encode {
    spdxVersion = "SPDX-2.3", dataLicense = "CC0-1.0", SPDXID = "SPDXRef-DOCUMENT",
    name = "gpush-" .. version,
    documentNamespace = ("https://spdx.org/spdxdocs/gpush-%s-%s"):format(version, code),
    creationInfo = { created = os.date("!%Y-%m-%dT%H:%M:%SZ", when),
        creators = { "Tool: gpush scripts/dev/sbom.lua" } },
    packages = list, files = files, relationships = relations })
