#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Sets a key that expires, unless it exists: a session, or the sweeper of a shard. A full Redis takes it, because both free memory.
  KEYS[1] the key   ARGV[1] its value   ARGV[2] its life, ms
  Returns 1 if it was set. ]]
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') and 1 or 0
