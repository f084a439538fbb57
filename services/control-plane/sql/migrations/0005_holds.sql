-- A reason to refuse every call of an organization. The organization is on hold while one of its holds is open.
CREATE TABLE account_hold (
  hold_id TEXT PRIMARY KEY CHECK (hold_id LIKE 'hold\_%'),
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  reason TEXT NOT NULL CHECK (reason IN ('dispute', 'fraud_review', 'verification', 'legal', 'operator')),
  -- For operators alone.
  note TEXT NOT NULL CHECK (length(note) <= 1000),
  opened_by TEXT NOT NULL,
  opened_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ended_by TEXT,
  ended_at TIMESTAMPTZ(3),
  CHECK ((ended_by IS NULL) = (ended_at IS NULL))
);
CREATE INDEX account_hold_of_organization ON account_hold (organization_id);
CREATE INDEX open_account_hold ON account_hold (hold_id) WHERE ended_at IS NULL;

-- Holds alone put a workspace on hold. So its own status has no such state, and ending the last hold restores what it was.
ALTER TABLE workspace DROP CONSTRAINT workspace_status_check;
ALTER TABLE workspace ADD CONSTRAINT workspace_status_check CHECK (status IN ('active', 'not_provisioned'));

-- A check of an identity, made by a provider. The provider keeps the evidence: no picture, number or birth date is stored here.
CREATE TABLE verification (
  verification_id TEXT PRIMARY KEY CHECK (verification_id LIKE 'ver\_%'),
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  -- The checked user. NULL: the organization itself.
  user_id TEXT REFERENCES account_user (user_id),
  kind TEXT NOT NULL CHECK (kind IN ('document', 'business', 'phone')),
  provider TEXT NOT NULL,
  provider_reference TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('requires_input', 'processing', 'verified', 'canceled')),
  reason_code TEXT,
  requested_by TEXT NOT NULL,
  requested_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  decided_at TIMESTAMPTZ(3),
  expires_at TIMESTAMPTZ(3),
  -- The provider has erased the evidence.
  redacted_at TIMESTAMPTZ(3),
  UNIQUE (provider, provider_reference)
);
CREATE INDEX verification_of_organization ON verification (organization_id);
