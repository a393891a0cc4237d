--!plain
-- data.ImageFolder(folder, {transform = f, channels = 3, dtype = "u8"}): the PNG
-- files of a folder's folders, each of which is a class. Sample i is the picture
-- through the transform, and the number of its class; classes and files are in
-- the order of their names, in the fields `classes` and `files`. max_pixels is
-- that of image.load.
local require = ...
local gpush, data = require "gpush", require "data"
local composite, loader = require "composite", require "loader"

local function get(self, i)
    local f = self.files[i]
    local x = gpush.image.load(f.path, { channels = self.channels, dtype = self.dtype,
        max_pixels = self.max_pixels })
    if self.transform then x = self.transform(x) end
    return x, f.class
end

-- The names in a folder, sorted; nil and a message if it is not a folder.
local function names_in(folder)
    local names, message = loader.list(folder)
    if names then table.sort(names) end
    return names, message
end

local function new(folder, transform, channels, dtype, max_pixels)
    local classes, files = {}, {}
    local folders, message = names_in(folder)
    if not folders then data.raise("%s", "data.ImageFolder: " .. message) end
    for _, class in ipairs(folders) do
        local names = names_in(folder .. "/" .. class)
        if names then
            classes[#classes + 1] = class
            for _, name in ipairs(names) do
                if name:lower():find "%.png$" then
                    files[#files + 1] = { path = folder .. "/" .. class .. "/" .. name,
                        class = #classes }
                end
            end
        end
    end
    if #files == 0 then
        data.raise("data.ImageFolder: no PNG files in the folders of %s", folder)
    end
    return data.Dataset { size = #files, get = get, files = files, classes = classes,
        transform = transform,
        channels = channels, dtype = dtype or "u8", max_pixels = max_pixels }
end

return composite { name = "data.ImageFolder",
    sig = "text folder, function? transform, int channels=3, dtype? dtype, int? max_pixels",
    help = "",
    fn = new }
