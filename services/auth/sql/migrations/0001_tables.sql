CREATE TABLE workspace (
  workspace_id TEXT PRIMARY KEY CHECK (workspace_id LIKE 'ws\_%'),
  organization_id TEXT NOT NULL CHECK (organization_id LIKE 'org\_%'),
  name TEXT NOT NULL,
  region TEXT NOT NULL CHECK (region IN ('us', 'eu')),
  billing_status TEXT NOT NULL CHECK (billing_status IN ('active', 'on_hold', 'not_provisioned')),
  monthly_cap_nano_usd BIGINT CHECK (monthly_cap_nano_usd >= 0),
  version INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
  -- An organization holds at most one workspace per region.
  CONSTRAINT workspace_of_organization UNIQUE (organization_id, region)
);

CREATE TABLE api_key (
  key_id TEXT PRIMARY KEY CHECK (key_id LIKE 'key\_%'),
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  -- HMAC-SHA-256, under the pepper named beside it, of the key's SHA-256.
  stored_hash TEXT NOT NULL UNIQUE CHECK (stored_hash ~ '^[0-9a-f]{64}$'),
  pepper_id TEXT NOT NULL,
  last_four TEXT NOT NULL CHECK (length(last_four) = 4),
  name TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'revoked', 'blocked')),
  generation INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1),
  rpm INTEGER NOT NULL DEFAULT 600 CHECK (rpm >= 1),
  tpm INTEGER NOT NULL DEFAULT 1000000 CHECK (tpm >= 1),
  max_budget_nano_usd BIGINT CHECK (max_budget_nano_usd >= 0),
  expires_at TIMESTAMPTZ(3),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE INDEX api_key_of_workspace ON api_key (workspace_id);
