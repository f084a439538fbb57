-- People, and the ways in which they prove who they are.
CREATE TABLE account_user (
  user_id TEXT PRIMARY KEY CHECK (user_id LIKE 'user\_%'),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

-- An address that its user has proved to read, by a mailed link or by the word of a listed identity provider.
CREATE TABLE user_email (
  address TEXT PRIMARY KEY CHECK (address = lower(address) AND length(address) <= 254),
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  verified_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE INDEX user_email_of_user ON user_email (user_id);

CREATE TABLE identity (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  linked_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identity_of_user ON identity (user_id);

-- A session is known by the SHA-256 of its cookie alone.
CREATE TABLE session (
  token_hash TEXT PRIMARY KEY CHECK (token_hash ~ '^[0-9a-f]{64}$'),
  session_id TEXT NOT NULL UNIQUE CHECK (session_id LIKE 'ses\_%'),
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- The last request, to the minute.
  seen_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ends_at TIMESTAMPTZ(3) NOT NULL,
  -- When the user last proved who they are.
  proved_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  address TEXT NOT NULL,
  browser TEXT NOT NULL
);
CREATE INDEX session_of_user ON session (user_id);

-- A sign-in under way. Its token is known by its SHA-256 alone, is taken once, in time, and as its kind alone.
CREATE TABLE ceremony (
  kind TEXT NOT NULL CHECK (kind IN ('link', 'step_up_link', 'oidc')),
  token_hash TEXT NOT NULL CHECK (token_hash ~ '^[0-9a-f]{64}$'),
  body JSONB NOT NULL,
  ends_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (kind, token_hash)
);
CREATE INDEX ceremony_by_end ON ceremony (ends_at);

CREATE TABLE organization (
  organization_id TEXT PRIMARY KEY CHECK (organization_id LIKE 'org\_%'),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TABLE member (
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'billing_viewer')),
  joined_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX member_of_user ON member (user_id);
CREATE CONSTRAINT TRIGGER keep_an_owner AFTER UPDATE OR DELETE ON member
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep_an_owner();

CREATE TABLE invitation (
  invitation_id TEXT PRIMARY KEY CHECK (invitation_id LIKE 'inv\_%'),
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  address TEXT NOT NULL CHECK (address = lower(address)),
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'billing_viewer')),
  token_hash TEXT NOT NULL UNIQUE CHECK (token_hash ~ '^[0-9a-f]{64}$'),
  invited_by TEXT NOT NULL REFERENCES account_user (user_id),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ends_at TIMESTAMPTZ(3) NOT NULL,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'withdrawn'))
);
-- One open invitation for an address; a new one takes the place of the old.
CREATE UNIQUE INDEX open_invitation ON invitation (organization_id, address) WHERE status = 'open';

CREATE TABLE workspace (
  workspace_id TEXT PRIMARY KEY CHECK (workspace_id LIKE 'ws\_%'),
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  region TEXT NOT NULL CHECK (region IN ('us', 'eu')),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- An organization holds at most one workspace a region, and a workspace stays in its region.
  CONSTRAINT workspace_of_organization UNIQUE (organization_id, region)
);

-- Each change, written in the transaction of the change.
CREATE TABLE audit (
  audit_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  organization_id TEXT REFERENCES organization (organization_id),
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  before JSONB,
  after JSONB,
  address TEXT,
  request_id TEXT
);
CREATE INDEX audit_of_organization ON audit (organization_id, audit_id);
CREATE TRIGGER audit_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();

-- A mail to be sent by the job that names it. What it says goes once it is sent, since a link in it signs somebody in.
CREATE TABLE mail (
  mail_id TEXT PRIMARY KEY CHECK (mail_id LIKE 'mail\_%'),
  template TEXT NOT NULL,
  address TEXT NOT NULL,
  data JSONB,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  sent_at TIMESTAMPTZ(3)
);
