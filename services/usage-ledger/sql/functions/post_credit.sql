-- A credit posts itself to its workspace's wallet, and counts as a change of the workspace's sums.
CREATE OR REPLACE FUNCTION post_credit() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  raised_seq BIGINT;
BEGIN
  INSERT INTO workspace_total AS total (workspace_id, seq, charge_nano_usd, credited_nano_usd)
  VALUES (NEW.workspace_id, 1, 0, NEW.amount_nano_usd)
  ON CONFLICT (workspace_id) DO UPDATE SET
    seq = total.seq + 1,
    credited_nano_usd = total.credited_nano_usd + excluded.credited_nano_usd
  RETURNING seq INTO raised_seq;
  INSERT INTO posting (kind, workspace_id, seq, source, wallet_nano_usd, counter_nano_usd)
  VALUES ('credit', NEW.workspace_id, raised_seq, NEW.credit_id, NEW.amount_nano_usd, -NEW.amount_nano_usd);
  RETURN NULL;
END $$;
