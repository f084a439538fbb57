--[[ Takes back an admission nobody waited for: Redis answered too late, and the caller was told 503. Hold, request and
  tokens are given back, as if the call had not been.
  Leaves a tombstone, so that the admission itself, should it run only now, is refused as repeated.
  KEYS as settle.lua: wallet, key, months, tpm, call, calls; KEYS[7] {workspace}:rpm:<id>
  ARGV[1] call id   ARGV[2] life of the tombstone, ms
  Returns 1 if a hold was released. ]]
local record = redis.call('HMGET', KEYS[5], 'state', 'amount', 'month', 'epoch', 'rpm', 'tpm', 'estimate')
local wasHeld = record[1] == 'held'
if record[1] and not wasHeld then return 0 end

if wasHeld then
  if redis.call('HGET', KEYS[1], 'epoch') == record[4] then
    redis.call('HINCRBY', KEYS[1], 'held', 0 - tonumber(record[2]))
    redis.call('HINCRBY', KEYS[1], 'admitted', -1)
    redis.call('HINCRBY', KEYS[2], 'held', 0 - tonumber(record[2]))
    redis.call('HINCRBY', KEYS[3], record[3] .. ':held', 0 - tonumber(record[2]))
  end
  local time = redis.call('TIME')
  local nowUs = time[1] * 1000000 + time[2]
  local usedUs = tonumber(redis.call('GET', KEYS[7]) or 0) - 60000000 / tonumber(record[5]) - nowUs
  if usedUs > 0 then
    redis.call('SET', KEYS[7], string.format('%.0f', nowUs + usedUs), 'PX', math.ceil(usedUs / 1000) + 1)
  else
    redis.call('DEL', KEYS[7])
  end
  local tpm = tonumber(record[6])
  local bucket = redis.call('HMGET', KEYS[4], 'level', 'at')
  if bucket[1] then
    -- Given back to the level of then: what was refilled since is counted from there.
    local level = math.min(tpm, tonumber(bucket[1]) + tonumber(record[7]))
    redis.call('HSET', KEYS[4], 'level', string.format('%.3f', level))
  end
end
redis.call('DEL', KEYS[5])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('HSET', KEYS[5], 'state', 'released')
redis.call('PEXPIRE', KEYS[5], ARGV[2])
return wasHeld and 1 or 0
