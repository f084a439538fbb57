#!lua flags=allow-oom,allow-cross-slot-keys
--[[ Marks a Redis as the one that balances are kept in from now on, before anything is put back into it. Whoever empties Redis takes the
  mark along, and nothing puts it back: what has lost it has lost holds. So it is put only while the ledger waits for the owner
  that puts it, however late the command comes.
  KEYS[1] {tag}:mark   KEYS[2] {tag}:layout
  ARGV[1] the mark: <replication id>:<tag>:<unique name>   ARGV[2] until when, ms by Redis' clock   ARGV[3] the owner's layout of keys
  ARGV[4…] tags that its mark may have had before, when this server had fewer slots: one mark at a time is in force
  Returns marked | other_redis | other_layout | too_late. ]]
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. string.sub(ARGV[1], 1, 40), 1, true) then
  return 'other_redis'
end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[2]) then return 'too_late' end
-- A mark without a layout is of a release before the number, and so are its keys.
local layout = redis.call('GET', KEYS[2]) or (redis.call('EXISTS', KEYS[1]) == 1 and '1')
if layout and layout ~= ARGV[3] then return 'other_layout' end
-- An error says that nothing is there: the slot's keys are on their way to another server.
for at = 4, #ARGV do redis.pcall('DEL', '{' .. ARGV[at] .. '}:mark') end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[3])
return 'marked'
