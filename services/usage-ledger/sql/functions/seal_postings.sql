-- Seals all postings of some workspaces, as of the caller's snapshot. A posting is final at once, and those of a workspace are
-- ordered: none comes at a sequence that the workspace has passed.
CREATE OR REPLACE FUNCTION seal_postings(of_workspaces TEXT[]) RETURNS VOID
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'repeatable read' THEN
    RAISE EXCEPTION 'postings are sealed in a transaction that is repeatable read';
  END IF;
  WITH added AS MATERIALIZED (
    SELECT workspace_id, total.seq, posted.*
    FROM unnest(of_workspaces) AS workspace_id JOIN workspace_total AS total USING (workspace_id)
    LEFT JOIN sealed_wallet AS sealed USING (workspace_id)
    CROSS JOIN LATERAL unsealed_postings(workspace_id, coalesce(sealed.seq, -1)) AS posted
  ), keys AS (
    INSERT INTO sealed_posting AS sealed (workspace_id, key_id, charge_nano_usd)
    SELECT workspace_id, key_id, charge_nano_usd FROM added WHERE key_id IS NOT NULL
    ON CONFLICT (workspace_id, key_id) DO UPDATE SET charge_nano_usd = sealed.charge_nano_usd + excluded.charge_nano_usd
  )
  INSERT INTO sealed_wallet AS sealed (workspace_id, seq, postings, credited_nano_usd, postings_hash)
  SELECT workspace_id, max(seq), sum(postings), coalesce(sum(credited_nano_usd), 0), sum(postings_hash)
  FROM added GROUP BY 1
  ON CONFLICT (workspace_id) DO UPDATE SET
    seq = excluded.seq,
    postings = sealed.postings + excluded.postings,
    credited_nano_usd = sealed.credited_nano_usd + excluded.credited_nano_usd,
    postings_hash = sealed.postings_hash + excluded.postings_hash;
END $$;
