--[[ After the event log has a swept call's `unknown` event: the record shrinks to a tombstone, kept for as long as the
  call's router may still come back with its spool and the true ending. A settled call's record goes altogether. A call that
  was settled after it was swept keeps its record: another event than the one the log has now stands in it.
  KEYS[1] {workspace}:call:<call id>   KEYS[2] {workspace}:calls
  ARGV[1] call id   ARGV[2] life of the tombstone, ms   ARGV[3] state whose event the log has: swept | settled ]]
local state = redis.call('HGET', KEYS[1], 'state')
if state and state ~= ARGV[3] then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
if state == 'swept' then
  redis.call('HDEL', KEYS[1], 'event')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1
