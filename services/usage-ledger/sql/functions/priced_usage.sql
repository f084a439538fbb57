-- For the version before, which asks for it by this name; `priced_calls` is in its place.
CREATE OR REPLACE FUNCTION priced_usage(prices JSON) RETURNS TABLE (
  call_id UUID, workspace_id TEXT, key_id TEXT, started_at TIMESTAMPTZ, canonical_model TEXT, modality TEXT, status TEXT,
  prompt_tokens INT, cached_prompt_tokens INT, completion_tokens INT, charge_nano_usd BIGINT, row_hash BIGINT,
  repriced_nano_usd NUMERIC, is_mispriced BOOLEAN, is_unpriced BOOLEAN
) LANGUAGE sql STABLE AS $$
  SELECT call_id, workspace_id, key_id, started_at, canonical_model, modality, status, prompt_tokens, cached_prompt_tokens,
    completion_tokens, charge_nano_usd, row_hash, repriced_nano_usd, is_mispriced, is_unpriced
  FROM priced_calls(prices)
$$;
