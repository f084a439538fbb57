--[[ Reads all that is counted of a workspace, at one instant.
  KEYS, ARGV[1…3] as pending.lua's; ARGV[4] the cursor of the calls to go on from   ARGV[5] about how many calls to read
  Returns {nowMs, wallet, months, keys, calls, cursor}: hashes as field, value, …; a key as {id, hash}; a call as {id, session, hash}. ]]
local time = redis.call('TIME')
local keys = {}
for index, id in ipairs(redis.call('SMEMBERS', KEYS[5])) do keys[index] = { id, redis.call('HGETALL', ARGV[2] .. id) } end
local calls = {}
local page = redis.call('HSCAN', KEYS[4], ARGV[4], 'COUNT', ARGV[5])
for index = 1, #page[2], 2 do
  local id = page[2][index]
  calls[#calls + 1] = { id, page[2][index + 1], redis.call('HGETALL', ARGV[3] .. id) }
end
return {
  string.format('%.0f', math.floor(time[1] * 1000 + time[2] / 1000)),
  redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]), keys, calls, page[1],
}
