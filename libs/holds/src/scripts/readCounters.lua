--[[ Reads all that is counted of a workspace, at one instant.
  Uses pending.lua. ARGV[2] the cursor of the calls to go on from   ARGV[3] about how many calls to read
  Returns {nowMs, wallet, months, keys, calls, cursor}: hashes as field, value, …; a key as {id, hash}; a call as {id, session, hash}. ]]
-- include pending.lua
local time = redis.call('TIME')
local keys = {}
for index, id in ipairs(redis.call('SMEMBERS', LISTED)) do keys[index] = { id, redis.call('HGETALL', counterOf(id)) } end
local calls = {}
local page = redis.call('HSCAN', CALLS, ARGV[2], 'COUNT', ARGV[3])
for index = 1, #page[2], 2 do
  local id = page[2][index]
  calls[#calls + 1] = { id, page[2][index + 1], redis.call('HGETALL', recordOf(id)) }
end
return {
  string.format('%.0f', math.floor(time[1] * 1000 + time[2] / 1000)),
  redis.call('HGETALL', WALLET), redis.call('HGETALL', MONTHS), keys, calls, page[1],
}
