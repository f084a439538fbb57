#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Has a key's older records admitted again: auth was asked after this generation had been seen, and knows an older one, so its
  database was set back. A key that was revoked or blocked stays out.
  KEYS[1] {workspace}:key:<id>   ARGV[1] the generation that was seen   ARGV[2] the one that auth gives
  Returns set_back | kept_out | changed, where the key has changed again since. ]]
local key = redis.call('HMGET', KEYS[1], 'generation', 'status')
if key[2] then return 'kept_out' end
if key[1] ~= ARGV[1] then return 'changed' end
redis.call('HSET', KEYS[1], 'generation', ARGV[2])
return 'set_back'
