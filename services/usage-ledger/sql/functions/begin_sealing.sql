-- Has every change of an hour before an instant noted from now on, so that the hours can be added up while others record: returns
-- once no transaction runs that does not know. Hours are sealed 2 h after their end, when all but stragglers are recorded; the clock
-- of a router may be up to 1 h off.
CREATE OR REPLACE FUNCTION begin_sealing(until TIMESTAMPTZ) RETURNS VOID
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
BEGIN
  IF until <> date_trunc('hour', until, 'UTC') OR until > now() - INTERVAL '2 hours' THEN
    RAISE EXCEPTION 'not to be sealed yet: hours before %', until;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('sealing'));
  UPDATE sealing SET noted_before = greatest(noted_before, until);
END $$;
