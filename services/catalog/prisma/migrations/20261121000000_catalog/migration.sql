-- Every catalog this region ever served. A price change adds a version; calls name the one they were charged by.
CREATE TABLE catalog_version (
  version      INT            NOT NULL PRIMARY KEY CHECK (version >= 1),
  content_hash TEXT           NOT NULL,
  models       JSONB          NOT NULL,
  applied_at   TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

-- A version that calls were charged by stays as it was.
CREATE FUNCTION keep_catalog_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a catalog version is never changed or removed';
END $$;
CREATE TRIGGER keep_catalog_version BEFORE UPDATE OR DELETE ON catalog_version
  FOR EACH ROW EXECUTE FUNCTION keep_catalog_version();
CREATE TRIGGER keep_every_catalog_version BEFORE TRUNCATE ON catalog_version
  FOR EACH STATEMENT EXECUTE FUNCTION keep_catalog_version();
