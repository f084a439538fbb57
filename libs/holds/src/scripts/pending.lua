-- What every script knows of a workspace's pending calls: those that its sums here do not contain yet. It stands before the scripts
-- that name it.
--   KEYS[1] {workspace}:nothing, which never exists: a cluster that moves this slot's keys one by one refuses a script that names it.
--   All other names of the workspace are made of it, under the same hash tag: to read each from a command takes Redis longer.
--   ARGV[1] the mark that the owner counts by
-- A counter (wallet, key, month) has what is recorded, as of a timeline and sequence of the ledger, and beside it the sums of its
-- pending calls: `held` of those that run, `ended` of those whose charge is known.

local place = string.sub(KEYS[1], 1, -8)
local WALLET, MONTHS, CALLS = place .. 'wallet', place .. 'months', place .. 'calls'
-- The ids of all keys that have a counter.
local LISTED = place .. 'keys'
-- Calls that a count in steps has not reached, each with its session, and ids of the keys whose counters it has not set to zero.
local UNCOUNTED, STALE = place .. 'uncounted_calls', place .. 'stale_keys'
local function counterOf(keyId) return place .. 'key:' .. keyId end
local function recordOf(callId) return place .. 'call:' .. callId end

-- Returns a key of the shard: its hash tag is in the mark.
local function ownKey(name) return '{' .. string.sub(ARGV[1], 42, -38) .. '}:' .. name end

-- A Redis that restarted or was promoted may lack what was written last, and one that was emptied lacks all of it. The mark, which is
-- <replication id>:<hash tag>:<name>, is nobody's key here; where its slot has gone elsewhere, to read it is an error, and no mark.
-- INFO takes as long as three other commands. Nothing else that a script may read tells one run as a primary from the next.
local function isInForce()
  return redis.pcall('GET', ownKey('mark')) == ARGV[1]
    and string.find(redis.call('INFO', 'replication'), 'master_replid:' .. string.sub(ARGV[1], 1, 40), 1, true) ~= nil
end

-- Returns whether an owner's session still exists. The clock of a paused virtual machine stops, so its owner cannot know that the
-- lease has ended and that sweepers may have dropped its holds.
local function hasSession(token) return redis.pcall('EXISTS', ownKey('session:' .. token)) == 1 end

-- So long after its last use a workspace is forgotten here: the ledger has it all, and it is loaded again when it is used.
local forgottenMs = 40 * 86400000

-- Whether something was found to be lost alone, evicted or deleted by hand, so that all pending calls are to be counted again.
local hasLoss = false

-- Returns what the month has then.
local function add(kind, amount, keyId, month)
  redis.call('HINCRBY', WALLET, kind, amount)
  redis.call('HINCRBY', counterOf(keyId), kind, amount)
  return redis.call('HINCRBY', MONTHS, month .. ':' .. kind, amount)
end

-- What falls below zero lacked what is taken.
local function lower(counter, field, digits)
  if redis.call('HINCRBY', counter, field, digits) >= 0 then return end
  redis.call('HSET', counter, field, '0')
  hasLoss = true
end

-- Nothing is no reason to begin a counter: it would hide that there was another one.
local function take(kind, amount, keyId, month)
  if tonumber(amount) == 0 then return end
  local digits = string.format('%.0f', 0 - tonumber(amount))
  lower(WALLET, kind, digits)
  lower(counterOf(keyId), kind, digits)
  lower(MONTHS, month .. ':' .. kind, digits)
end

-- Lists a key that is counted. One that was listed had a counter; and a list that begins with this one may be another one.
local function list(keyId, hasCounter)
  local isNew = redis.call('SADD', LISTED, keyId) == 1
  if not isNew and not hasCounter then hasLoss = true end
  if isNew and redis.call('SCARD', LISTED) == 1 and redis.call('EXISTS', STALE) == 0 then hasLoss = true end
end

-- More pending calls than this are counted again in steps of so many, or Redis would be held up. Until the last step the wallet has
-- COUNTING before its mark, so that nothing is admitted. A call is in the sums if it is in CALLS, and in none if it is in UNCOUNTED.
local STEP = 500
local COUNTING = 'counting:'
local function isCounting() return redis.call('EXISTS', UNCOUNTED) == 1 or redis.call('EXISTS', STALE) == 1 end

-- Sets the counter of a key to zero where the count has not done so. Runs before anything is added to it.
local function freshen(keyId)
  if redis.call('SREM', STALE, keyId) == 0 then return end
  redis.call('HSET', counterOf(keyId), 'held', '0', 'ended', '0')
  redis.call('SADD', LISTED, keyId)
end

-- Makes every call an uncounted one, whatever their number.
local function startCount()
  redis.call('RENAME', CALLS, UNCOUNTED)
  if redis.call('EXISTS', LISTED) == 1 then redis.call('RENAME', LISTED, STALE) end
  redis.call('HSET', WALLET, 'held', '0', 'ended', '0', 'loaded', COUNTING .. (redis.call('HGET', WALLET, 'loaded') or ''))
  for _, field in ipairs(redis.call('HKEYS', MONTHS)) do
    local name = string.sub(field, 9, -1)
    if name == 'held' or name == 'ended' then redis.call('HSET', MONTHS, field, '0') end
  end
end

-- Counts all pending calls again, into counters that may lack some or all of them. Returns whether that takes further steps, which
-- absorb.lua takes. What is lost during a count has all counted once more after it.
local function recount()
  if isCounting() then
    redis.call('HSET', WALLET, 'again', '1')
    return true
  end
  if redis.call('HLEN', CALLS) > STEP then
    startCount()
    return true
  end
  redis.call('HSET', WALLET, 'held', '0', 'ended', '0')
  local seen = {}
  for _, id in ipairs(redis.call('HKEYS', CALLS)) do
    local call = redis.call('HMGET', recordOf(id), 'kind', 'amount', 'key', 'month')
    if call[2] then
      local key, month = counterOf(call[3]), call[4]
      if not seen[key] then
        seen[key] = true
        redis.call('HSET', key, 'held', '0', 'ended', '0')
        redis.call('SADD', LISTED, call[3])
      end
      if not seen[month] then
        seen[month] = true
        redis.call('HSET', MONTHS, month .. ':held', '0', month .. ':ended', '0')
      end
      add(call[1], call[2], call[3], month)
    end
  end
  return false
end
