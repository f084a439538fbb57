-- Every row with what it should have cost more by a price list, as `computeCharge` of libs/money has it of text and `computeUnitCharge`
-- of media: summed exactly, rounded half-up once. A row whose price the list lacks is neither right nor wrong; one that is billed by
-- something else than its price is for is wrong. `prices` is an array of {version, model, prompt, cached, completion, image, request},
-- or of media {version, model, unit, unit_price}.
CREATE OR REPLACE FUNCTION priced_calls(prices JSON) RETURNS TABLE (
  call_id UUID, workspace_id TEXT, key_id TEXT, started_at TIMESTAMPTZ, canonical_model TEXT, modality TEXT, status TEXT,
  prompt_tokens INT, cached_prompt_tokens INT, completion_tokens INT, billing_unit TEXT, units INT, charge_nano_usd BIGINT,
  row_hash BIGINT, repriced_nano_usd NUMERIC, is_mispriced BOOLEAN, is_unpriced BOOLEAN
) LANGUAGE sql STABLE AS $$
  SELECT call_id, workspace_id, key_id, started_at, canonical_model, modality, status, prompt_tokens, cached_prompt_tokens,
    completion_tokens, billing_unit, units, charge_nano_usd, row_hash,
    CASE WHEN formula IS NULL THEN 0 ELSE least(formula, hold_nano_usd) - charge_nano_usd END,
    NOT is_unpriced AND (formula IS NULL OR formula <> formula_nano_usd OR least(formula, hold_nano_usd) <> charge_nano_usd),
    is_unpriced
  FROM (
    SELECT call.*, hash_usage_row(call) AS row_hash, price.version IS NULL AS is_unpriced,
      CASE
        WHEN price.version IS NULL OR coalesce(price.unit, 'token') <> billing_unit THEN NULL
        WHEN status <> 'success' THEN 0
        WHEN units IS NULL THEN div(
          (prompt_tokens - cached_prompt_tokens) * price.prompt + cached_prompt_tokens * price.cached
            + completion_tokens * price.completion + images * price.image + price.request + 500000000,
          1000000000
        )
        -- Counted in seconds.
        WHEN billing_unit = 'minute' THEN div(units * price.unit_price + 30000000000, 60000000000)
        ELSE div(units * price.unit_price + 500000000, 1000000000)
      END AS formula
    FROM usage_request AS call
    LEFT JOIN json_to_recordset(prices) AS price (
      version INT, model TEXT, prompt NUMERIC, cached NUMERIC, completion NUMERIC, image NUMERIC, request NUMERIC,
      unit TEXT, unit_price NUMERIC
    ) ON price.version = call.price_version AND price.model = call.canonical_model
  ) AS priced
$$;
