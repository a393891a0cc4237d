-- Groups, many at a time and one after the other, in a job of three: for tests/dist/collectives.sh.
dist.init{timeout = 60}
local wrong = 0
local function check(group, x, expected)
    if dist.rank == 2 then return end
    local sum = dist.all_reduce(x, {group = group}):sum():item()
    if sum ~= expected then wrong = wrong + 1 end
end

local live = {}
for i = 1, 150 do live[i] = dist.group{0, 1} end
for i = 1, 150, 20 do
    check(live[i], ones(2) * i, 4 * i)
    check(live[i], ones(2, {device = "sim"}) * i, 4 * i)
end

-- Those that are collected on every rank serve the next ones of their ranks.
local numbers = {}
for _ = 1, 100 do
    local group = dist.group{1, 0}
    numbers[group.number or 0] = true
    check(group, ones(1), 2)
end
local count = 0
for _ in pairs(numbers) do count = count + 1 end

-- But what one rank still has, or has sent, is no other group's.
local one = dist.group{2, 1, 0}
local kept = dist.rank == 1 and one or nil
local number = one.number
one = nil
local other = dist.group{2, 1, 0}
local apart = number ~= other.number
if dist.rank == 0 then dist.send(ones(2), 1, {group = other}) end
number, other = other.number, nil
apart = apart and (dist.rank ~= 0 or dist.group{2, 1, 0}.number ~= number)
if dist.rank ~= 0 then dist.group{2, 1, 0} end
print(dist.rank, wrong, count, apart, kept and #kept.ranks or 3)
