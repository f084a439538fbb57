-- What scripts know of a key's limits per minute. It stands after pending.lua.
--   {workspace}:tpm:<key id>  hash: level, of the tokens, as it was at an instant (µs); arrival, the next request's theoretical one, µs
--   (GCRA). What is missing was never used, or is full again.

local function ratesOf(keyId) return place .. 'tpm:' .. keyId end

-- Not forgotten before it is full again. Its end moves about once a minute: to look at it is cheaper than to move it.
local function keep(rates, ms)
  if redis.call('PTTL', rates) < ms then redis.call('PEXPIRE', rates, ms + 60000) end
end
