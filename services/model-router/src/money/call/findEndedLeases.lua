--[[ Finds a workspace's calls whose lease has ended. One without any call is no longer looked at: it leaves the set here, and
  every script that gives it a call puts it in again, so that whoever has calls is in the set at every instant.
  KEYS[1] {workspace}:calls   KEYS[2] workspaces
  ARGV[1] workspace id   ARGV[2] how many of those calls to pass over   ARGV[3] most calls to find
  Returns their ids, those first whose lease ended first. ]]
if redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('SREM', KEYS[2], ARGV[1])
  return {}
end
local time = redis.call('TIME')
local nowMs = math.floor(time[1] * 1000 + time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', nowMs, 'LIMIT', ARGV[2], ARGV[3])
