-- What a region is told, in the order in which it happened. A region's sequence has no gaps.
CREATE TABLE feed (
  region TEXT NOT NULL CHECK (region IN ('us', 'eu')),
  seq INTEGER NOT NULL CHECK (seq >= 1),
  body JSONB NOT NULL,
  told_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (region, seq)
);
CREATE TRIGGER feed_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON feed EXECUTE FUNCTION refuse_change();

-- The life of this database. Who restores it from a backup gives it another one, so that regions do not take its feed for the old one.
CREATE TABLE feed_epoch (
  epoch UUID PRIMARY KEY DEFAULT gen_random_uuid()
);
INSERT INTO feed_epoch DEFAULT VALUES;

ALTER TABLE workspace
  ADD COLUMN status TEXT NOT NULL DEFAULT 'not_provisioned' CHECK (status IN ('active', 'on_hold', 'not_provisioned')),
  ADD COLUMN monthly_cap_nano_usd BIGINT CHECK (monthly_cap_nano_usd >= 0),
  ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1);

-- A user gets the credit to begin with once, in whatever organization.
ALTER TABLE account_user ADD COLUMN welcomed_at TIMESTAMPTZ(3);
