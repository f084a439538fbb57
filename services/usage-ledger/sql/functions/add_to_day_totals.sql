-- Adds to the sums of days what a statement adds to the sums of hours, in the transaction of that statement. Rows are taken in one order
-- by every transaction.
CREATE OR REPLACE FUNCTION add_to_day_totals() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  change key_hour_total[];
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(hourly) INTO change FROM now AS hourly;
  ELSE
    SELECT array_agg((key_id, hour, canonical_model, modality, now.requests - was.requests, now.success - was.success,
      now.failure - was.failure, now.unknown - was.unknown, now.prompt_tokens - was.prompt_tokens,
      now.cached_prompt_tokens - was.cached_prompt_tokens, now.completion_tokens - was.completion_tokens,
      now.charge_nano_usd - was.charge_nano_usd)::key_hour_total) INTO change
    FROM now JOIN was USING (key_id, hour, canonical_model, modality);
  END IF;
  IF change IS NULL THEN RETURN NULL; END IF;
  INSERT INTO workspace_day_total AS total
  SELECT workspace_id, CASE WHEN grouping(key_id) = 0 THEN 'key' WHEN grouping(canonical_model) = 0 THEN 'model' ELSE 'none' END, day,
    coalesce(canonical_model, ''), coalesce(modality, ''), coalesce(key_id, ''), sum(requests), sum(success), sum(failure), sum(unknown),
    sum(prompt_tokens), sum(cached_prompt_tokens), sum(completion_tokens), sum(charge_nano_usd),
    coalesce((SELECT seq FROM workspace_total WHERE workspace_total.workspace_id = hourly.workspace_id), 0)
  FROM (
    SELECT workspace_id, (hour AT TIME ZONE 'UTC')::DATE AS day, changed.*
    FROM unnest(change) AS changed JOIN (SELECT key_id AS id, workspace_id FROM key_total) AS key ON id = key_id
  ) AS hourly
  GROUP BY GROUPING SETS ((workspace_id, day), (workspace_id, day, canonical_model, modality), (workspace_id, day, key_id))
  ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (workspace_id, grouped_by, day, canonical_model, modality, key_id) DO UPDATE SET
    requests = total.requests + excluded.requests,
    success = total.success + excluded.success,
    failure = total.failure + excluded.failure,
    unknown = total.unknown + excluded.unknown,
    prompt_tokens = total.prompt_tokens + excluded.prompt_tokens,
    cached_prompt_tokens = total.cached_prompt_tokens + excluded.cached_prompt_tokens,
    completion_tokens = total.completion_tokens + excluded.completion_tokens,
    charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd,
    seq = excluded.seq;
  RETURN NULL;
END $$;
