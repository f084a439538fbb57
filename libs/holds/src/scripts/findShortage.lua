--[[ Says which limit would not carry so much more now. Changes nothing, and promises nothing. Uses pending.lua and limits.lua.
  ARGV[2] amount   ARGV[3] key generation   ARGV[4] key budget or ''   ARGV[5] monthly cap or ''   ARGV[6] month, YYYY-MM
  ARGV[7] key id   ARGV[8] first day of the key's period, ARGV[9] its budget; both are absent where it has none
  Returns {limiter, keySpent, keyHeld, available}, the limiter as in admit.lua, `not_loaded` included: '' also where nothing can be said, as
  the key's record is an older one, or this Redis is another one. ]]
-- include pending.lua
-- include limits.lua
local key = readKey(ARGV[7])
if isStale(key, ARGV[3]) or not isInForce() then return { '', '0', '0', '0' } end
local limiter, available = findShortage(tonumber(ARGV[2]), key, ARGV[6], ARGV[4], ARGV[5], ARGV[8] and readPeriod(ARGV[7], ARGV[8], ARGV[9]))
if limiter == 'not_loaded' then return { limiter, '0', '0', '0' } end
return { limiter, text(tonumber(key[3] or 0) + tonumber(key[5] or 0)), text(tonumber(key[4] or 0)), text(available) }
