--[[ Notes from which generation on a key's records are admitted. Changes of a key may be told in any order; only a newer
  one counts.
  KEYS[1] {workspace}:key:<id>   ARGV[1] generation
  Returns the generation in force. ]]
local known = tonumber(redis.call('HGET', KEYS[1], 'generation') or -1)
local given = tonumber(ARGV[1])
if given > known then redis.call('HSET', KEYS[1], 'generation', ARGV[1]) end
return math.max(given, known)
