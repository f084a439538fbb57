-- What scripts that take a hold know of the limits it has to fit into: key budgets, credit, monthly cap. It stands after pending.lua.
--   {workspace}:key:<id>  hash: spent, held, ended, loaded, generation, status; of a key with a budget of a period also since, the day on
--     which the period began, since_spent, what is recorded of calls admitted from then on, and since_loaded, since_timeline, since_sequence

local LARGEST = 9007199254740991
local function limitOf(value) return value and math.min(value, LARGEST) end
local function text(number) return string.format('%.0f', number) end

local function readKey(keyId)
  return redis.call('HMGET', counterOf(keyId), 'generation', 'loaded', 'spent', 'held', 'ended', 'status')
end
-- Of a revoked key no record is in force, however new.
local function isStale(key, generation)
  return key[1] and (key[6] == 'revoked' or tonumber(key[1]) > tonumber(generation))
end

-- Returns the budget of a key's period, what is recorded since its first day, and whether that counts: calls that the key's sum
-- contains are contained in it.
local function readPeriod(keyId, since, most)
  local known = redis.call('HMGET', counterOf(keyId), 'since', 'since_loaded', 'since_spent', 'since_timeline', 'since_sequence',
    'timeline', 'sequence')
  local timeline, ofKey = tonumber(known[4] or 0), tonumber(known[6] or 0)
  local isCurrent = timeline > ofKey or (timeline == ofKey and tonumber(known[5] or 0) >= tonumber(known[7] or 0))
  return { limitOf(tonumber(most)), tonumber(known[3] or 0), known[1] == since and known[2] == ARGV[1] and isCurrent }
end

-- Says which limit does not carry so much more, and what that one still carries: '' where all do, 'not_loaded' where Redis lacks a
-- sum. `key` is what readKey gave; budget and cap are '' where there are none. `period` is what readPeriod gave, or nil. All pending calls
-- count against it: one of the period before counts in both until it is recorded.
local function findShortage(amount, key, month, budget, cap, period)
  local wallet = redis.call('HMGET', WALLET, 'loaded', 'left', 'held', 'ended')
  if wallet[1] ~= ARGV[1] then return 'not_loaded', 0 end
  -- What limits nothing need not be loaded.
  if (budget ~= '' or period) and key[2] ~= ARGV[1] then return 'not_loaded', 0 end
  if period and not period[3] then return 'not_loaded', 0 end
  local ofMonth = { ARGV[1] }
  if cap ~= '' then
    ofMonth = redis.call('HMGET', MONTHS, month .. ':loaded', month .. ':spent', month .. ':held', month .. ':ended')
  end
  if ofMonth[1] ~= ARGV[1] then return 'not_loaded', 0 end
  if amount <= 0 then return '', 0 end
  local monthSpent = tonumber(ofMonth[2] or 0) + tonumber(ofMonth[4] or 0)
  local keyPending = tonumber(key[5] or 0) + tonumber(key[4] or 0)
  local limits = {
    { 'key_budget', limitOf(tonumber(budget)), tonumber(key[3] or 0) + keyPending },
    { 'credit', limitOf(tonumber(wallet[2])), tonumber(wallet[3] or 0) + tonumber(wallet[4] or 0) },
    { 'monthly_cap', limitOf(tonumber(cap)), monthSpent + tonumber(ofMonth[3] or 0) },
  }
  if period then limits[4] = { 'key_period_budget', period[1], period[2] + keyPending } end
  -- The scarcest limit is the one named: paying off another would not help the caller.
  local scarcest, available
  for _, limit in ipairs(limits) do
    if limit[2] and (not available or limit[2] - limit[3] < available) then scarcest, available = limit, limit[2] - limit[3] end
  end
  if available >= amount then return '', available end
  if scarcest[1] == 'monthly_cap' and monthSpent >= scarcest[2] then return 'monthly_cap_reached', available end
  return scarcest[1], available
end
