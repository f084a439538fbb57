--[[ Marks the Redis that an epoch's balances are to be kept in, before any of them is given out. Whoever empties Redis takes the
  mark along, and nothing puts it back: what has lost it has lost holds. So it is put only while the ledger waits for the
  router that puts it, however late the command comes.
  KEYS[1] epoch   ARGV[1] epoch   ARGV[2] replication id of the epoch's Redis   ARGV[3] until when, ms by Redis' clock
  Returns marked | other_redis | too_late. ]]
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[2], 1, true) then return 'other_redis' end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[3]) then return 'too_late' end
redis.call('SET', KEYS[1], ARGV[1])
return 'marked'
