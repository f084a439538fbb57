--[[ Takes back an admission nobody waited for: Redis answered too late, and the caller was told 503.
  Leaves a tombstone, so that the admission itself, should it run only now, is refused as repeated.
  KEYS as settle.lua: wallet, key, months, tpm, call, calls.   ARGV[1] call id   ARGV[2] life of the tombstone, ms
  Returns 1 if a hold was released. ]]
local record = redis.call('HMGET', KEYS[5], 'state', 'amount', 'month')
local wasHeld = record[1] == 'held'
if wasHeld then
  redis.call('HINCRBY', KEYS[1], 'held', 0 - tonumber(record[2]))
  redis.call('HINCRBY', KEYS[2], 'held', 0 - tonumber(record[2]))
  redis.call('HINCRBY', KEYS[3], record[3] .. ':held', 0 - tonumber(record[2]))
elseif record[1] then
  return 0
end
redis.call('DEL', KEYS[5])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('HSET', KEYS[5], 'state', 'released')
redis.call('PEXPIRE', KEYS[5], ARGV[2])
return wasHeld and 1 or 0
