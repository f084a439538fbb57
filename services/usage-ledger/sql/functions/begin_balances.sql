-- Balances are read once an epoch is asserting, and have all that was recorded until then. The table itself sees to it, so that
-- it holds as well for a replica of the version before, while this one is rolled out.
CREATE OR REPLACE FUNCTION begin_balances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.balances_since = clock_timestamp();
  NEW.rebuild_wanted_since = NULL;
  NEW.rebuild_wanted_at = NULL;
  RETURN NEW;
END $$;
