-- The postings of a workspace after a sequence, added up by key; a credit has none. The limit keeps the look-up by index, workspace
-- by workspace.
CREATE OR REPLACE FUNCTION unsealed_postings(of_workspace TEXT, after_seq BIGINT) RETURNS TABLE (
  key_id TEXT, charge_nano_usd NUMERIC, credited_nano_usd NUMERIC, postings BIGINT, postings_hash NUMERIC
) LANGUAGE sql STABLE AS $$
  SELECT key_id, sum(counter_nano_usd) FILTER (WHERE kind = 'usage'), sum(wallet_nano_usd) FILTER (WHERE kind = 'credit'),
    count(*), sum(hash_posting(posting))
  FROM posting WHERE workspace_id = of_workspace AND seq > after_seq GROUP BY key_id OFFSET 0
$$;
