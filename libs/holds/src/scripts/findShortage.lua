--[[ Says which limit would not carry so much more now. Changes nothing, and promises nothing. Uses pending.lua and limits.lua.
  ARGV[4] amount   ARGV[5] key generation   ARGV[6] key budget or ''   ARGV[7] monthly cap or ''   ARGV[8] month, YYYY-MM
  Returns {limiter, keySpent, keyHeld, available}, the limiter as in admit.lua: '' also where nothing can be said, as sums are not loaded,
  the key's record is an older one, or this Redis is another one. ]]
-- include pending.lua
-- include limits.lua
local key = readKey()
if isStale(key, ARGV[5]) or not isInForce() then return { '', '0', '0', '0' } end
local limiter, available = findShortage(tonumber(ARGV[4]), key, ARGV[8], ARGV[6], ARGV[7])
if limiter == 'not_loaded' then return { '', '0', '0', '0' } end
return { limiter, text(tonumber(key[3] or 0) + tonumber(key[5] or 0)), text(tonumber(key[4] or 0)), text(available) }
