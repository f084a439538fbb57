--[[ Takes back an admission nobody waited for: Redis answered too late, and the client was told 503. Hold, request and tokens are
  given back, as if the call had not been. Leaves a tombstone, so that the admission itself, should it run only now, is refused as
  repeated. Uses pending.lua.
  KEYS[6] {workspace}:call:<call id>   KEYS[7] {workspace}:tpm:<id>   KEYS[8] {workspace}:rpm:<id>
  ARGV[4] call id   ARGV[5] life of the tombstone, ms
  Returns 1 if a hold was released. ]]
-- include pending.lua
local call = redis.call('HMGET', KEYS[6], 'kind', 'amount', 'key', 'month', 'estimate', 'rpm', 'tpm')
if call[1] and call[1] ~= 'held' then return 0 end
if call[1] then
  take('held', call[2], call[3], call[4])
  local time = redis.call('TIME')
  local nowUs = time[1] * 1000000 + time[2]
  local usedUs = tonumber(redis.call('GET', KEYS[8]) or 0) - 60000000 / tonumber(call[6]) - nowUs
  if usedUs > 0 then
    redis.call('SET', KEYS[8], string.format('%.0f', nowUs + usedUs), 'PX', math.ceil(usedUs / 1000) + 1)
  else
    redis.call('DEL', KEYS[8])
  end
  local bucket = redis.call('HMGET', KEYS[7], 'level', 'at')
  if bucket[1] then
    -- Given back to the level of then: what was refilled since is counted from there.
    local level = math.min(tonumber(call[7]), tonumber(bucket[1]) + tonumber(call[5]))
    redis.call('HSET', KEYS[7], 'level', string.format('%.3f', level))
  end
end
redis.call('DEL', KEYS[6])
redis.call('HDEL', KEYS[4], ARGV[4])
if hasLoss then recount() end
redis.call('HSET', KEYS[6], 'kind', 'released')
redis.call('PEXPIRE', KEYS[6], ARGV[5])
return call[1] and 1 or 0
