-- A passkey of a user, registered with user verification. The authenticator keeps its private key.
CREATE TABLE passkey (
  passkey_id TEXT PRIMARY KEY CHECK (passkey_id LIKE 'pk\_%'),
  -- The id that the authenticator gave, as base64url.
  credential_id TEXT NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1400),
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- The public key, as COSE.
  public_key BYTEA NOT NULL,
  -- The authenticator's count of uses. 0 at every use: the authenticator keeps no count.
  counter BIGINT NOT NULL CHECK (counter >= 0),
  transports TEXT[] NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  used_at TIMESTAMPTZ(3)
);
CREATE INDEX passkey_of_user ON passkey (user_id);

ALTER TABLE ceremony DROP CONSTRAINT ceremony_kind_check;
ALTER TABLE ceremony ADD CONSTRAINT ceremony_kind_check
  CHECK (kind IN ('link', 'step_up_link', 'oidc', 'add_passkey', 'passkey', 'step_up_passkey'));
