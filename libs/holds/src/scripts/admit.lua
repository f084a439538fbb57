--[[ Admits one call or refuses it, all or nothing: requests and tokens per minute, then whether the workspace may spend at
  all, key budgets, credit, monthly cap, hold. What is refused consumes nothing. Time is Redis' own, so replicas agree. Amounts
  are nano-dollars; Lua counts in doubles, exact below 2^53 (9 million USD), so what a limit allows beyond that is not used.
  Uses pending.lua, limits.lua and rates.lua.
  ARGV[2] call id    ARGV[3] key generation    ARGV[4] rpm   ARGV[5] tpm   ARGV[6] estimated prompt tokens
  ARGV[7] hold       ARGV[8] key budget or ''  ARGV[9] monthly cap or ''   ARGV[10] the owner's session
  ARGV[11] unknown-event JSON   ARGV[12] key id   ARGV[13] owner's name
  ARGV[14] '' or why the workspace may not spend: account_on_hold | billing_not_provisioned
  ARGV[15] day | week | month, ARGV[16] the key's budget of it; both are absent where it has none
  Returns {outcome, nowMs, limiter, remainingRequests, resetRequestsMs, remainingTokens, resetTokensMs, retryAfterMs,
           keySpent, keyHeld, available}, of stale_key {outcome, nowMs, '', generation in force}; all but the outcome and limiter are whole
           numbers, which Redis answers exactly below 2^53.
  outcome: admitted | not_loaded | closed | stale_key | repeated | rate_limited | not_billable | insufficient
  limiter: requests | tokens | key_budget | key_period_budget | credit | monthly_cap | monthly_cap_reached | '' ]]
-- include pending.lua
-- include limits.lua
-- include rates.lua
local amount = tonumber(ARGV[7])
local record, rates = recordOf(ARGV[2]), ratesOf(ARGV[12])
local rpm, tpm, estimate = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local nowMs = math.floor(nowUs / 1000)

-- Civil date (UTC) of a Unix day.
local function dateOf(days)
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02d', year, month, doy - math.floor((153 * mp + 2) / 5) + 1)
end

-- First day of the period that a day is in. The first Monday was the fifth day.
local function sinceOf(period, days)
  if period == 'week' then return dateOf(math.floor((days + 3) / 7) * 7 - 3) end
  if period == 'month' then return string.sub(dateOf(days), 1, 7) .. '-01' end
  return dateOf(days)
end

if redis.call('EXISTS', record) == 1 then return { 'repeated', nowMs, '' } end
local key = readKey(ARGV[12])
if isStale(key, ARGV[3]) then return { 'stale_key', nowMs, '', tonumber(key[1]) } end

-- Requests per minute: capacity is one minute's worth, refilled continuously. What is stamped further ahead is of a clock that was
-- set back since: it counts as never used.
local windowUs = 60000000
local aheadUs = 1000000
local intervalUs = windowUs / rpm
local known = redis.call('HMGET', rates, 'level', 'at', 'arrival')
local usedUs = math.max(tonumber(known[3] or 0) - nowUs, 0)
if usedUs > windowUs + aheadUs then usedUs = 0 end
local excessUs = usedUs + intervalUs - windowUs
-- Tokens per minute: a call passes while the bucket is above zero; it may go below and then refuses until refilled.
local level = tpm
if known[1] and tonumber(known[2]) <= nowUs + aheadUs then
  level = math.min(tpm, tonumber(known[1]) + math.max(nowUs - tonumber(known[2]), 0) * tpm / windowUs)
end

local function answer(outcome, limiter, retryAfterMs, keySpent, keyHeld, available)
  return {
    outcome, nowMs, limiter,
    math.max(math.floor((windowUs - usedUs) / intervalUs + 0.000001), 0), math.ceil(usedUs / 1000),
    math.max(math.floor(level), 0), math.ceil((tpm - level) * 60000 / tpm),
    retryAfterMs, keySpent, keyHeld, available,
  }
end
if excessUs > 0.5 then return answer('rate_limited', 'requests', math.ceil(excessUs / 1000), 0, 0, 0) end
if level <= 0 then return answer('rate_limited', 'tokens', math.ceil((1 - level) * 60000 / tpm), 0, 0, 0) end
if ARGV[14] ~= '' then return answer('not_billable', '', 0, 0, 0, 0) end

if not isInForce() or not hasSession(ARGV[10]) then return { 'closed', nowMs, '' } end
-- The month and the period counted are those of the admission.
local days = math.floor(tonumber(time[1]) / 86400)
local month = string.sub(dateOf(days), 1, 7)
local period = ARGV[15] and readPeriod(ARGV[12], sinceOf(ARGV[15], days), ARGV[16])
local keySpent, keyHeld = tonumber(key[3] or 0) + tonumber(key[5] or 0), tonumber(key[4] or 0)
local limiter, available = findShortage(amount, key, month, ARGV[8], ARGV[9], period)
if limiter == 'not_loaded' then return { 'not_loaded', nowMs, '' } end
if limiter ~= '' then return answer('insufficient', limiter, 0, keySpent, keyHeld, available) end

usedUs = usedUs + intervalUs
level = level - estimate
redis.call('HSET', rates, 'level', string.format('%.3f', level), 'at', text(nowUs), 'arrival', text(nowUs + usedUs))
keep(rates, math.ceil(math.max((tpm - level) * 60000 / tpm, usedUs / 1000)) + 1000)
if not key[4] then list(ARGV[12], false) end
local monthHeld = add('held', ARGV[7], ARGV[12], month)
redis.call('HSET', record, 'kind', 'held', 'amount', ARGV[7], 'key', ARGV[12], 'month', month, 'session', ARGV[10],
  'owner', ARGV[13], 'estimate', ARGV[6], 'rpm', ARGV[4], 'tpm', ARGV[5], 'admitted_at', text(nowMs), 'event', ARGV[11])
redis.call('HSET', CALLS, ARGV[2], ARGV[10])
-- Nothing but this call where what is recorded was loaded: the months were lost alone.
if monthHeld == amount and redis.call('HLEN', MONTHS) == 1 then hasLoss = true end
if hasLoss then recount() end
return answer('admitted', '', 0, keySpent, keyHeld + amount, 0)
