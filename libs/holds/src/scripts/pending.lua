-- What every script knows of a workspace's pending calls: those that its sums here do not contain yet. It stands before the scripts
-- that name it.
--   KEYS[1] mark   KEYS[2] {workspace}:wallet   KEYS[3] {workspace}:months   KEYS[4] {workspace}:calls
--   KEYS[5] {workspace}:keys, the ids of all keys that have a counter
--   ARGV[1] the mark that the router counts by   ARGV[2], ARGV[3] what the names of a key's counter and of a call's record begin
--   with: the id comes last, and the hash tag is the workspace's, as in KEYS
-- A counter (wallet, key, month) has what is recorded, as of a timeline and sequence of the ledger, and beside it the sums of its
-- pending calls: `held` of those that run, `ended` of those whose charge is known.

-- A Redis that restarted or was promoted may lack what was written last, and one that was emptied lacks all of it.
local function isInForce()
  return redis.call('GET', KEYS[1]) == ARGV[1]
    and string.find(redis.call('INFO', 'replication'), 'master_replid:' .. string.sub(ARGV[1], 1, 40), 1, true) ~= nil
end

local function add(kind, amount, keyId, month)
  redis.call('HINCRBY', KEYS[2], kind, amount)
  redis.call('HINCRBY', ARGV[2] .. keyId, kind, amount)
  redis.call('HINCRBY', KEYS[3], month .. ':' .. kind, amount)
end

local function take(kind, amount, keyId, month)
  local digits = string.format('%.0f', 0 - tonumber(amount))
  add(kind, digits, keyId, month)
end

-- A wallet that was lost alone has its pending calls beside it still.
local function recount()
  if redis.call('HEXISTS', KEYS[2], 'held') == 1 then return end
  redis.call('HSET', KEYS[2], 'held', '0', 'ended', '0')
  local calls = redis.call('HKEYS', KEYS[4])
  for _, id in ipairs(calls) do
    local call = redis.call('HMGET', ARGV[3] .. id, 'key', 'month')
    if call[1] then
      redis.call('HSET', ARGV[2] .. call[1], 'held', '0', 'ended', '0')
      redis.call('SADD', KEYS[5], call[1])
      redis.call('HSET', KEYS[3], call[2] .. ':held', '0', call[2] .. ':ended', '0')
    end
  end
  for _, id in ipairs(calls) do
    local call = redis.call('HMGET', ARGV[3] .. id, 'kind', 'amount', 'key', 'month')
    if call[1] then add(call[1], call[2], call[3], call[4]) end
  end
end
