#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Ends a call: its hold becomes its charge, once, however often this runs. The call stays pending, with its completion event, until
  an absorb finds it in the ledger's sums. Uses pending.lua and rates.lua.
  ARGV[2] call id   ARGV[3] charge, nano-dollars   ARGV[4] tokens used in all, or '' where nobody knows: what was estimated stays
  taken   ARGV[5] completion event, JSON
  Returns what the call was: held | ended | released, or none where it is not pending; unlisted where it was held and has lost its
  place among the workspace's calls, so that others may have as well. ]]
-- include pending.lua
-- include rates.lua
local record = recordOf(ARGV[2])
local call = redis.call('HMGET', record, 'kind', 'amount', 'key', 'month', 'estimate', 'tpm', 'session')
if call[1] ~= 'held' then return call[1] or 'none' end
local isListed, isUncounted = redis.call('HEXISTS', CALLS, ARGV[2]) == 1, false
if not isListed then
  isUncounted = redis.call('HDEL', UNCOUNTED, ARGV[2]) == 1
  freshen(call[3])
  redis.call('HSET', CALLS, ARGV[2], call[7])
end
if not isUncounted then take('held', call[2], call[3], call[4]) end
add('ended', ARGV[3], call[3], call[4])
redis.call('HSET', record, 'kind', 'ended', 'amount', ARGV[3], 'event', ARGV[5])
if hasLoss then recount() end
-- The rest of what was used, taken from the level of now: what was refilled beyond the capacity is not saved up.
local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local tpm = tonumber(call[6])
local rates = ratesOf(call[3])
local bucket = redis.call('HMGET', rates, 'level', 'at')
local level = tpm
if bucket[1] then level = math.min(tpm, tonumber(bucket[1]) + math.max(nowUs - tonumber(bucket[2]), 0) * tpm / 60000000) end
level = math.min(tpm, level - ((tonumber(ARGV[4]) or tonumber(call[5])) - tonumber(call[5])))
redis.call('HSET', rates, 'level', string.format('%.3f', level), 'at', string.format('%.0f', nowUs))
keep(rates, math.ceil((tpm - level) * 60000 / tpm) + 1000)
return (isListed or isUncounted) and 'held' or 'unlisted'
