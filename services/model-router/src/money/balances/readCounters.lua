--[[ Reads all that is counted of a workspace, at one instant. The names of counters and records that are made here have the
  workspace's hash tag, as KEYS have.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:months   KEYS[3] {workspace}:keys   KEYS[4] {workspace}:calls
  ARGV[1] what the name of a key's counter begins with      ARGV[2] what that of a call's record begins with
  ARGV[3] how many open calls to pass over                  ARGV[4] most calls to read
  Returns {nowMs, wallet, months, keys, calls, openCalls}: hashes as field, value, …; a key as {id, epoch, spent, held}; a
  call as {id, lease's end (ms), state, epoch, key, hold, owner, admitted at (ms), event JSON, asked, counted}. ]]
local time = redis.call('TIME')
local keys = {}
for index, id in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local counter = redis.call('HMGET', ARGV[1] .. id, 'epoch', 'spent', 'held')
  keys[index] = { id, counter[1] or '', counter[2] or '0', counter[3] or '0' }
end
local calls = {}
local first = tonumber(ARGV[3])
local leases = redis.call('ZRANGE', KEYS[4], first, first + tonumber(ARGV[4]) - 1, 'WITHSCORES')
for index = 1, #leases, 2 do
  local record = redis.call('HMGET', ARGV[2] .. leases[index], 'state', 'epoch', 'key', 'amount', 'owner', 'admitted_at',
    'event', 'asked', 'counted')
  calls[#calls + 1] = {
    leases[index], leases[index + 1], record[1] or '', record[2] or '', record[3] or '', record[4] or '0', record[5] or '',
    record[6] or '0', record[7] or '', record[8] or '', record[9] or '',
  }
end
return {
  string.format('%.0f', math.floor(time[1] * 1000 + time[2] / 1000)),
  redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), keys, calls, redis.call('ZCARD', KEYS[4]),
}
