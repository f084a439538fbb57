-- Every row with what it should have cost more by a price list, as `computeCharge` of libs/money has it: summed exactly, rounded half-up once. A row
-- whose price the list lacks is neither right nor wrong. `prices` is an array of
-- {version, model, prompt, cached, completion, image, request}.
CREATE OR REPLACE FUNCTION priced_usage(prices JSON) RETURNS TABLE (
  call_id UUID, workspace_id TEXT, key_id TEXT, started_at TIMESTAMPTZ, canonical_model TEXT, modality TEXT, status TEXT,
  prompt_tokens INT, cached_prompt_tokens INT, completion_tokens INT, charge_nano_usd BIGINT, row_hash BIGINT,
  repriced_nano_usd NUMERIC, is_mispriced BOOLEAN, is_unpriced BOOLEAN
) LANGUAGE sql STABLE AS $$
  SELECT call_id, workspace_id, key_id, started_at, canonical_model, modality, status, prompt_tokens, cached_prompt_tokens,
    completion_tokens, charge_nano_usd, row_hash,
    CASE WHEN formula IS NULL THEN 0 ELSE least(formula, hold_nano_usd) - charge_nano_usd END,
    formula IS NOT NULL AND (formula <> formula_nano_usd OR least(formula, hold_nano_usd) <> charge_nano_usd), formula IS NULL
  FROM (
    SELECT call.*, hash_usage_row(call) AS row_hash,
      CASE WHEN price.prompt IS NULL THEN NULL WHEN status = 'success' THEN div(
        (prompt_tokens - cached_prompt_tokens) * price.prompt + cached_prompt_tokens * price.cached
          + completion_tokens * price.completion + images * price.image + price.request + 500000000,
        1000000000
      ) ELSE 0 END AS formula
    FROM usage_request AS call
    LEFT JOIN json_to_recordset(prices) AS price (
      version INT, model TEXT, prompt NUMERIC, cached NUMERIC, completion NUMERIC, image NUMERIC, request NUMERIC
    ) ON price.version = call.price_version AND price.model = call.canonical_model
  ) AS priced
$$;
