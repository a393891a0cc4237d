--!plain
-- Fourier transforms of arrays (tests/support/arrays.lua) by their definition, for tests. Complex
-- numbers are a last dim of 2.
local A = require "arrays"
local get = A.get
local F = {}

-- exp(sign 2 pi i j / n), the angle reduced to an eighth of the circle first
local function root(j, n, sign)
    j = j % n
    local quarter = (8 * j // n + 1) // 2
    local a = (4 * j - quarter * n) / n * (math.pi / 2)
    local c, s = math.cos(a), math.sin(a)
    if quarter % 4 == 1 then
        c, s = -s, c
    elseif quarter % 4 == 2 then
        c, s = -c, -s
    elseif quarter % 4 == 3 then
        c, s = s, -c
    end
    return c, sign * s
end
function F.roots(n, sign)
    local re, im = {}, {}
    for j = 0, n - 1 do re[j], im[j] = root(j, n, sign) end
    return re, im
end

-- A real array as complex numbers.
function F.pairs(a)
    local shape = A.copy(a.shape)
    shape[#shape + 1] = 2
    return A.build(shape,
        function(i) return i[#shape] == 1 and get(a, {table.unpack(i, 1, #shape - 1)}) or 0 end)
end

-- scale * sum over j of a[j] exp(sign 2 pi i j k / n) along dim, of the first n elements (padded
-- with zeros).
function F.transform(a, dim, n, sign, scale, half)
    n = n or a.shape[dim]
    local shape, have, last = A.copy(a.shape), math.min(n, a.shape[dim]), #a.shape
    shape[dim] = half and n // 2 + 1 or n
    local wr, wi = F.roots(n, sign)
    return A.build(shape, function(i)
        local k, s = i[dim] - 1, 0
        for j = 0, have - 1 do
            local p = A.with(i, dim, j + 1)
            local re, im = get(a, A.with(p, last, 1)), get(a, A.with(p, last, 2))
            local c, d = wr[j * k % n], wi[j * k % n]
            s = s + (i[last] == 1 and re * c - im * d or i[last] == 2 and re * d + im * c)
        end
        return scale * s
    end)
end

-- The real array of n along dim whose spectrum begins with a.
function F.half_to_real(a, dim, n, scale)
    local shape, last = A.copy(a.shape), #a.shape
    shape[dim] = n
    local full = A.build(shape, function(i)
        local k = i[dim] - 1
        local mirror = k > n // 2
        local p = A.with(i, dim, (mirror and n - k or k) + 1)
        if p[dim] > a.shape[dim] then return 0 end
        if i[last] == 2 and (k == 0 or 2 * k == n) then return 0 end
        return get(a, p) * (mirror and i[last] == 2 and -1 or 1)
    end)
    local y = F.transform(full, dim, n, 1, scale)
    table.remove(shape)
    return A.build(shape, function(i) local p = A.copy(i) p[#p + 1] = 1 return get(y, p) end)
end

return F
