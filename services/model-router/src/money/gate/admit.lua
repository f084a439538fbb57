--[[ Admits one call or refuses it, all or nothing: requests and tokens per minute, then whether the workspace may spend at
  all, key budget, credit, monthly cap, hold. What is refused consumes nothing. Time is Redis' own, so replicas agree. Amounts
  are nano-dollars; Lua counts in doubles, exact below 2^53 (9 million USD), so what a limit allows beyond that is not used. What
  is left of the credits is counted exactly whatever was credited and spent in a lifetime.
  KEYS[1] {workspace}:wallet   hash: epoch, credited, credit_seq, spent, held, admitted (calls)
  KEYS[2] {workspace}:key:<id> hash: epoch, spent, held, generation
  KEYS[3] {workspace}:months   hash: <YYYY-MM>:spent, <YYYY-MM>:held
  KEYS[4] {workspace}:rpm:<id> next request's theoretical arrival time, µs (GCRA)
  KEYS[5] {workspace}:tpm:<id> hash: level (tokens), at (µs)
  KEYS[6] {workspace}:call:<call id>  the call's record
  KEYS[7] {workspace}:calls    sorted set of call ids by the end of their lease, ms
  KEYS[8] {workspace}:keys     set of the ids of keys counted in KEYS[2]
  KEYS[9] workspaces           set of the ids of workspaces with calls
  ARGV[1] call id    ARGV[2] key generation   ARGV[3] rpm   ARGV[4] tpm   ARGV[5] estimated prompt tokens
  ARGV[6] hold       ARGV[7] key budget or '' ARGV[8] monthly cap or ''   ARGV[9] lease, ms   ARGV[10] unknown-event JSON
  ARGV[11] epoch     ARGV[12] replication id of the epoch's Redis         ARGV[13] key id     ARGV[14] owner, a router's id
  ARGV[15] '' or why the workspace may not spend: account_on_hold | billing_not_provisioned
  ARGV[16] workspace id
  Returns {outcome, nowMs, limiter, remainingRequests, resetRequestsMs, remainingTokens, resetTokensMs, retryAfterMs,
           keySpent, keyHeld, available}; all but the outcome and limiter are numbers, as text above 2^31.
  outcome: admitted | not_loaded | other_redis | stale_key | repeated | rate_limited | not_billable | insufficient
  limiter: requests | tokens | key_budget | credit | monthly_cap | monthly_cap_reached | '' ]]
local amount, leaseMs = tonumber(ARGV[6]), tonumber(ARGV[9])
local rpm, tpm, estimate = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local nowMs = math.floor(nowUs / 1000)

-- Civil month (UTC) of a Unix day: the month counted is the one of admission.
local function monthOf(seconds)
  local z = math.floor(seconds / 86400) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local mp = math.floor((5 * (doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))) + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d', year, month)
end
local LARGEST = 9007199254740991
local function limitOf(value) return value and math.min(value, LARGEST) end
local function text(number) return string.format('%.0f', number) end
local function amounts(key, first, second)
  local pair = redis.call('HMGET', key, first, second)
  return tonumber(pair[1] or 0), tonumber(pair[2] or 0)
end

-- Billions and the rest taken apart, each of which a double holds exactly.
local function split(amount)
  local sign, digits = 1, amount
  if string.sub(amount, 1, 1) == '-' then sign, digits = -1, string.sub(amount, 2, -1) end
  return sign * tonumber('0' .. string.sub(digits, 1, -10)), sign * tonumber(string.sub(digits, -9, -1))
end
-- What is left, exact below 2^53 however large both are.
local function minus(credited, spent)
  local creditedBillions, creditedRest = split(credited)
  local spentBillions, spentRest = split(spent)
  return (creditedBillions - spentBillions) * 1000000000 + (creditedRest - spentRest)
end

if redis.call('EXISTS', KEYS[6]) == 1 then return { 'repeated', text(nowMs), '' } end
local generation = redis.call('HGET', KEYS[2], 'generation')
if generation and tonumber(generation) > tonumber(ARGV[2]) then return { 'stale_key', text(nowMs), '' } end

-- Requests per minute: capacity is one minute's worth, refilled continuously.
local windowUs = 60000000
local intervalUs = windowUs / rpm
local usedUs = math.max(tonumber(redis.call('GET', KEYS[4]) or 0) - nowUs, 0)
local excessUs = usedUs + intervalUs - windowUs
-- Tokens per minute: a call passes while the bucket is above zero; it may go below and then refuses until refilled.
local bucket = redis.call('HMGET', KEYS[5], 'level', 'at')
local level = tpm
if bucket[1] then level = math.min(tpm, tonumber(bucket[1]) + math.max(nowUs - tonumber(bucket[2]), 0) * tpm / windowUs) end

