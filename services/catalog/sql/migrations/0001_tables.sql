-- Every catalog this region ever served. A price change adds a version; calls name the one they were charged by.
CREATE TABLE catalog_version (
  version      INT            NOT NULL PRIMARY KEY CHECK (version >= 1),
  content_hash TEXT           NOT NULL,
  models       JSONB          NOT NULL,
  applied_at   TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TRIGGER keep_catalog_version BEFORE UPDATE OR DELETE ON catalog_version
  FOR EACH ROW EXECUTE FUNCTION keep_catalog_version();
CREATE TRIGGER keep_every_catalog_version BEFORE TRUNCATE ON catalog_version
  FOR EACH STATEMENT EXECUTE FUNCTION keep_catalog_version();

-- Models that an administrator switched off. They stay off whatever the catalog file says, until switched on again.
CREATE TABLE disabled_model (
  model_id    TEXT           NOT NULL PRIMARY KEY,
  disabled_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
