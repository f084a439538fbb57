-- How many sums of a day and later ones, of one workspace or all, differ from the sums of their hours. No row: none differs.
CREATE OR REPLACE FUNCTION days_apart(since DATE, of_workspace TEXT) RETURNS TABLE (workspace_id TEXT, apart BIGINT)
  LANGUAGE sql STABLE AS $$
  WITH hourly AS (
    SELECT key_total.workspace_id, (hour AT TIME ZONE 'UTC')::DATE AS day, total.*
    FROM key_hour_total AS total JOIN key_total USING (key_id)
    WHERE hour >= since::TIMESTAMP AT TIME ZONE 'UTC' AND (of_workspace IS NULL OR key_total.workspace_id = of_workspace)
  ), side AS (
    SELECT workspace_id, CASE WHEN grouping(key_id) = 0 THEN 'key' WHEN grouping(canonical_model) = 0 THEN 'model' ELSE 'none' END
        AS grouped_by, day, coalesce(canonical_model, '') AS canonical_model, coalesce(modality, '') AS modality,
      coalesce(key_id, '') AS key_id, sum(requests) AS requests, sum(success) AS success, sum(failure) AS failure,
      sum(unknown) AS unknown, sum(prompt_tokens) AS prompt_tokens, sum(cached_prompt_tokens) AS cached_prompt_tokens,
      sum(completion_tokens) AS completion_tokens, sum(charge_nano_usd) AS charge_nano_usd
    FROM hourly
    GROUP BY GROUPING SETS ((workspace_id, day), (workspace_id, day, canonical_model, modality), (workspace_id, day, key_id))
    UNION ALL
    SELECT workspace_id, grouped_by, day, canonical_model, modality, key_id, -requests, -success, -failure, -unknown, -prompt_tokens,
      -cached_prompt_tokens, -completion_tokens, -charge_nano_usd
    FROM workspace_day_total AS total WHERE day >= since AND (of_workspace IS NULL OR total.workspace_id = of_workspace)
  ), differing AS (
    SELECT workspace_id FROM side GROUP BY workspace_id, grouped_by, day, canonical_model, modality, key_id
    HAVING (sum(requests), sum(success), sum(failure), sum(unknown), sum(prompt_tokens), sum(cached_prompt_tokens),
      sum(completion_tokens), sum(charge_nano_usd)) <> (0, 0, 0, 0, 0, 0, 0, 0)
  )
  SELECT workspace_id, count(*) FROM differing GROUP BY workspace_id
$$;
