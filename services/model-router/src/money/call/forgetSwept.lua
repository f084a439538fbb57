--[[ After the event log has a swept call's `unknown` event: the record shrinks to a tombstone, kept for as long as the
  call's router may still come back with its spool and the true ending. Of a settled call it is only remembered for a moment that it is over. A call that
  was settled after it was swept keeps its record: another event than the one the log has now stands in it.
  KEYS[1] {workspace}:call:<call id>   KEYS[2] {workspace}:calls
  ARGV[1] call id   ARGV[2] life of the tombstone, ms   ARGV[3] state whose event the log has: swept | settled
  ARGV[4] how long it is remembered that a settled call is over, ms ]]
local state = redis.call('HGET', KEYS[1], 'state')
if state and state ~= ARGV[3] then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
if state == 'swept' then
  redis.call('HDEL', KEYS[1], 'event')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif state then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'state', 'done')
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
