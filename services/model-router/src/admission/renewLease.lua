--[[ Says that the router of a running call is alive.
  KEYS[1] {workspace}:call:<call id>   KEYS[2] {workspace}:calls   ARGV[1] call id   ARGV[2] lease, ms
  Returns 1, or 0 if the call is no longer held: it was swept, and its router must not settle it. ]]
if redis.call('HGET', KEYS[1], 'state') ~= 'held' then return 0 end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], math.floor(time[1] * 1000 + time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 1
