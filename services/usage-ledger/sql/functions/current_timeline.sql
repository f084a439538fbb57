-- The timeline that this database writes: the first eight digits of a log file's name. Whoever takes over from another server, or
-- is set back to an instant, begins another one. Throws on a server that only follows.
CREATE OR REPLACE FUNCTION current_timeline() RETURNS INT LANGUAGE sql VOLATILE AS $$
  SELECT ('x' || substring(pg_walfile_name(pg_current_wal_insert_lsn()) FROM 1 FOR 8))::BIT(32)::INT;
$$;
