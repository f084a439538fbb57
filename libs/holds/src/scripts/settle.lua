--[[ Ends a call: its hold becomes its charge, once, however often this runs. The call stays pending, with its completion event, until
  an absorb finds it in the ledger's sums. Uses pending.lua.
  KEYS[6] {workspace}:call:<call id>   KEYS[7] {workspace}:tpm:<id>
  ARGV[4] charge, nano-dollars   ARGV[5] tokens used in all, or '' where nobody knows: what was estimated
  stays taken   ARGV[6] completion event, JSON
  Returns what the call was: held | ended | released, or none where it is not pending; unlisted where it was held and has lost its
  place among the workspace's calls, so that others may have as well. ]]
-- include pending.lua
local call = redis.call('HMGET', KEYS[6], 'kind', 'amount', 'key', 'month', 'estimate', 'tpm', 'session')
if call[1] ~= 'held' then return call[1] or 'none' end
take('held', call[2], call[3], call[4])
add('ended', ARGV[4], call[3], call[4])
redis.call('HSET', KEYS[6], 'kind', 'ended', 'amount', ARGV[4], 'event', ARGV[6])
local id = string.sub(KEYS[6], #ARGV[3] + 1, -1)
local isListed = redis.call('HEXISTS', KEYS[4], id) == 1
if not isListed then redis.call('HSET', KEYS[4], id, call[7]) end
if hasLoss then recount() end
-- The rest of what was used, taken from the level of now: what was refilled beyond the capacity is not saved up.
local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local tpm = tonumber(call[6])
local bucket = redis.call('HMGET', KEYS[7], 'level', 'at')
local level = tpm
if bucket[1] then level = math.min(tpm, tonumber(bucket[1]) + math.max(nowUs - tonumber(bucket[2]), 0) * tpm / 60000000) end
level = math.min(tpm, level - ((tonumber(ARGV[5]) or tonumber(call[5])) - tonumber(call[5])))
redis.call('HSET', KEYS[7], 'level', string.format('%.3f', level), 'at', string.format('%.0f', nowUs))
redis.call('PEXPIRE', KEYS[7], math.ceil((tpm - level) * 60000 / tpm) + 1000)
return isListed and 'held' or 'unlisted'
