-- The account layer's side of a workspace, beside the operator's (`billing_status`, `monthly_cap_nano_usd`). Each side has one writer, and
-- the stricter of the two counts. Null: the account layer does not know the workspace.
-- The version before goes by the operator's side alone. So the control plane's address is set once every process is of this version.
ALTER TABLE workspace
  ADD COLUMN account_status TEXT CHECK (account_status IN ('active', 'on_hold', 'not_provisioned')),
  ADD COLUMN account_cap_nano_usd BIGINT CHECK (account_cap_nano_usd >= 0),
  -- The version of the account layer's document.
  ADD COLUMN account_version INTEGER CHECK (account_version >= 1),
  -- False from a change by the feed until the router was told of it.
  ADD COLUMN is_gate_told BOOLEAN NOT NULL DEFAULT true;
CREATE INDEX workspace_gate_not_told ON workspace (workspace_id) WHERE NOT is_gate_told;

-- The last applied entry of the account layer's feed: one row.
CREATE TABLE feed_cursor (
  only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
  epoch TEXT,
  seq INTEGER NOT NULL DEFAULT 0 CHECK (seq >= 0)
);
INSERT INTO feed_cursor DEFAULT VALUES;
