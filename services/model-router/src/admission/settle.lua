--[[ Ends a call: its hold becomes its charge, once, however often and in whatever order this runs.
  The completion event stays beside the record until the event log has it (`is_safe`), so that it stands in two places.
  A call that was swept and then proves to have ended (its router came back with its spool) is charged late, once.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:key:<id>   KEYS[3] {workspace}:months   KEYS[4] {workspace}:tpm:<id>
  KEYS[5] {workspace}:call:<call id>                          KEYS[6] {workspace}:calls
  ARGV[1] call id   ARGV[2] charge, nano-dollars   ARGV[3] tokens used in all   ARGV[4] event JSON
  ARGV[5] '1' when the event log has acknowledged the event   ARGV[6] time the event is kept before a sweeper emits it again, ms
  Returns the state the record was in: held | settled | swept | released | none. Only `held` and `swept` were changed. ]]
local charge, isSafe = ARGV[2], ARGV[5] == '1'
local record = redis.call('HMGET', KEYS[5], 'state', 'amount', 'month', 'estimate', 'tpm')
local state, amount, month = record[1], record[2], record[3]
if not state then return 'none' end

if state == 'held' then
  redis.call('HINCRBY', KEYS[1], 'held', 0 - tonumber(amount))
  redis.call('HINCRBY', KEYS[2], 'held', 0 - tonumber(amount))
  redis.call('HINCRBY', KEYS[3], month .. ':held', 0 - tonumber(amount))
end
if state == 'held' or state == 'swept' then
  redis.call('HINCRBY', KEYS[1], 'spent', charge)
  redis.call('HINCRBY', KEYS[2], 'spent', charge)
  redis.call('HINCRBY', KEYS[3], month .. ':spent', charge)
  -- The rest of what was used, taken from the level of now: what was refilled beyond the capacity is not saved up.
  local time = redis.call('TIME')
  local nowUs = time[1] * 1000000 + time[2]
  local tpm = tonumber(record[5])
  local bucket = redis.call('HMGET', KEYS[4], 'level', 'at')
  local level = tpm
  if bucket[1] then level = math.min(tpm, tonumber(bucket[1]) + math.max(nowUs - tonumber(bucket[2]), 0) * tpm / 60000000) end
  level = math.min(tpm, level - (tonumber(ARGV[3]) - tonumber(record[4])))
  redis.call('HSET', KEYS[4], 'level', string.format('%.3f', level), 'at', string.format('%.0f', nowUs))
  redis.call('PEXPIRE', KEYS[4], math.ceil((tpm - level) * 60000 / tpm) + 1000)
end
if state == 'released' then return state end
if isSafe then
  redis.call('DEL', KEYS[5])
  redis.call('ZREM', KEYS[6], ARGV[1])
elseif state ~= 'settled' then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[5], 'state', 'settled', 'event', ARGV[4])
  redis.call('PERSIST', KEYS[5])
  redis.call('ZADD', KEYS[6], math.floor(time[1] * 1000 + time[2] / 1000) + tonumber(ARGV[6]), ARGV[1])
end
return state
