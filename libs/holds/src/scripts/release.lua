#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Takes back an admission nobody waited for: Redis answered too late, and the client was told 503. Hold, request and tokens are
  given back, as if the call had not been. Leaves a tombstone, so that the admission itself, should it run only now, is refused as
  repeated. Uses pending.lua and rates.lua.
  ARGV[2] call id   ARGV[3] life of the tombstone, ms
  Returns 1 if a hold was released. ]]
-- include pending.lua
-- include rates.lua
local record = recordOf(ARGV[2])
local call = redis.call('HMGET', record, 'kind', 'amount', 'key', 'month', 'estimate', 'rpm', 'tpm')
if call[1] and call[1] ~= 'held' then return 0 end
if call[1] then
  if redis.call('HDEL', UNCOUNTED, ARGV[2]) == 0 then take('held', call[2], call[3], call[4]) end
  local time = redis.call('TIME')
  local nowUs = time[1] * 1000000 + time[2]
  local rates = ratesOf(call[3])
  local known = redis.call('HMGET', rates, 'level', 'arrival')
  if known[1] then
    local usedUs = math.max(tonumber(known[2] or 0) - 60000000 / tonumber(call[6]) - nowUs, 0)
    -- Given back to the level of then: what was refilled since is counted from there.
    local level = math.min(tonumber(call[7]), tonumber(known[1]) + tonumber(call[5]))
    redis.call('HSET', rates, 'level', string.format('%.3f', level), 'arrival', string.format('%.0f', nowUs + usedUs))
  end
end
redis.call('DEL', record)
redis.call('HDEL', CALLS, ARGV[2])
if hasLoss then recount() end
redis.call('HSET', record, 'kind', 'released')
redis.call('PEXPIRE', record, ARGV[3])
return call[1] and 1 or 0
