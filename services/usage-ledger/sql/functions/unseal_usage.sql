-- Opens every hour from the begin of a month on: they are sealed again as their rows are then. For rows that were put back by hand
-- after a loss that had been sealed. Run by the database's owner.
CREATE OR REPLACE FUNCTION unseal_usage(month DATE) RETURNS VOID
  LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  first_day DATE := date_trunc('month', month);
  since TIMESTAMPTZ := first_day::TIMESTAMP AT TIME ZONE 'UTC';
BEGIN
  IF EXISTS (SELECT FROM archived_hour WHERE hour >= since) THEN
    RAISE EXCEPTION 'rows of hours from % on are archived: put them back first', since;
  END IF;
  UPDATE sealing SET hours_before = least(hours_before, since);
  DELETE FROM sealed_hour WHERE hour >= since;
  DELETE FROM sealed_key WHERE sealed_key.month >= first_day;
  DELETE FROM seal_amendment WHERE hour >= since;
END $$;
