--[[ Puts a call that was under way when Redis was lost back: record, hold and lease, once, however often this runs. A limit
  may be passed by it: the call was admitted within the limits of then.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:key:<id>   KEYS[3] {workspace}:months
  KEYS[4] {workspace}:call:<call id>   KEYS[5] {workspace}:calls   KEYS[6] {workspace}:keys   KEYS[7] workspaces
  ARGV[1] call id   ARGV[2] epoch   ARGV[3] replication id of the epoch's Redis   ARGV[4] key id   ARGV[5] owner, a router's id
  ARGV[6] hold      ARGV[7] YYYY-MM of the admission   ARGV[8] estimated prompt tokens   ARGV[9] rpm   ARGV[10] tpm
  ARGV[11] admission, ms            ARGV[12] unknown-event JSON             ARGV[13] lease, ms
  ARGV[14] '1' where the ledger has a row of the call already, as of one that was swept; asked where its record does not say
  ARGV[15] how many rows the ledger had when it was asked that   ARGV[16] workspace id
  Returns asserted | known (it stood there already) | not_loaded | other_redis. ]]
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[3], 1, true) then return 'other_redis' end
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 'not_loaded' end
local record = redis.call('HMGET', KEYS[4], 'epoch', 'asked', 'counted')
if record[1] == ARGV[2] then return 'known' end
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[2] then
  redis.call('HSET', KEYS[2], 'epoch', ARGV[2], 'spent', '0', 'held', '0')
  redis.call('SADD', KEYS[6], ARGV[4])
end
redis.call('HINCRBY', KEYS[1], 'held', ARGV[6])
redis.call('HINCRBY', KEYS[2], 'held', ARGV[6])
redis.call('HINCRBY', KEYS[3], ARGV[7] .. ':held', ARGV[6])
-- One that was swept has its row, or soon will, and was counted with the rows.
local isCounted = ARGV[14] == '1'
if record[2] == ARGV[2] then
  isCounted = record[3] ~= 'no'
elseif redis.call('HGET', KEYS[1], 'rows') ~= ARGV[15] then
  -- Another router has brought the balances, of another state of the ledger: its row may be among them or not.
  isCounted = false
  redis.call('HINCRBY', KEYS[1], 'uncertain', 1)
end
if not isCounted then redis.call('HINCRBY', KEYS[1], 'admitted', 1) end
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'state', 'held', 'epoch', ARGV[2], 'owner', ARGV[5], 'key', ARGV[4], 'amount', ARGV[6],
  'month', ARGV[7], 'estimate', ARGV[8], 'rpm', ARGV[9], 'tpm', ARGV[10], 'admitted_at', ARGV[11], 'event', ARGV[12])
local time = redis.call('TIME')
redis.call('ZADD', KEYS[5], math.floor(time[1] * 1000 + time[2] / 1000) + tonumber(ARGV[13]), ARGV[1])
redis.call('SADD', KEYS[7], ARGV[16])
return 'asserted'