local function answer(outcome, limiter, retryAfterMs, keySpent, keyHeld, available)
  return {
    outcome, text(nowMs), limiter,
    text(math.max(math.floor((windowUs - usedUs) / intervalUs + 0.000001), 0)), text(math.ceil(usedUs / 1000)),
    text(math.max(math.floor(level), 0)), text(math.ceil((tpm - level) * 60000 / tpm)),
    text(retryAfterMs), text(keySpent), text(keyHeld), text(available),
  }
end
if excessUs > 0.5 then return answer('rate_limited', 'requests', math.ceil(excessUs / 1000), 0, 0, 0) end
if level <= 0 then return answer('rate_limited', 'tokens', math.ceil((1 - level) * 60000 / tpm), 0, 0, 0) end
if ARGV[15] ~= '' then return answer('not_billable', '', 0, 0, 0, 0) end

-- A Redis that restarted or was promoted may lack what was written last: none of its balances counts any more.
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[12], 1, true) then
  return { 'other_redis', text(nowMs), '' }
end
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[11] then return { 'not_loaded', text(nowMs), '' } end
-- What stands at a key may be of an earlier epoch: the ledger had no spend of it.
local isKeyCounted = redis.call('HGET', KEYS[2], 'epoch') == ARGV[11]

local month = monthOf(tonumber(time[1]))
local keySpent, keyHeld = 0, 0
if isKeyCounted then keySpent, keyHeld = amounts(KEYS[2], 'spent', 'held') end
local wallet = redis.call('HMGET', KEYS[1], 'credited', 'spent', 'held')
local monthSpent, monthHeld = amounts(KEYS[3], month .. ':spent', month .. ':held')
if amount > 0 then
  local limits = {
    { 'key_budget', limitOf(tonumber(ARGV[7])), keySpent + keyHeld },
    { 'credit', limitOf(minus(wallet[1] or '0', wallet[2] or '0')), tonumber(wallet[3] or 0) },
    { 'monthly_cap', limitOf(tonumber(ARGV[8])), monthSpent + monthHeld },
  }
  -- The scarcest limit is the one named: paying off another would not help the caller.
  local scarcest, available
  for _, limit in ipairs(limits) do
    if limit[2] and (not available or limit[2] - limit[3] < available) then scarcest, available = limit, limit[2] - limit[3] end
  end
  if available < amount then
    local limiter = scarcest[1]
    if limiter == 'monthly_cap' and monthSpent >= scarcest[2] then limiter = 'monthly_cap_reached' end
    return answer('insufficient', limiter, 0, keySpent, keyHeld, available)
  end
end

usedUs = usedUs + intervalUs
redis.call('SET', KEYS[4], text(nowUs + usedUs), 'PX', math.ceil(usedUs / 1000) + 1)
level = level - estimate
redis.call('HSET', KEYS[5], 'level', string.format('%.3f', level), 'at', text(nowUs))
-- Not forgotten before it is full again.
redis.call('PEXPIRE', KEYS[5], math.ceil((tpm - level) * 60000 / tpm) + 1000)
if not isKeyCounted then
  redis.call('HSET', KEYS[2], 'epoch', ARGV[11], 'spent', '0', 'held', '0')
  redis.call('SADD', KEYS[8], ARGV[13])
end
redis.call('HINCRBY', KEYS[1], 'held', ARGV[6])
redis.call('HINCRBY', KEYS[1], 'admitted', 1)
redis.call('HINCRBY', KEYS[2], 'held', ARGV[6])
redis.call('HINCRBY', KEYS[3], month .. ':held', amount)
redis.call('HSET', KEYS[6], 'state', 'held', 'epoch', ARGV[11], 'owner', ARGV[14], 'key', ARGV[13], 'amount', ARGV[6],
  'month', month, 'estimate', ARGV[5], 'rpm', ARGV[3], 'tpm', ARGV[4], 'admitted_at', text(nowMs), 'event', ARGV[10])
redis.call('ZADD', KEYS[7], nowMs + leaseMs, ARGV[1])
redis.call('SADD', KEYS[9], ARGV[16])
return answer('admitted', '', 0, keySpent, keyHeld + amount, 0)
