#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Notes from which generation on a key's records are admitted. Changes of a key may be told in any order; only a newer
  one counts.
  KEYS[1] {workspace}:key:<id>   ARGV[1] generation
  ARGV[2] active | blocked | revoked, where the change is one of the key's status, else ''
  Returns the generation in force. ]]
local key = redis.call('HMGET', KEYS[1], 'generation', 'status')
local known = tonumber(key[1] or -1)
local given = tonumber(ARGV[1])
if given > known then redis.call('HSET', KEYS[1], 'generation', ARGV[1]) end
-- Long after nobody has an older record of the key any more.
if not key[1] then redis.call('PEXPIRE', KEYS[1], 40 * 86400000) end
-- A revocation is for good.
if key[2] ~= 'revoked' and given >= known then
  if ARGV[2] == 'revoked' or ARGV[2] == 'blocked' then redis.call('HSET', KEYS[1], 'status', ARGV[2]) end
  if ARGV[2] == 'active' and given > known then redis.call('HDEL', KEYS[1], 'status') end
end
return math.max(given, known)
