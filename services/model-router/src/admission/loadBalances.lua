--[[ Brings a workspace's balances from the ledger: all of them if Redis has none, else only newer credits.
  KEYS[1] {workspace}:wallet   KEYS[2] {workspace}:months   KEYS[3…] {workspace}:key:<id>, one a key
  ARGV[1] credit sequence  ARGV[2] credited  ARGV[3] spent  ARGV[4] YYYY-MM  ARGV[5] spent in that month  ARGV[6…] spent, one a key
  Returns 1 if anything changed. ]]
if redis.call('EXISTS', KEYS[1]) == 1 then
  if tonumber(redis.call('HGET', KEYS[1], 'credit_seq') or 0) >= tonumber(ARGV[1]) then return 0 end
  redis.call('HSET', KEYS[1], 'credit_seq', ARGV[1], 'credited', ARGV[2])
  return 1
end
redis.call('HSET', KEYS[1], 'credit_seq', ARGV[1], 'credited', ARGV[2], 'spent', ARGV[3], 'held', '0')
redis.call('HSET', KEYS[2], ARGV[4] .. ':spent', ARGV[5], ARGV[4] .. ':held', '0')
for index = 3, #KEYS do redis.call('HSET', KEYS[index], 'spent', ARGV[index + 3], 'held', '0') end
return 1
