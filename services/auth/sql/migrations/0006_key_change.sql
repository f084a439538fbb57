-- Each change of a key from the console, written in the transaction of the change. The operator's changes are in the log alone. The rows
-- stay in the region, and so do the names of keys in them.
CREATE TABLE key_change (
  change_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  workspace_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  -- Of the console token.
  user_id TEXT NOT NULL,
  role TEXT NOT NULL,
  action TEXT NOT NULL,
  -- The changed fields, without a secret or a hash of one. None before a key was created.
  before JSONB,
  after JSONB NOT NULL
);
CREATE INDEX key_change_of_workspace ON key_change (workspace_id, change_id);
CREATE TRIGGER key_change_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON key_change EXECUTE FUNCTION refuse_change();
