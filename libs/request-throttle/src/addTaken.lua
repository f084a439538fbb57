--[[ Adds what one process let through to what all of them have, and says how much of each name's allowance is used (GCRA).
  KEYS[n]         {throttle:its name}:name, holding when the allowance would be whole again and since when it is not, µs since 1970
  ARGV[1]         the time in which one request is allowed again, µs
  ARGV[2]         how long a key outlives its use, ms: others may tell late of requests as old as that
  ARGV[2n + 1]    requests let through of the name     ARGV[2n + 2]    when the first of them was, µs since 1970
  Returns for each name what is used, µs; less than nothing where it was whole again before.
  All count as let through when the first of them was: so nobody hears of more than was used, and one process alone of nothing new.
  Time is Redis' own: the clocks of the processes differ. ]]
local intervalUs, keepMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local used = {}
for nth, key in ipairs(KEYS) do
  local takenUs, sinceUs = tonumber(ARGV[2 * nth + 1]) * intervalUs, math.min(tonumber(ARGV[2 * nth + 2]), nowUs)
  local wholeAt, beganAt = string.match(redis.call('GET', key) or '0 0', '(%d+) (%d+)')
  wholeAt, beganAt = tonumber(wholeAt), tonumber(beganAt)
  if sinceUs >= wholeAt then
    wholeAt, beganAt = sinceUs + takenUs, sinceUs
  elseif sinceUs >= beganAt then
    wholeAt = wholeAt + takenUs
  else
    -- Told late: from before the allowance was whole for the last time, so in part or in whole it is allowed again.
    local together = sinceUs + takenUs + wholeAt - beganAt
    if together > wholeAt then
      wholeAt, beganAt = together, sinceUs
    end
  end
  used[nth] = math.floor(wholeAt - nowUs)
  local aheadMs = math.ceil(math.max(used[nth], 0) / 1000)
  redis.call('SET', key, string.format('%.0f %.0f', nowUs + used[nth], beganAt), 'PX', aheadMs + keepMs)
end
return used
