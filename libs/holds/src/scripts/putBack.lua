#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Puts an owner's calls back as pending ones, under its new session: those that run with their hold, those that have ended and may
  not be recorded with their charge. What stands there already gets the session; a charge stays a charge, and
  a hold that was released stays so. A limit may be passed by it: the call was admitted within the limits of then. Uses pending.lua.
  ARGV[2] owner's name   ARGV[3] number, higher than in any put-back before: what comes late or twice changes nothing
  ARGV[4] session       ARGV[5] how many calls
  ARGV[6…] of each: id, kind (held | ended), amount, key id, YYYY-MM of the admission, estimated prompt tokens, rpm, tpm, admission (ms),
    event JSON: of a held one its unknown ending
  Returns back | recounted, where more than calls was lost | closed | late. ]]
-- include pending.lua
if not isInForce() then return 'closed' end
-- Owners' names, and the number of the last put-back of each.
local OWNERS = place .. 'owners'
if tonumber(redis.call('HGET', OWNERS, ARGV[2]) or 0) >= tonumber(ARGV[3]) then return 'late' end
redis.call('HSET', OWNERS, ARGV[2], ARGV[3])
redis.call('PEXPIRE', OWNERS, forgottenMs)
-- Numbers are not below the milliseconds of their time. Of an owner that has put nothing back for a day, nothing is under way.
if redis.call('HLEN', OWNERS) > 200 then
  local owners = redis.call('HGETALL', OWNERS)
  for nth = 1, #owners, 2 do
    if tonumber(owners[nth + 1]) < tonumber(ARGV[3]) - 86400000 then redis.call('HDEL', OWNERS, owners[nth]) end
  end
end
if redis.call('HEXISTS', WALLET, 'held') == 0 or redis.call('EXISTS', MONTHS) == 0 then hasLoss = true end
local isBeingCounted = isCounting()
local at = 6
for _ = 1, tonumber(ARGV[5]) do
  local id, kind, amount, keyId, month = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local known = redis.call('HMGET', recordOf(id), 'kind', 'amount', 'key', 'month')
  local isUncounted = isBeingCounted and redis.call('HEXISTS', UNCOUNTED, id) == 1
  if isBeingCounted then freshen(keyId) end
  -- One that has lost its record alone is counted still.
  if not known[1] and redis.call('HEXISTS', CALLS, id) == 1 then hasLoss = true end
  list(keyId, redis.call('HEXISTS', counterOf(keyId), 'held') == 1)
  local isReleased = kind == 'held' and known[1] == 'released'
  if known[1] == 'ended' then
    redis.call('HSET', recordOf(id), 'session', ARGV[4])
  elseif not isReleased then
    if isUncounted then
      redis.call('HDEL', UNCOUNTED, id)
      isUncounted = false
    elseif known[1] == 'held' then
      take('held', known[2], known[3], known[4])
    end
    add(kind, amount, keyId, month)
    redis.call('DEL', recordOf(id))
    redis.call('HSET', recordOf(id), 'kind', kind, 'amount', amount, 'key', keyId, 'month', month, 'session', ARGV[4],
      'owner', ARGV[2], 'estimate', ARGV[at + 5], 'rpm', ARGV[at + 6], 'tpm', ARGV[at + 7], 'admitted_at', ARGV[at + 8],
      'event', ARGV[at + 9])
  end
  if not isReleased then redis.call('HSET', isUncounted and UNCOUNTED or CALLS, id, ARGV[4]) end
  at = at + 10
end
if not hasLoss then return 'back' end
recount()
return 'recounted'
