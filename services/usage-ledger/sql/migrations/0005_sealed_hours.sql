-- Audits that do not add up all of history: what is over is sealed, and a run of the schedule is a row. The version before works on
-- these tables: it calls the functions by the same names, and adds up every row as it always did. On a large table the indexes are made
-- by hand first (docs/operations.md).

-- The calls of some hours: a few bytes a megabyte of the table, as rows come about in the order of time.
CREATE INDEX IF NOT EXISTS usage_request_by_begin ON usage_request USING brin (started_at) WITH (autosummarize = on);
CREATE INDEX IF NOT EXISTS key_hour_total_by_hour ON key_hour_total USING brin (hour) WITH (autosummarize = on, pages_per_range = 16);
-- The calls of one workspace.
CREATE INDEX IF NOT EXISTS usage_request_of_workspace ON usage_request (workspace_id, started_at);

-- How far hours are sealed. Whoever records a call that began before `noted_before` leaves a note in seal_amendment.
CREATE TABLE sealing (
  is_only      BOOLEAN        NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
  hours_before TIMESTAMPTZ(0) NOT NULL DEFAULT '2025-01-01 00:00Z',
  noted_before TIMESTAMPTZ(0) NOT NULL DEFAULT '2025-01-01 00:00Z',
  CONSTRAINT noted_before_sealed CHECK (noted_before >= hours_before)
);
INSERT INTO sealing DEFAULT VALUES;

-- The calls of a workspace that began in a sealed hour: how many, what they cost, and the sum of the hashes of their rows.
CREATE TABLE sealed_hour (
  workspace_id    TEXT           NOT NULL,
  hour            TIMESTAMPTZ(0) NOT NULL,
  calls           BIGINT         NOT NULL,
  charge_nano_usd NUMERIC        NOT NULL,
  rows_hash       NUMERIC        NOT NULL,
  PRIMARY KEY (hour, workspace_id)
);
CREATE INDEX sealed_hour_of_workspace ON sealed_hour (workspace_id, hour);

-- The part of sealed_hour whose rows lie in a partition that was archived, named by its first day.
CREATE TABLE archived_hour (
  partition       DATE           NOT NULL,
  workspace_id    TEXT           NOT NULL,
  hour            TIMESTAMPTZ(0) NOT NULL,
  calls           BIGINT         NOT NULL,
  charge_nano_usd NUMERIC        NOT NULL,
  rows_hash       NUMERIC        NOT NULL,
  PRIMARY KEY (hour, workspace_id, partition)
);

-- All sealed hours of a key in a month, added up: what its rows came to, and what its hourly sums did. What differed stays here.
CREATE TABLE sealed_key (
  workspace_id         TEXT    NOT NULL,
  key_id               TEXT    NOT NULL,
  month                DATE    NOT NULL,
  calls                BIGINT  NOT NULL,
  charge_nano_usd      NUMERIC NOT NULL,
  hour_calls           BIGINT  NOT NULL,
  hour_charge_nano_usd NUMERIC NOT NULL,
  hours_apart          BIGINT  NOT NULL,
  -- What the rows should have cost more, by their prices.
  repriced_nano_usd    NUMERIC NOT NULL,
  mispriced            BIGINT  NOT NULL,
  unpriced             BIGINT  NOT NULL,
  PRIMARY KEY (workspace_id, key_id, month)
);

-- Lawful changes of sealed hours since: a row that came late, an unknown call that became known. A seal and its amendments are what
-- the rows have to be; the next sealing takes them in.
CREATE TABLE seal_amendment (
  amendment_id    BIGINT         NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  call_id         UUID           NOT NULL,
  workspace_id    TEXT           NOT NULL,
  key_id          TEXT           NOT NULL,
  hour            TIMESTAMPTZ(0) NOT NULL,
  -- 1 for the row as it is now, -1 for what it was before.
  calls           INT            NOT NULL CHECK (calls IN (1, -1)),
  charge_nano_usd NUMERIC        NOT NULL,
  rows_hash       NUMERIC        NOT NULL
);

-- All postings of a workspace up to a sequence, added up: its credits, what its keys were charged, and the sum of their hashes.
CREATE TABLE sealed_wallet (
  workspace_id      TEXT    NOT NULL PRIMARY KEY,
  seq               BIGINT  NOT NULL,
  postings          BIGINT  NOT NULL,
  credited_nano_usd NUMERIC NOT NULL,
  postings_hash     NUMERIC NOT NULL
);
CREATE TABLE sealed_posting (
  workspace_id    TEXT    NOT NULL,
  key_id          TEXT    NOT NULL,
  charge_nano_usd NUMERIC NOT NULL,
  PRIMARY KEY (workspace_id, key_id)
);

-- The runs of the schedule, one at a time in the region.
CREATE TABLE reconciliation (
  is_only      BOOLEAN     NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
  started_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
  -- When one last came to its end; null before the first.
  succeeded_at TIMESTAMPTZ,
  -- The workspace that was last held against Redis: the next run goes on after it.
  after_workspace TEXT NOT NULL DEFAULT ''
);
INSERT INTO reconciliation DEFAULT VALUES;
