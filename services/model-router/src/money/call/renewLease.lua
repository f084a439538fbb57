--[[ Says that the router of a running call is alive.
  KEYS[1] {workspace}:call:<call id>   KEYS[2] {workspace}:calls   ARGV[1] call id   ARGV[2] lease, ms   ARGV[3] epoch
  Returns held; or lost, if the call was swept and its router must not settle it; or other_epoch, if it is not asserted; or
  none, if Redis does not know what it must know. ]]
local record = redis.call('HMGET', KEYS[1], 'state', 'epoch')
if not record[1] then return 'none' end
if record[2] and record[2] ~= ARGV[3] then return 'other_epoch' end
if record[1] ~= 'held' then return 'lost' end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], math.floor(time[1] * 1000 + time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 'held'
