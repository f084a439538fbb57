--[[ Brings a workspace's balances from the ledger: all of them where Redis has none of this epoch, else only newer credits.
  Holds are not the ledger's: the routers assert them.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:months   KEYS[3] {workspace}:keys   KEYS[4] epoch, the mark of the epoch kept
  here: who empties Redis takes it along, also while the ledger is being asked
  KEYS[5…] {workspace}:key:<id>, one a key
  ARGV[1] epoch  ARGV[2] replication id of the epoch's Redis  ARGV[3] credit sequence  ARGV[4] credited  ARGV[5] spent
  ARGV[6] YYYY-MM  ARGV[7] spent in that month  ARGV[8] calls recorded  ARGV[9…] id and spent, one pair a key
  Returns changed | unchanged | other_redis | emptied. ]]
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[2], 1, true) then return 'other_redis' end
if redis.call('GET', KEYS[4]) ~= ARGV[1] then return 'emptied' end
local wallet = redis.call('HMGET', KEYS[1], 'epoch', 'credit_seq')
if wallet[1] and tonumber(wallet[1]) > tonumber(ARGV[1]) then return 'other_redis' end
if wallet[1] == ARGV[1] then
  if tonumber(wallet[2]) >= tonumber(ARGV[3]) then return 'unchanged' end
  redis.call('HSET', KEYS[1], 'credit_seq', ARGV[3], 'credited', ARGV[4])
  return 'changed'
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'credit_seq', ARGV[3], 'credited', ARGV[4], 'spent', ARGV[5], 'held', '0', 'admitted', ARGV[8])
redis.call('HSET', KEYS[2], ARGV[6] .. ':spent', ARGV[7], ARGV[6] .. ':held', '0')
for index = 5, #KEYS do
  local keyId, spent = ARGV[2 * index - 1], ARGV[2 * index]
  redis.call('HSET', KEYS[index], 'epoch', ARGV[1], 'spent', spent, 'held', '0')
  redis.call('SADD', KEYS[3], keyId)
end
return 'changed'
