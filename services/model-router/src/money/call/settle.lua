--[[ Ends a call: its hold becomes its charge, once, however often and in whatever order this runs.
  The completion event stays beside the record until the event log has it (`is_safe`), so that it stands in two places; the
  charge too, for balances that are loaded without the call's row (loadBalances.lua).
  A call that was swept and then proves to have ended (its router came back with its spool) is charged late, once.
  A call of another epoch than the balances is not charged here: the ledger counts it, or its router asserts it first.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:key:<id>   KEYS[3] {workspace}:months   KEYS[4] {workspace}:tpm:<id>
  KEYS[5] {workspace}:call:<call id>                          KEYS[6] {workspace}:calls       KEYS[8] workspaces
  ARGV[1] call id   ARGV[2] charge, nano-dollars   ARGV[3] tokens used in all   ARGV[4] event JSON
  ARGV[5] '1' when the event log has acknowledged the event   ARGV[6] time the event is kept before a sweeper emits it again, ms
  ARGV[7] epoch     ARGV[8] how long it is remembered that the call is over, ms    ARGV[9] workspace id
  Returns the state the record was in: held | settled | swept | released | done | none, or other_epoch.
  Only `held` and `swept` were charged. ]]
local charge, isSafe = ARGV[2], ARGV[5] == '1'
local record = redis.call('HMGET', KEYS[5], 'state', 'amount', 'month', 'estimate', 'tpm', 'epoch')
local state, amount, month = record[1], record[2], record[3]
if not state then return 'none' end
if state == 'released' or state == 'done' then return state end

local function forget()
  redis.call('DEL', KEYS[5])
  redis.call('ZREM', KEYS[6], ARGV[1])
end
local counted = redis.call('HGET', KEYS[1], 'epoch')
if record[6] ~= ARGV[7] or counted ~= ARGV[7] then
  -- Of a call from before the balances only the record is left, and the event log has its event: whether this command comes
  -- from a router that counts in them, or came late. A sweeper would take it for a call that lost its router.
  if isSafe and tonumber(record[6]) < math.max(tonumber(ARGV[7]), tonumber(counted or 0)) then forget() end
  return 'other_epoch'
end

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
if isSafe then
  -- A short memory, so that whatever of this call is still under way changes nothing.
  forget()
  redis.call('HSET', KEYS[5], 'state', 'done', 'epoch', ARGV[7])
  redis.call('PEXPIRE', KEYS[5], ARGV[8])
elseif state ~= 'settled' then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[5], 'state', 'settled', 'charge', charge, 'event', ARGV[4])
  redis.call('PERSIST', KEYS[5])
  redis.call('ZADD', KEYS[6], math.floor(time[1] * 1000 + time[2] / 1000) + tonumber(ARGV[6]), ARGV[1])
  redis.call('SADD', KEYS[8], ARGV[9])
end
return state
