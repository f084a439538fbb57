--[[ Brings a workspace's balances from the ledger: all of them where Redis has none of this epoch, else only newer credits.
  Holds are not the ledger's: the routers assert them. Where all of them are brought, the records of calls from before are
  noted as what they are to the balances, as of the instant that the ledger's sums are of:
    asked  the epoch of the balances that this was noted for
    counted  recorded: the ledger has its row. awaited: it has none yet, and the kept event will make one; counted from now on,
      and charged, if it was settled. no: it has none, and may never have one; counted when it is asserted or swept
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:months   KEYS[3] {workspace}:keys   KEYS[4] epoch, the mark of the epoch kept
  here: who empties Redis takes it along, also while the ledger is being asked
  KEYS[5…] {workspace}:key:<id>, one a key; then {workspace}:call:<call id>, one a call from before
  ARGV[1] epoch  ARGV[2] replication id of the epoch's Redis  ARGV[3] credit sequence  ARGV[4] credited  ARGV[5] spent
  ARGV[6] calls recorded  ARGV[7] how many months  ARGV[8] how many keys
  ARGV[9] what the name of a key's counter begins with, its id comes last
  ARGV[10…] YYYY-MM and spent, one pair a month; id and spent, one pair a key; '1' where it has a row, else '0', one a call
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
local months, keys = tonumber(ARGV[7]), tonumber(ARGV[8])
local at = 10
local known = {}
for _ = 1, months do
  redis.call('HSET', KEYS[2], ARGV[at] .. ':spent', ARGV[at + 1], ARGV[at] .. ':held', '0')
  at = at + 2
end
for index = 5, 4 + keys do
  redis.call('HSET', KEYS[index], 'epoch', ARGV[1], 'spent', ARGV[at + 1], 'held', '0')
  redis.call('SADD', KEYS[3], ARGV[at])
  known[ARGV[at]] = true
  at = at + 2
end
-- No sum of the ledger holds the charge of a call that was settled and has no row: its event lies in the dead letters, or
-- came when its router had been given up.
local function charge(keyId, month, amount)
  local counter = ARGV[9] .. keyId
  if not known[keyId] then
    redis.call('HSET', counter, 'epoch', ARGV[1], 'spent', '0', 'held', '0')
    redis.call('SADD', KEYS[3], keyId)
    known[keyId] = true
  end
  redis.call('HINCRBY', KEYS[1], 'spent', amount)
  redis.call('HINCRBY', counter, 'spent', amount)
  redis.call('HINCRBY', KEYS[2], month .. ':spent', amount)
end
redis.call('HSET', KEYS[1], 'credit_seq', ARGV[3], 'credited', ARGV[4], 'spent', ARGV[5], 'held', '0', 'admitted', ARGV[6],
  'rows', ARGV[6])
for index = 5 + keys, #KEYS do
  local record = redis.call('HMGET', KEYS[index], 'state', 'epoch', 'key', 'month', 'charge')
  local state = record[1]
  if record[2] ~= ARGV[1] and (state == 'held' or state == 'swept' or state == 'settled') then
    local counted = 'recorded'
    if ARGV[at] ~= '1' then counted = state == 'held' and 'no' or 'awaited' end
    if counted == 'awaited' then
      redis.call('HINCRBY', KEYS[1], 'admitted', 1)
      -- A router of the version before this one notes no charge.
      if state == 'settled' then charge(record[3], record[4], record[5] or '0') end
    end
    redis.call('HSET', KEYS[index], 'asked', ARGV[1], 'counted', counted)
  end
  at = at + 1
end
-- Last: a wallet is of an epoch once all of it is there. Where a damaged record ends this script half-way, the next load begins
-- from nothing again.
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 'changed'
