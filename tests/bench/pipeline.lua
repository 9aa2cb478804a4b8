-- For wrk: GETs of a path and a number at random, so many requests at a time as the first argument says. They are
-- written beforehand, so that drawing them costs nothing while it is measured.
local ready, next_one = {}, 0

function init(args)
    local depth, keys, path = tonumber(args[1]), tonumber(args[2]), args[3]
    math.randomseed(os.time())
    for i = 1, math.floor(262144 / depth) do
        local some = {}
        for j = 1, depth do
            some[j] = wrk.format("GET", path .. math.random(0, keys - 1))
        end
        ready[i] = table.concat(some)
    end
end

function request()
    next_one = next_one % #ready + 1
    return ready[next_one]
end
