-- Seals the hours before an instant, all that are not, and takes the amendments of those that are into their seals. Everything is of
-- the caller's snapshot, so what is recorded meanwhile is an amendment. An hour is sealed as its rows are: a difference to the hourly
-- sums or the prices is kept beside it.
CREATE OR REPLACE FUNCTION seal_usage(until TIMESTAMPTZ, prices JSON) RETURNS VOID
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = 'force_custom_plan' AS $$
DECLARE
  since TIMESTAMPTZ;
  noted TIMESTAMPTZ;
BEGIN
  IF current_setting('transaction_isolation') <> 'repeatable read' THEN
    RAISE EXCEPTION 'hours are sealed in a transaction that is repeatable read';
  END IF;
  UPDATE sealing SET hours_before = greatest(hours_before, until)
    RETURNING old.hours_before, noted_before INTO since, noted;
  IF until > noted THEN RAISE EXCEPTION 'changes of hours before % are not noted yet', until; END IF;

  WITH added AS MATERIALIZED (
    SELECT * FROM usage_by_hour(prices, since, until, NULL)
  ), hours AS (
    INSERT INTO sealed_hour (workspace_id, hour, calls, charge_nano_usd, rows_hash)
    SELECT workspace_id, hour, sum(calls), sum(charge_nano_usd), sum(rows_hash) FROM added WHERE calls IS NOT NULL GROUP BY 1, 2
  )
  INSERT INTO sealed_key AS sealed
  SELECT workspace_id, key_id, date_trunc('month', hour AT TIME ZONE 'UTC')::DATE,
    coalesce(sum(calls), 0), coalesce(sum(charge_nano_usd), 0),
    coalesce(sum(hour_calls), 0), coalesce(sum(hour_charge_nano_usd), 0), count(*) FILTER (WHERE is_apart),
    coalesce(sum(repriced_nano_usd), 0), sum(mispriced), sum(unpriced)
  FROM added GROUP BY 1, 2, 3
  ON CONFLICT (workspace_id, key_id, month) DO UPDATE SET
    calls = sealed.calls + excluded.calls,
    charge_nano_usd = sealed.charge_nano_usd + excluded.charge_nano_usd,
    hour_calls = sealed.hour_calls + excluded.hour_calls,
    hour_charge_nano_usd = sealed.hour_charge_nano_usd + excluded.hour_charge_nano_usd,
    hours_apart = sealed.hours_apart + excluded.hours_apart,
    repriced_nano_usd = sealed.repriced_nano_usd + excluded.repriced_nano_usd,
    mispriced = sealed.mispriced + excluded.mispriced,
    unpriced = sealed.unpriced + excluded.unpriced;

  -- Those of the hours added up above are in their rows already.
  WITH taken AS (
    DELETE FROM seal_amendment WHERE hour < greatest(since, until) RETURNING *
  ), late AS MATERIALIZED (
    SELECT * FROM taken WHERE hour < since
  ), hours AS (
    INSERT INTO sealed_hour AS sealed (workspace_id, hour, calls, charge_nano_usd, rows_hash)
    SELECT workspace_id, hour, sum(calls), sum(charge_nano_usd), sum(rows_hash) FROM late GROUP BY 1, 2
    ON CONFLICT (hour, workspace_id) DO UPDATE SET
      calls = sealed.calls + excluded.calls,
      charge_nano_usd = sealed.charge_nano_usd + excluded.charge_nano_usd,
      rows_hash = sealed.rows_hash + excluded.rows_hash
  )
  INSERT INTO sealed_key AS sealed
  SELECT late.workspace_id, late.key_id, date_trunc('month', hour AT TIME ZONE 'UTC')::DATE, sum(late.calls),
    sum(late.charge_nano_usd), sum(late.calls), sum(late.charge_nano_usd), 0, coalesce(sum(repriced_nano_usd), 0),
    count(*) FILTER (WHERE is_mispriced), count(*) FILTER (WHERE is_unpriced)
  FROM late LEFT JOIN priced_calls(prices) AS call ON call.call_id = late.call_id AND late.calls = 1
  GROUP BY 1, 2, 3
  ON CONFLICT (workspace_id, key_id, month) DO UPDATE SET
    calls = sealed.calls + excluded.calls,
    charge_nano_usd = sealed.charge_nano_usd + excluded.charge_nano_usd,
    hour_calls = sealed.hour_calls + excluded.hour_calls,
    hour_charge_nano_usd = sealed.hour_charge_nano_usd + excluded.hour_charge_nano_usd,
    repriced_nano_usd = sealed.repriced_nano_usd + excluded.repriced_nano_usd,
    mispriced = sealed.mispriced + excluded.mispriced,
    unpriced = sealed.unpriced + excluded.unpriced;
END $$;
