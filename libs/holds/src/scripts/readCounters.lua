--[[ Reads a page of a workspace's pending calls with what is counted of the workspace, its months and the keys of these calls, at one
  instant. Uses pending.lua.
  ARGV[2] the cursor of the calls to go on from   ARGV[3] about how many calls to read   ARGV[4…] ids of further keys to read
  Returns {nowMs, wallet, months, keys, calls, cursor}: hashes as field, value, …; a key as {id, hash}; a call as {id, session, hash}. ]]
-- include pending.lua
local time = redis.call('TIME')
local keys, hasKey = {}, {}
local function readKey(id)
  if hasKey[id] then return end
  hasKey[id] = true
  keys[#keys + 1] = { id, redis.call('HGETALL', counterOf(id)) }
end
for at = 4, #ARGV do readKey(ARGV[at]) end
local calls = {}
local page = redis.call('HSCAN', CALLS, ARGV[2], 'COUNT', ARGV[3])
for index = 1, #page[2], 2 do
  local id = page[2][index]
  local call = redis.call('HGETALL', recordOf(id))
  calls[#calls + 1] = { id, page[2][index + 1], call }
  for field = 1, #call, 2 do
    if call[field] == 'key' then readKey(call[field + 1]) end
  end
end
return {
  string.format('%.0f', math.floor(time[1] * 1000 + time[2] / 1000)),
  redis.call('HGETALL', WALLET), redis.call('HGETALL', MONTHS), keys, calls, page[1],
}
