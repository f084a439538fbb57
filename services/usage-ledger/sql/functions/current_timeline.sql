-- The number of the run that this Postgres is in, which a later run has a higher one than. Another run begins with each start, as the
-- disk may have been set back meanwhile, and where the server takes over from another. The number is the second, since 2026, in which
-- somebody first asked: so none is given a second time, whatever the tables were set back to. They help only where this machine's clock
-- is behind that of the server before. Throws on a server that only follows.
CREATE OR REPLACE FUNCTION current_timeline() RETURNS INT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  this_run CONSTANT TEXT := substring(pg_walfile_name(pg_current_wal_insert_lsn()) FROM 1 FOR 8)
    || ' ' || extract(epoch FROM pg_postmaster_start_time());
  second CONSTANT INT := floor(extract(epoch FROM clock_timestamp() - '2026-01-01 00:00:00Z'::TIMESTAMPTZ));
  given INT;
BEGIN
  SELECT number INTO given FROM postgres_run WHERE run = this_run;
  IF NOT FOUND THEN
    INSERT INTO postgres_run (run, number)
      SELECT this_run, CASE WHEN second <= max(number) THEN max(number) + 1 ELSE second END FROM postgres_run
      ON CONFLICT DO NOTHING;
    SELECT number INTO STRICT given FROM postgres_run WHERE run = this_run;
  END IF;
  RETURN given;
END $$;
