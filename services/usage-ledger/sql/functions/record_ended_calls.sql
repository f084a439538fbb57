-- Writes calls, adds what they cost to every total and posts it, and returns how many rows are new or became known. A call
-- recorded before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one event per call.
-- Each call has the same place in every array: one array a column of usage_request, as rows by name take four times as long to read.
-- Rows are taken in one order by every transaction, so that two of them seldom wait for each other crosswise.
-- A total changes by what a row is now, less what it was before; `seq` of each workspace counts that they changed. `recorded_at` is
-- when the ending that stands there was recorded.
-- A change of an hour that is sealed, or is being sealed, is noted, by a snapshot from after the lock that sealing begins with.
CREATE OR REPLACE FUNCTION record_ended_calls(
  posting_source TEXT, call_ids UUID[], key_ids TEXT[], workspace_ids TEXT[], regions TEXT[], operations TEXT[], models TEXT[],
  canonical_models TEXT[], price_versions INT[], statuses TEXT[], reasons TEXT[], prompt_tokens INT[], cached_prompt_tokens INT[],
  completion_tokens INT[], images INT[], charges_nano_usd BIGINT[], formulas_nano_usd BIGINT[], holds_nano_usd BIGINT[],
  modalities TEXT[], billing_units TEXT[], units INT[], are_streams BOOLEAN[], starts TIMESTAMPTZ[], ends TIMESTAMPTZ[],
  request_ids UUID[], trace_ids UUID[]
) RETURNS BIGINT
  LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT pg_advisory_xact_lock_shared(hashtext('sealing'));
  WITH recorded AS (
    INSERT INTO usage_request AS row (
      call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status, reason,
      prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
      modality, billing_unit, units, is_stream, started_at, ended_at, request_id, trace_id
    )
    SELECT * FROM unnest(
      call_ids, key_ids, workspace_ids, regions, operations, models, canonical_models, price_versions, statuses, reasons,
      record_ended_calls.prompt_tokens, record_ended_calls.cached_prompt_tokens, record_ended_calls.completion_tokens, record_ended_calls.images,
      charges_nano_usd, formulas_nano_usd, holds_nano_usd, modalities, billing_units, record_ended_calls.units, are_streams, starts, ends,
      request_ids, trace_ids
    ) AS call (call_id)
    ORDER BY call_id
    ON CONFLICT (call_id) DO UPDATE SET
      region = excluded.region,
      operation = excluded.operation,
      model = excluded.model,
      canonical_model = excluded.canonical_model,
      price_version = excluded.price_version,
      status = excluded.status,
      reason = excluded.reason,
      prompt_tokens = excluded.prompt_tokens,
      cached_prompt_tokens = excluded.cached_prompt_tokens,
      completion_tokens = excluded.completion_tokens,
      images = excluded.images,
      charge_nano_usd = excluded.charge_nano_usd,
      formula_nano_usd = excluded.formula_nano_usd,
      hold_nano_usd = excluded.hold_nano_usd,
      modality = excluded.modality,
      billing_unit = excluded.billing_unit,
      units = excluded.units,
      is_stream = excluded.is_stream,
      started_at = excluded.started_at,
      ended_at = excluded.ended_at,
      request_id = excluded.request_id,
      trace_id = excluded.trace_id,
      recorded_at = now()
    WHERE row.status = 'unknown' AND excluded.status <> 'unknown'
      AND row.key_id = excluded.key_id AND row.workspace_id = excluded.workspace_id
    RETURNING old AS was, new.key_id, new.workspace_id, new.started_at, new.canonical_model, new.modality, new.billing_unit, new.units,
      new.status, new.prompt_tokens, new.cached_prompt_tokens, new.completion_tokens, new.charge_nano_usd,
      -- The whole row only where a note is made of it: to make one takes long.
      CASE WHEN new.started_at < (SELECT noted_before FROM sealing) THEN new END AS late
  ), change AS NOT MATERIALIZED (
    SELECT key_id, workspace_id, started_at, canonical_model, modality, billing_unit, units, status, prompt_tokens,
      cached_prompt_tokens, completion_tokens, charge_nano_usd, 1 AS sign FROM recorded
    UNION ALL
    SELECT (was).key_id, (was).workspace_id, (was).started_at, (was).canonical_model, (was).modality, (was).billing_unit, (was).units,
      (was).status, (was).prompt_tokens, (was).cached_prompt_tokens, (was).completion_tokens, (was).charge_nano_usd, -1
    FROM recorded WHERE (was).call_id IS NOT NULL
  ), amendments AS (
    INSERT INTO seal_amendment (call_id, workspace_id, key_id, hour, calls, charge_nano_usd, rows_hash)
    SELECT (call).call_id, (call).workspace_id, (call).key_id, date_trunc('hour', (call).started_at, 'UTC'), sign,
      sign * (call).charge_nano_usd, sign * hash_usage_row(call)::NUMERIC
    FROM (
      SELECT late AS call, 1 AS sign FROM recorded WHERE (late).call_id IS NOT NULL
      UNION ALL
      SELECT was, -1 FROM recorded WHERE (was).call_id IS NOT NULL AND (was).started_at < (SELECT noted_before FROM sealing)
    ) AS noted
  ), hourly AS MATERIALIZED (
    SELECT key_id, workspace_id, date_trunc('hour', started_at, 'UTC') AS hour, canonical_model, modality,
      sum(sign) AS requests, sum(sign * (status = 'success')::INT) AS success,
      sum(sign * (status = 'failure')::INT) AS failure, sum(sign * (status = 'unknown')::INT) AS unknown,
      sum(sign * prompt_tokens::BIGINT) AS prompt_tokens, sum(sign * cached_prompt_tokens::BIGINT) AS cached_prompt_tokens,
      sum(sign * completion_tokens::BIGINT) AS completion_tokens, sum(sign * charge_nano_usd) AS charge_nano_usd
    FROM change GROUP BY 1, 2, 3, 4, 5
  ), hours AS (
    INSERT INTO key_hour_total AS total
    SELECT key_id, hour, canonical_model, modality, sum(requests), sum(success), sum(failure), sum(unknown),
      sum(prompt_tokens), sum(cached_prompt_tokens), sum(completion_tokens), sum(charge_nano_usd)
    FROM hourly GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (key_id, hour, canonical_model, modality) DO UPDATE SET
      requests = total.requests + excluded.requests,
      success = total.success + excluded.success,
      failure = total.failure + excluded.failure,
      unknown = total.unknown + excluded.unknown,
      prompt_tokens = total.prompt_tokens + excluded.prompt_tokens,
      cached_prompt_tokens = total.cached_prompt_tokens + excluded.cached_prompt_tokens,
      completion_tokens = total.completion_tokens + excluded.completion_tokens,
      charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
  ), units AS (
    INSERT INTO key_hour_units AS total
    SELECT key_id, date_trunc('hour', started_at, 'UTC'), canonical_model, modality, billing_unit, sum(sign * units)
    FROM change WHERE units <> 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (key_id, hour, canonical_model, modality, billing_unit) DO UPDATE SET units = total.units + excluded.units
  ), by_key AS MATERIALIZED (
    SELECT key_id, workspace_id, sum(requests) AS requests, sum(charge_nano_usd) AS charge_nano_usd FROM hourly GROUP BY 1, 2
  ), keys AS (
    INSERT INTO key_total AS total (key_id, workspace_id, requests, charge_nano_usd)
    SELECT key_id, min(workspace_id), sum(requests), sum(charge_nano_usd) FROM by_key GROUP BY 1 ORDER BY 1
    ON CONFLICT (key_id) DO UPDATE SET
      requests = total.requests + excluded.requests,
      charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
  ), workspaces AS (
    INSERT INTO workspace_total AS total (workspace_id, seq, charge_nano_usd)
    SELECT workspace_id, 1, sum(charge_nano_usd) FROM by_key GROUP BY 1 ORDER BY 1
    ON CONFLICT (workspace_id) DO UPDATE SET
      seq = total.seq + 1,
      charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
    RETURNING workspace_id, seq
  ), months AS (
    INSERT INTO workspace_month_total AS total (workspace_id, month, charge_nano_usd)
    SELECT workspace_id, date_trunc('month', hour AT TIME ZONE 'UTC')::DATE, sum(charge_nano_usd)
    FROM hourly GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (workspace_id, month) DO UPDATE SET charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
  ), postings AS (
    INSERT INTO posting (kind, workspace_id, seq, key_id, source, wallet_nano_usd, counter_nano_usd)
    SELECT 'usage', workspace_id, seq, key_id, posting_source, -charge_nano_usd, charge_nano_usd
    FROM by_key JOIN workspaces USING (workspace_id)
    WHERE charge_nano_usd <> 0 ORDER BY key_id
  )
  SELECT count(*) FROM recorded
$$;
