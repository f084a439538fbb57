#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Takes over what the ledger said of a workspace, of one instant: sums, and which pending calls they contain. Newer sums replace
  older ones; a call is pending no more exactly where the sums that stand here contain it. So what is said late or twice refuses too
  much for a moment, and never too little. Uses pending.lua.
  ARGV[2] timeline   ARGV[3] sequence   ARGV[4] credited less recorded
  ARGV[5] how many months   ARGV[6] keys   ARGV[7] calls with a final row   ARGV[8] calls with an unknown one
  ARGV[9…] YYYY-MM and what is recorded of it; key id, what is recorded of it, '1' where it is to be counted from now on, the first day of
    its period or '', and what is recorded since; the ids of calls; and of those whose row is unknown also why they may be dropped, as their owner may yet end them otherwise: the
    session that was seen to have lapsed, where they are held under that very one; 'ended' where their owner ended them so; or ''.
  Returns {closed} where another mark is in force, else {absorbed, 1 where the sums are newer or are counted only now, else 0, of each key
    whose period the answer lacks: its id and the period's first day}; with counting for absorbed while a count of all pending calls is to go on: this has taken one step of it, and is to run again. ]]
-- include pending.lua
if not isInForce() then return { 'closed', 0, {} } end
local timeline, sequence = tonumber(ARGV[2]), tonumber(ARGV[3])
-- What was loaded under another mark counts as nothing: this answer was asked for later.
local function isNewer(loaded, knownTimeline, knownSequence)
  if loaded ~= ARGV[1] then return true end
  knownTimeline, knownSequence = tonumber(knownTimeline), tonumber(knownSequence)
  return timeline > knownTimeline or (timeline == knownTimeline and sequence > knownSequence)
end

local wallet = redis.call('HMGET', WALLET, 'loaded', 'timeline', 'sequence', 'held')
local months, hasMonths = {}, false
for nth = 1, tonumber(ARGV[5]) do
  local month = ARGV[7 + 2 * nth]
  months[nth] = redis.call('HMGET', MONTHS, month .. ':loaded', month .. ':timeline', month .. ':sequence')
  if months[nth][1] then hasMonths = true end
end
local isBeingCounted = false
if wallet[1] ~= ARGV[1] then
  isBeingCounted = isCounting()
  if wallet[1] and string.sub(wallet[1], 1, 9) == COUNTING then
    isBeingCounted, wallet[1] = true, string.sub(wallet[1], 10, -1)
  end
end
if not wallet[4] or (not hasMonths and redis.call('EXISTS', MONTHS) == 0) then hasLoss = true end
local hasChanged = wallet[1] ~= ARGV[1]
-- Calls that newer sums of the wallet contain may be pending no more: what is not counted yet cannot be counted from an older answer.
local isLate = wallet[1] == ARGV[1]
  and (timeline < tonumber(wallet[2]) or (timeline == tonumber(wallet[2]) and sequence < tonumber(wallet[3])))
local function isUsable(loaded) return loaded == ARGV[1] or not isLate end
if isNewer(wallet[1], wallet[2], wallet[3]) then
  redis.call('HSET', WALLET, 'left', ARGV[4], 'timeline', ARGV[2], 'sequence', ARGV[3],
    'loaded', (isBeingCounted and COUNTING or '') .. ARGV[1])
  hasChanged = true
end
local at = 9
for _, known in ipairs(months) do
  local month = ARGV[at]
  if isUsable(known[1]) and isNewer(known[1], known[2], known[3]) then
    redis.call('HSET', MONTHS, month .. ':spent', ARGV[at + 1], month .. ':timeline', ARGV[2], month .. ':sequence', ARGV[3],
      month .. ':loaded', ARGV[1])
  end
  at = at + 2
end
-- The sum of a key's period counts while its place is not before that of the key's sum: so newer sums of the key without it end that.
local lacking = {}
local function takePeriod(keyId, isWanted, since, spent)
  local counter = counterOf(keyId)
  local known = redis.call('HMGET', counter, 'since', 'since_loaded', 'since_timeline', 'since_sequence')
  local isSame, isLater = known[1] == since, isNewer(known[2], known[3], known[4])
  if since ~= '' and (isWanted or isSame) and (isLater or not isSame) then
    redis.call('HSET', counter, 'since', since, 'since_spent', spent, 'since_timeline', ARGV[2], 'since_sequence', ARGV[3],
      'since_loaded', ARGV[1])
  elseif known[2] == ARGV[1] and isLater and not isSame then
    lacking[#lacking + 1] = keyId
    lacking[#lacking + 1] = known[1]
  end
end
for _ = 1, tonumber(ARGV[6]) do
  local counter = counterOf(ARGV[at])
  if isBeingCounted then freshen(ARGV[at]) end
  local known = redis.call('HMGET', counter, 'loaded', 'timeline', 'sequence', 'held')
  if known[1] == ARGV[1] or (ARGV[at + 2] == '1' and not isLate) then
    if isNewer(known[1], known[2], known[3]) then
      redis.call('HSET', counter, 'spent', ARGV[at + 1], 'timeline', ARGV[2], 'sequence', ARGV[3], 'loaded', ARGV[1])
    end
    if known[1] ~= ARGV[1] then
      hasChanged = true
      redis.call('PEXPIRE', counter, forgottenMs)
    end
    list(ARGV[at], known[4])
    if not known[4] then redis.call('HSET', counter, 'held', '0', 'ended', '0') end
    takePeriod(ARGV[at], ARGV[at + 2] == '1', ARGV[at + 3], ARGV[at + 4])
  end
  at = at + 5
end
-- What is dropped, added up: it is taken off each counter at once, and goes in one command.
local sums, sumOf = {}, {}
local dropped, records, isDropped = {}, {}, {}
local function drop(id, call)
  if isDropped[id] then return end
  isDropped[id] = true
  dropped[#dropped + 1] = id
  records[#records + 1] = recordOf(id)
  if isBeingCounted and redis.call('HDEL', UNCOUNTED, id) == 1 then return end
  local name = call[1] .. call[4] .. call[3]
  local sum = sumOf[name]
  if not sum then
    sum = { call[1], 0, call[3], call[4] }
    sumOf[name] = sum
    sums[#sums + 1] = sum
  end
  sum[2] = sum[2] + tonumber(call[2])
end
for _ = 1, tonumber(ARGV[7]) do
  local call = redis.call('HMGET', recordOf(ARGV[at]), 'kind', 'amount', 'key', 'month')
  if call[1] == 'held' or call[1] == 'ended' then drop(ARGV[at], call) end
  -- One that has lost its record alone is counted still.
  if not call[1] and redis.call('HDEL', CALLS, ARGV[at]) == 1 then hasLoss = true end
  if not call[1] and isBeingCounted then redis.call('HDEL', UNCOUNTED, ARGV[at]) end
  at = at + 1
end
for _ = 1, tonumber(ARGV[8]) do
  local call = redis.call('HMGET', recordOf(ARGV[at]), 'kind', 'amount', 'key', 'month', 'session', 'event')
  local isLost = call[1] == 'held' and call[5] == ARGV[at + 1]
  local hasEndedSo = ARGV[at + 1] == 'ended' or (call[1] == 'ended' and string.find(call[6], '"status":"unknown"', 1, true))
  if (call[1] == 'held' or call[1] == 'ended') and (isLost or hasEndedSo) then drop(ARGV[at], call) end
  at = at + 2
end
-- No more at a time than Lua takes as arguments.
for first = 1, #dropped, 1000 do
  local last = math.min(first + 999, #dropped)
  redis.call('DEL', unpack(records, first, last))
  redis.call('HDEL', CALLS, unpack(dropped, first, last))
end
-- Gives a counter its whole time again once half of it is over.
local function keep(counter)
  if redis.call('PTTL', counter) >= forgottenMs / 2 then return false end
  redis.call('PEXPIRE', counter, forgottenMs)
  return true
end
for _, sum in ipairs(sums) do
  take(sum[1], sum[2], sum[3], sum[4])
  keep(counterOf(sum[3]))
end
if hasLoss then
  -- Those that no pending call names are at zero.
  at = 9
  for _ = 1, tonumber(ARGV[5]) do
    redis.call('HSET', MONTHS, ARGV[at] .. ':held', '0', ARGV[at] .. ':ended', '0')
    at = at + 2
  end
  for _ = 1, tonumber(ARGV[6]) do
    local counter = counterOf(ARGV[at])
    if redis.call('HEXISTS', counter, 'held') == 1 then redis.call('HSET', counter, 'held', '0', 'ended', '0') end
    at = at + 5
  end
  isBeingCounted = recount() or isBeingCounted
end
-- Takes a step of the count: keys first, as what is added to their counters before is lost. Returns whether there is more to count.
local function countSome()
  local keys = redis.call('SPOP', STALE, STEP)
  for _, keyId in ipairs(keys) do
    if redis.call('HEXISTS', counterOf(keyId), 'held') == 1 then
      redis.call('HSET', counterOf(keyId), 'held', '0', 'ended', '0')
      redis.call('SADD', LISTED, keyId)
    end
  end
  local calls = redis.call('HRANDFIELD', UNCOUNTED, STEP - #keys, 'WITHVALUES')
  for nth = 1, #calls, 2 do
    local call = redis.call('HMGET', recordOf(calls[nth]), 'kind', 'amount', 'key', 'month')
    redis.call('HDEL', UNCOUNTED, calls[nth])
    redis.call('HSET', CALLS, calls[nth], calls[nth + 1])
    if call[2] then
      redis.call('SADD', LISTED, call[3])
      add(call[1], call[2], call[3], call[4])
    end
  end
  if isCounting() then return true end
  local counted = redis.call('HMGET', WALLET, 'loaded', 'again')
  redis.call('HSET', WALLET, 'loaded', string.sub(counted[1] or '', 10, -1))
  if not counted[2] then return false end
  redis.call('HDEL', WALLET, 'again')
  return recount()
end
local hasMore = isBeingCounted and countSome()
-- Pending calls have no end of their own: where a counter had one before them, they are counted again.
if keep(WALLET) then
  for _, name in ipairs({ MONTHS, LISTED }) do redis.call('PEXPIRE', name, forgottenMs) end
end
return { hasMore and 'counting' or 'absorbed', hasChanged and 1 or 0, lacking }
