-- The models that a key may call, by their catalog ids. An empty list is no limit. A router of the version before calls any model for the
-- key, so a list is set once every process is of this version.
ALTER TABLE api_key
  ADD COLUMN allowed_models TEXT[] NOT NULL DEFAULT '{}'
    CHECK (cardinality(allowed_models) <= 100 AND array_position(allowed_models, NULL) IS NULL);
