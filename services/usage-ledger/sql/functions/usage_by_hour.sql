-- The calls that began from an instant and before another, of one workspace or all, as their rows add up beside the hourly sums.
-- `is_apart`: these differ. A sum of nothing is as good as none: a call that became known in another hour leaves one.
CREATE OR REPLACE FUNCTION usage_by_hour(prices JSON, since TIMESTAMPTZ, until TIMESTAMPTZ, of_workspace TEXT) RETURNS TABLE (
  workspace_id TEXT, key_id TEXT, hour TIMESTAMPTZ, calls NUMERIC, charge_nano_usd NUMERIC, rows_hash NUMERIC,
  hour_calls NUMERIC, hour_charge_nano_usd NUMERIC, is_apart BOOLEAN,
  repriced_nano_usd NUMERIC, mispriced NUMERIC, unpriced NUMERIC
) LANGUAGE sql STABLE AS $$
  WITH side AS (
    SELECT 1 AS sign, workspace_id, key_id, date_trunc('hour', started_at, 'UTC') AS hour, canonical_model, modality,
      billing_unit, coalesce(sum(units), 0)::NUMERIC AS units, count(*) AS calls, count(*) FILTER (WHERE status = 'success') AS success,
      count(*) FILTER (WHERE status = 'failure') AS failure, count(*) FILTER (WHERE status = 'unknown') AS unknown,
      sum(prompt_tokens)::NUMERIC AS prompt_tokens, sum(cached_prompt_tokens)::NUMERIC AS cached_prompt_tokens,
      sum(completion_tokens)::NUMERIC AS completion_tokens, sum(charge_nano_usd) AS charge_nano_usd, sum(row_hash) AS rows_hash,
      sum(repriced_nano_usd) AS repriced_nano_usd, count(*) FILTER (WHERE is_mispriced) AS mispriced,
      count(*) FILTER (WHERE is_unpriced) AS unpriced
    FROM priced_calls(prices)
    WHERE started_at >= since AND started_at < until AND (of_workspace IS NULL OR workspace_id = of_workspace)
    GROUP BY 2, 3, 4, 5, 6, 7
    UNION ALL
    SELECT -1, coalesce(key_total.workspace_id, '?'), key_id, total.hour, canonical_model, modality, NULL, 0, total.requests,
      success, failure, unknown, prompt_tokens, cached_prompt_tokens, completion_tokens, total.charge_nano_usd, 0, 0, 0, 0
    FROM key_hour_total AS total LEFT JOIN key_total USING (key_id)
    WHERE total.hour >= since AND total.hour < until AND (of_workspace IS NULL OR key_total.workspace_id = of_workspace)
    UNION ALL
    SELECT -1, coalesce(key_total.workspace_id, '?'), key_id, total.hour, canonical_model, modality, billing_unit, total.units,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM key_hour_units AS total LEFT JOIN key_total USING (key_id)
    WHERE total.hour >= since AND total.hour < until AND (of_workspace IS NULL OR key_total.workspace_id = of_workspace)
  )
  SELECT workspace_id, key_id, hour, sum(calls) FILTER (WHERE sign = 1), sum(charge_nano_usd) FILTER (WHERE sign = 1),
    sum(rows_hash), sum(calls) FILTER (WHERE sign = -1), sum(charge_nano_usd) FILTER (WHERE sign = -1),
    (sum(sign * calls), sum(sign * success), sum(sign * failure), sum(sign * unknown), sum(sign * prompt_tokens),
      sum(sign * cached_prompt_tokens), sum(sign * completion_tokens), sum(sign * charge_nano_usd)) <> (0, 0, 0, 0, 0, 0, 0, 0)
      OR (coalesce(sum(sign * units) FILTER (WHERE billing_unit = 'image'), 0),
        coalesce(sum(sign * units) FILTER (WHERE billing_unit = 'second'), 0),
        coalesce(sum(sign * units) FILTER (WHERE billing_unit = 'character'), 0),
        coalesce(sum(sign * units) FILTER (WHERE billing_unit = 'minute'), 0)) <> (0, 0, 0, 0),
    sum(repriced_nano_usd), sum(mispriced), sum(unpriced)
  FROM side GROUP BY workspace_id, key_id, hour, canonical_model, modality
$$;
