-- A credit posts itself to its workspace's wallet.
CREATE OR REPLACE FUNCTION post_credit() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO posting (kind, workspace_id, source, wallet_nano_usd, counter_nano_usd)
  VALUES ('credit', NEW.workspace_id, NEW.credit_id, NEW.amount_nano_usd, -NEW.amount_nano_usd);
  RETURN NULL;
END $$;
