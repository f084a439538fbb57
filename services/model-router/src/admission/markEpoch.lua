--[[ Marks the Redis that an epoch's balances are to be kept in, before any of them is given out. Whoever empties Redis takes the
  mark along, and nothing puts it back: what has lost it has lost holds.
  KEYS[1] epoch   ARGV[1] epoch   ARGV[2] replication id of the epoch's Redis
  Returns marked | other_redis. ]]
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[2], 1, true) then return 'other_redis' end
redis.call('SET', KEYS[1], ARGV[1])
return 'marked'
