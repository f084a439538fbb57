-- The same as `record_ended_calls` for ledgers of the release before, whose calls name no request and no trace. It goes with the release
-- after this one.
CREATE OR REPLACE FUNCTION record_calls(
  posting_source TEXT, call_ids UUID[], key_ids TEXT[], workspace_ids TEXT[], regions TEXT[], operations TEXT[], models TEXT[],
  canonical_models TEXT[], price_versions INT[], statuses TEXT[], reasons TEXT[], prompt_tokens INT[], cached_prompt_tokens INT[],
  completion_tokens INT[], images INT[], charges_nano_usd BIGINT[], formulas_nano_usd BIGINT[], holds_nano_usd BIGINT[],
  modalities TEXT[], billing_units TEXT[], units INT[], are_streams BOOLEAN[], starts TIMESTAMPTZ[], ends TIMESTAMPTZ[]
) RETURNS BIGINT
  LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT record_ended_calls(
    posting_source, call_ids, key_ids, workspace_ids, regions, operations, models, canonical_models, price_versions, statuses, reasons,
    prompt_tokens, cached_prompt_tokens, completion_tokens, images, charges_nano_usd, formulas_nano_usd, holds_nano_usd, modalities,
    billing_units, units, are_streams, starts, ends, NULL, NULL
  )
$$;
