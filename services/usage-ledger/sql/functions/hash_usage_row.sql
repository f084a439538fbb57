-- What tells one content of a row of usage_request from another. Its columns are named, as one that is added later must not change it: the
-- units of media are the seed, which is 0 of text as it was before there were any. Not a signature: it finds what a slip, a bug or a
-- broken disk changed, and not who may write seals as well.
CREATE OR REPLACE FUNCTION hash_usage_row(call ANYELEMENT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
  SELECT hash_record_extended(ROW(
    (call).call_id, (call).key_id, (call).workspace_id, (call).region, (call).operation, (call).model, (call).canonical_model,
    (call).price_version, (call).status, (call).reason, (call).prompt_tokens, (call).cached_prompt_tokens,
    (call).completion_tokens, (call).images, (call).charge_nano_usd, (call).formula_nano_usd, (call).hold_nano_usd,
    (call).modality, (call).billing_unit, (call).is_stream, (call).started_at, (call).ended_at, (call).recorded_at
  ), coalesce((call).units::BIGINT + 1, 0))
$$;
