--[[ Raises what is held for a running call, where the limits of now carry the difference; all or nothing. The month and the period that
  count are those of the admission, and a key's rates are not asked. What holds as much already stays as it is: this may run any number of times, and a
  hold never gets less before its end. Uses pending.lua and limits.lua.
  ARGV[2] call id   ARGV[3] what is to be held in all   ARGV[4] key generation   ARGV[5] key budget or ''   ARGV[6] monthly cap or ''
  ARGV[7] the owner's session: what stands under another is not this owner's, or is about to be put back
  ARGV[8] unknown-event JSON   ARGV[9] '' or why the workspace may not spend
  ARGV[10] first day of the key's period, ARGV[11] its budget; both are absent where it has none
  Returns {outcome, limiter, available}: extended | not_held | not_loaded | closed | stale_key | not_billable | insufficient, with the
    limiter as in admit.lua and what that one still carries beyond the hold. ]]
-- include pending.lua
-- include limits.lua
if not isInForce() or not hasSession(ARGV[7]) then return { 'closed', '', '0' } end
local record = recordOf(ARGV[2])
local call = redis.call('HMGET', record, 'kind', 'amount', 'key', 'month', 'session')
if call[1] ~= 'held' or call[5] ~= ARGV[7] then return { 'not_held', '', '0' } end
local more = tonumber(ARGV[3]) - tonumber(call[2])
if more <= 0 then return { 'extended', '', '0' } end
local key = readKey(call[3])
if isStale(key, ARGV[4]) then return { 'stale_key', '', '0' } end
if ARGV[9] ~= '' then return { 'not_billable', '', '0' } end
local limiter, available = findShortage(more, key, call[4], ARGV[5], ARGV[6], ARGV[10] and readPeriod(call[3], ARGV[10], ARGV[11]))
if limiter == 'not_loaded' then return { 'not_loaded', '', '0' } end
if limiter ~= '' then return { 'insufficient', limiter, text(available) } end
local monthHeld = add('held', text(more), call[3], call[4])
redis.call('HSET', record, 'amount', ARGV[3], 'event', ARGV[8])
-- What was held for this very call was counted there, or the counter was lost alone.
if not key[4] or monthHeld < tonumber(ARGV[3]) then recount() end
return { 'extended', '', text(available) }
