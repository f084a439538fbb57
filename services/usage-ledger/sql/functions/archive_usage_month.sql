-- Takes the rows of a month out of usage_request: they lie in the table usage_request_YYYY_MM_archived from then on, which may be
-- dumped and dropped. Run by the database's owner. Refuses a month that is not sealed, or whose rows are not what their seals say.
-- An event of the month that comes later becomes a dead letter: whether it was recorded stands in the archive.
CREATE OR REPLACE FUNCTION archive_usage_month(month DATE) RETURNS VOID
  LANGUAGE plpgsql SET search_path = public, pg_temp SET lock_timeout = '5s' SET plan_cache_mode = 'force_custom_plan' AS $$
DECLARE
  first_day DATE := date_trunc('month', month);
  first_id UUID := first_call_id_at(first_day::TIMESTAMP AT TIME ZONE 'UTC');
  next_id UUID := first_call_id_at((first_day + INTERVAL '1 month') AT TIME ZONE 'UTC');
  part TEXT := 'usage_request_' || to_char(first_day, 'YYYY_MM');
  since TIMESTAMPTZ;
  until TIMESTAMPTZ;
  apart BIGINT;
BEGIN
  IF EXISTS (SELECT FROM archived_hour WHERE partition = first_day) THEN RAISE EXCEPTION '% is archived', part; END IF;
  EXECUTE format('LOCK TABLE %I IN SHARE MODE', part);
  EXECUTE format('SELECT date_trunc(''hour'', min(started_at), ''UTC''), date_trunc(''hour'', max(started_at), ''UTC'') FROM %I', part)
    INTO since, until;
  until := until + INTERVAL '1 hour';
  IF until > (SELECT hours_before FROM sealing) THEN RAISE EXCEPTION '% is not sealed to its end yet', part; END IF;
  INSERT INTO archived_hour (partition, workspace_id, hour, calls, charge_nano_usd, rows_hash)
  SELECT first_day, workspace_id, date_trunc('hour', started_at, 'UTC'), count(*), sum(charge_nano_usd), sum(hash_usage_row(call))
  FROM usage_request AS call WHERE call_id >= first_id AND call_id < next_id GROUP BY 2, 3;

  WITH side AS (
    SELECT workspace_id, date_trunc('hour', started_at, 'UTC') AS hour, 1 AS calls, charge_nano_usd,
      hash_usage_row(call)::NUMERIC AS rows_hash
    FROM usage_request AS call
    WHERE started_at >= since AND started_at < until AND (call_id < first_id OR call_id >= next_id)
    UNION ALL
    SELECT workspace_id, hour, calls, charge_nano_usd, rows_hash FROM archived_hour WHERE hour >= since AND hour < until
    UNION ALL
    SELECT workspace_id, hour, -calls, -charge_nano_usd, -rows_hash FROM sealed_hour WHERE hour >= since AND hour < until
    UNION ALL
    SELECT workspace_id, hour, -calls, -charge_nano_usd, -rows_hash FROM seal_amendment WHERE hour >= since AND hour < until
  ), of_hour AS (
    SELECT FROM side GROUP BY workspace_id, hour HAVING (sum(calls), sum(charge_nano_usd), sum(rows_hash)) <> (0, 0, 0)
  )
  SELECT count(*) FROM of_hour INTO apart;
  IF apart > 0 THEN RAISE EXCEPTION '%: % sealed hours of workspaces differ from their rows', part, apart; END IF;

  EXECUTE format('ALTER TABLE usage_request DETACH PARTITION %I', part);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', part, part || '_archived');
  EXECUTE format('CREATE TRIGGER keep_archived BEFORE UPDATE OR DELETE OR TRUNCATE ON %I
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', part || '_archived');
  EXECUTE format('CREATE TABLE %I (LIKE usage_request INCLUDING ALL, CONSTRAINT the_month_is_archived CHECK (false))', part);
  EXECUTE format('ALTER TABLE usage_request ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, first_id, next_id);
END $$;
