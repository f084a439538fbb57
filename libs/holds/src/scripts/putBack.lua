--[[ Puts an owner's calls back as pending ones, under its new session: those that run with their hold, those that have ended and may
  not be recorded with their charge. What stands there already gets the session; a charge stays a charge, and
  a hold that was released stays so. A limit may be passed by it: the call was admitted within the limits of then. Uses pending.lua.
  KEYS[6] {workspace}:owners  hash of owners' names and the number of their last put-back here
  ARGV[4] owner's name   ARGV[5] number, higher than in any put-back before: what comes late or twice changes nothing
  ARGV[6] session       ARGV[7] how many calls
  ARGV[8…] of each: id, kind (held | ended), amount, key id, YYYY-MM of the admission, estimated prompt tokens, rpm, tpm, admission (ms),
    event JSON: of a held one its unknown ending
  Returns back | recounted, where more than calls was lost | closed | late. ]]
-- include pending.lua
if not isInForce() then return 'closed' end
if tonumber(redis.call('HGET', KEYS[6], ARGV[4]) or 0) >= tonumber(ARGV[5]) then return 'late' end
redis.call('HSET', KEYS[6], ARGV[4], ARGV[5])
redis.call('PEXPIRE', KEYS[6], forgottenMs)
-- Numbers are not below the milliseconds of their time. Of an owner that has put nothing back for a day, nothing is under way.
if redis.call('HLEN', KEYS[6]) > 200 then
  local owners = redis.call('HGETALL', KEYS[6])
  for nth = 1, #owners, 2 do
    if tonumber(owners[nth + 1]) < tonumber(ARGV[5]) - 86400000 then redis.call('HDEL', KEYS[6], owners[nth]) end
  end
end
if redis.call('HEXISTS', KEYS[2], 'held') == 0 or redis.call('EXISTS', KEYS[3]) == 0 then hasLoss = true end
local at = 8
for _ = 1, tonumber(ARGV[7]) do
  local id, kind, amount, keyId, month = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local known = redis.call('HMGET', ARGV[3] .. id, 'kind', 'amount', 'key', 'month')
  -- One that has lost its record alone is counted still.
  if not known[1] and redis.call('HEXISTS', KEYS[4], id) == 1 then hasLoss = true end
  list(keyId, redis.call('HEXISTS', ARGV[2] .. keyId, 'held') == 1)
  local isReleased = kind == 'held' and known[1] == 'released'
  if known[1] == 'ended' then
    redis.call('HSET', ARGV[3] .. id, 'session', ARGV[6])
  elseif not isReleased then
    if known[1] == 'held' then take('held', known[2], known[3], known[4]) end
    add(kind, amount, keyId, month)
    redis.call('DEL', ARGV[3] .. id)
    redis.call('HSET', ARGV[3] .. id, 'kind', kind, 'amount', amount, 'key', keyId, 'month', month, 'session', ARGV[6],
      'owner', ARGV[4], 'estimate', ARGV[at + 5], 'rpm', ARGV[at + 6], 'tpm', ARGV[at + 7], 'admitted_at', ARGV[at + 8],
      'event', ARGV[at + 9])
  end
  if not isReleased then redis.call('HSET', KEYS[4], id, ARGV[6]) end
  at = at + 10
end
if not hasLoss then return 'back' end
recount()
return 'recounted'
