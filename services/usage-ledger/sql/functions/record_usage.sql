-- The same as `record_calls` for ledgers of the release before: `calls` is an array of rows of usage_request, by the names of its
-- columns. It goes with the release after this one.
CREATE OR REPLACE FUNCTION record_usage(posting_source TEXT, calls JSON) RETURNS BIGINT
  LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT record_calls(
    posting_source, array_agg(call_id), array_agg(key_id), array_agg(workspace_id), array_agg(region), array_agg(operation),
    array_agg(model), array_agg(canonical_model), array_agg(price_version), array_agg(status), array_agg(reason),
    array_agg(prompt_tokens), array_agg(cached_prompt_tokens), array_agg(completion_tokens), array_agg(images),
    array_agg(charge_nano_usd), array_agg(formula_nano_usd), array_agg(hold_nano_usd), array_agg(modality), array_agg(billing_unit),
    array_agg(units), array_agg(is_stream), array_agg(started_at), array_agg(ended_at)
  )
  FROM json_populate_recordset(NULL::usage_request, calls)
$$;
