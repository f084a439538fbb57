-- Credit that the account layer wants back for a refund. Its steps are credits below and above zero, each once by its id.
CREATE TABLE take_back (
  take_back_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  wanted_nano_usd BIGINT NOT NULL CHECK (wanted_nano_usd > 0),
  unit_nano_usd BIGINT NOT NULL CHECK (unit_nano_usd > 0),
  -- The credit that was taken before the gate counted without it. Null: not yet.
  posted_nano_usd BIGINT CHECK (posted_nano_usd BETWEEN 0 AND wanted_nano_usd),
  -- The credit that stays taken, a multiple of the unit. Null: not decided yet.
  taken_nano_usd BIGINT CHECK (taken_nano_usd BETWEEN 0 AND wanted_nano_usd),
  noted_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- The account layer has the taken credit in its books.
  told_at TIMESTAMPTZ(3),
  CHECK (taken_nano_usd IS NULL OR posted_nano_usd IS NOT NULL),
  CHECK (told_at IS NULL OR taken_nano_usd IS NOT NULL)
);
CREATE INDEX open_take_back ON take_back (take_back_id) WHERE told_at IS NULL;
