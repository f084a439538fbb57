-- What balances lack of dead letters (see src/epoch): those that were replayed after the balances had been given out.
ALTER TABLE redis_epoch
  -- Since when balances have been given out in this epoch. A dead letter from before is in none of them.
  ADD COLUMN balances_since       TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  -- The first and the last replay of a letter that they lack; both null while they lack none.
  ADD COLUMN rebuild_wanted_since TIMESTAMPTZ,
  ADD COLUMN rebuild_wanted_at    TIMESTAMPTZ,
  ADD CONSTRAINT rebuild_wanted_whole CHECK ((rebuild_wanted_since IS NULL) = (rebuild_wanted_at IS NULL));

-- Balances are read once an epoch is asserting, and have all that was recorded until then. The table itself sees to it, so that
-- it holds as well for a replica of the version before, while this one is rolled out.
CREATE FUNCTION begin_balances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.balances_since = clock_timestamp();
  NEW.rebuild_wanted_since = NULL;
  NEW.rebuild_wanted_at = NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER begin_balances BEFORE UPDATE ON redis_epoch FOR EACH ROW
  WHEN (NEW.phase = 'asserting' AND OLD.phase <> 'asserting') EXECUTE FUNCTION begin_balances();
