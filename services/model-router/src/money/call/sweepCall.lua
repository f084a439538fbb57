--[[ Takes one call whose lease has ended: a held one gives its hold back and becomes `unknown`; a settled or swept one
  only has its event emitted again. The next look is a lease away, so the event is not emitted twice at once.
  The hold of a call from before the epoch does not stand in the balances. It is counted as admitted now, unless it was when
  the balances were loaded (loadBalances.lua). Where that was not asked, it is noted as `uncertain`: the ledger may have had
  its row then, and have counted it.
  KEYS as settle.lua: wallet, key, months, tpm, call, calls.   ARGV[1] call id   ARGV[2] lease, ms   ARGV[3] epoch
  Returns {state before, event JSON, admitted at (ms)}, or {} if the call's lease has not ended, it is gone, or the balances
  are not of this epoch. ]]
local time = redis.call('TIME')
local nowMs = math.floor(time[1] * 1000 + time[2] / 1000)
local leaseEnd = redis.call('ZSCORE', KEYS[6], ARGV[1])
if not leaseEnd or tonumber(leaseEnd) > nowMs then return {} end
local record = redis.call('HMGET', KEYS[5], 'state', 'amount', 'month', 'event', 'admitted_at', 'epoch', 'asked', 'counted')
if not record[1] or not record[4] then
  redis.call('ZREM', KEYS[6], ARGV[1])
  return {}
end
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[3] then return {} end
if record[6] ~= ARGV[3] then
  local wasAsked = record[7] == ARGV[3]
  if not wasAsked then redis.call('HINCRBY', KEYS[1], 'uncertain', 1) end
  if not wasAsked or record[8] == 'no' then
    redis.call('HINCRBY', KEYS[1], 'admitted', 1)
    redis.call('HSET', KEYS[5], 'asked', ARGV[3], 'counted', 'awaited')
  end
elseif record[1] == 'held' then
  redis.call('HINCRBY', KEYS[1], 'held', 0 - tonumber(record[2]))
  redis.call('HINCRBY', KEYS[2], 'held', 0 - tonumber(record[2]))
  redis.call('HINCRBY', KEYS[3], record[3] .. ':held', 0 - tonumber(record[2]))
end
if record[1] == 'held' then redis.call('HSET', KEYS[5], 'state', 'swept') end
redis.call('ZADD', KEYS[6], nowMs + tonumber(ARGV[2]), ARGV[1])
return { record[1], record[4], record[5] }
