-- The usage ledger's tables. The service reads them and changes them through the functions of ../functions alone, which belong
-- to the database's owner and run with the owner's rights. Who may call what: ../rights.sql.
-- Amounts are nano-dollars (1e-9 USD): BIGINT in a row, NUMERIC in a sum.

-- One row per admitted call. The call id is a UUIDv7, so its leading 48 bits are the call's millisecond and a range of
-- ids is a range of time: a look-up by id goes straight to one month.
CREATE TABLE usage_request (
  call_id              UUID        NOT NULL PRIMARY KEY,
  key_id               TEXT        NOT NULL,
  workspace_id         TEXT        NOT NULL,
  region               TEXT        NOT NULL CHECK (region IN ('us', 'eu')),
  operation            TEXT        NOT NULL CHECK (operation IN ('chat', 'completions', 'embeddings')),
  model                TEXT        NOT NULL,
  canonical_model      TEXT        NOT NULL,
  price_version        INT         NOT NULL CHECK (price_version >= 1),
  status               TEXT        NOT NULL CHECK (status IN ('success', 'failure', 'unknown')),
  reason               TEXT,
  prompt_tokens        INT         NOT NULL CHECK (prompt_tokens >= 0),
  cached_prompt_tokens INT         NOT NULL CHECK (cached_prompt_tokens BETWEEN 0 AND prompt_tokens),
  completion_tokens    INT         NOT NULL CHECK (completion_tokens >= 0),
  total_tokens         BIGINT      NOT NULL GENERATED ALWAYS AS (prompt_tokens::BIGINT + completion_tokens) STORED,
  images               INT         NOT NULL CHECK (images >= 0),
  charge_nano_usd      BIGINT      NOT NULL CHECK (charge_nano_usd BETWEEN 0 AND hold_nano_usd),
  formula_nano_usd     BIGINT      NOT NULL CHECK (formula_nano_usd >= 0),
  hold_nano_usd        BIGINT      NOT NULL CHECK (hold_nano_usd >= 0),
  modality             TEXT        NOT NULL CHECK (modality = 'text'),
  billing_unit         TEXT        NOT NULL CHECK (billing_unit = 'token'),
  is_stream            BOOLEAN     NOT NULL,
  started_at           TIMESTAMPTZ(3) NOT NULL,
  ended_at             TIMESTAMPTZ(3) NOT NULL CHECK (ended_at >= started_at),
  recorded_at          TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CONSTRAINT only_a_success_is_charged CHECK (status = 'success' OR charge_nano_usd = 0)
) PARTITION BY RANGE (call_id);

CREATE TRIGGER keep_usage_request BEFORE UPDATE OR DELETE ON usage_request
  FOR EACH ROW EXECUTE FUNCTION keep_usage_request();
CREATE TRIGGER keep_usage_requests BEFORE TRUNCATE ON usage_request
  FOR EACH STATEMENT EXECUTE FUNCTION keep_usage_request();

-- Projections: sums over usage_request, changed in the transaction that changes its rows. Without checks on their size,
-- as a row on its way to be added to another may be negative: an unknown outcome that became known is taken out again.
CREATE TABLE key_total (
  key_id          TEXT    NOT NULL PRIMARY KEY,
  workspace_id    TEXT    NOT NULL,
  -- Here too, though the hours have it: the gate asks for it whenever it loads balances, and hours become more every day.
  requests        BIGINT  NOT NULL,
  charge_nano_usd NUMERIC NOT NULL
);
CREATE INDEX key_total_of_workspace ON key_total (workspace_id);

CREATE TABLE workspace_total (
  workspace_id    TEXT    NOT NULL PRIMARY KEY,
  charge_nano_usd NUMERIC NOT NULL
);

CREATE TABLE workspace_month_total (
  workspace_id    TEXT    NOT NULL,
  month           DATE    NOT NULL,
  charge_nano_usd NUMERIC NOT NULL,
  PRIMARY KEY (workspace_id, month)
);

CREATE TABLE key_hour_total (
  key_id               TEXT           NOT NULL,
  hour                 TIMESTAMPTZ(0) NOT NULL,
  canonical_model      TEXT           NOT NULL,
  modality             TEXT           NOT NULL,
  requests             BIGINT         NOT NULL,
  success              BIGINT         NOT NULL,
  failure              BIGINT         NOT NULL,
  unknown              BIGINT         NOT NULL,
  prompt_tokens        NUMERIC        NOT NULL,
  cached_prompt_tokens NUMERIC        NOT NULL,
  completion_tokens    NUMERIC        NOT NULL,
  charge_nano_usd      NUMERIC        NOT NULL,
  PRIMARY KEY (key_id, hour, canonical_model, modality)
);

-- What a workspace was given to spend. Corrections are new rows. `seq` rises in the order of commits of a workspace.
CREATE TABLE credit (
  credit_id       TEXT           NOT NULL PRIMARY KEY,
  seq             BIGINT         NOT NULL UNIQUE GENERATED ALWAYS AS IDENTITY,
  workspace_id    TEXT           NOT NULL,
  amount_nano_usd BIGINT         NOT NULL CHECK (amount_nano_usd <> 0),
  note            TEXT           NOT NULL,
  created_at      TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE INDEX credit_of_workspace ON credit (workspace_id, seq);

CREATE TRIGGER keep_credit BEFORE UPDATE OR DELETE OR TRUNCATE ON credit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER post_credit AFTER INSERT ON credit FOR EACH ROW EXECUTE FUNCTION post_credit();

-- Every change of a wallet. Both legs stand in one row, so that a check holds them against each other: what leaves the
-- wallet is revenue, what comes in was given. Never changed; a correction is another row.
CREATE TABLE posting (
  posting_id       BIGINT         NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  kind             TEXT           NOT NULL CHECK (kind IN ('credit', 'usage')),
  workspace_id     TEXT           NOT NULL,
  -- Whose usage; a credit belongs to the workspace as a whole.
  key_id           TEXT           CHECK ((key_id IS NULL) = (kind = 'credit')),
  -- What caused it: the credit's id, or where the batch of events stood.
  source           TEXT           NOT NULL,
  wallet_nano_usd  NUMERIC        NOT NULL CHECK (wallet_nano_usd <> 0 AND scale(wallet_nano_usd) = 0),
  counter_nano_usd NUMERIC        NOT NULL,
  posted_at        TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CONSTRAINT legs_sum_to_zero CHECK (wallet_nano_usd + counter_nano_usd = 0)
);
CREATE TRIGGER keep_posting BEFORE UPDATE OR DELETE OR TRUNCATE ON posting
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Where the consumer stands: moved in the transaction that records what was read.
CREATE TABLE event_offset (
  topic       TEXT   NOT NULL,
  partition   INT    NOT NULL,
  next_offset BIGINT NOT NULL CHECK (next_offset >= 0),
  PRIMARY KEY (topic, partition)
);

-- Records that could not be read as events, as they were. One that could be read after all says when, and the bytes it was
-- repaired with if its own would never do.
CREATE TABLE dead_letter (
  topic            TEXT           NOT NULL,
  partition        INT            NOT NULL,
  "offset"         BIGINT         NOT NULL,
  reason           TEXT           NOT NULL,
  payload          BYTEA          NOT NULL,
  recorded_at      TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  dead_letter_id   BIGINT         NOT NULL GENERATED ALWAYS AS IDENTITY,
  replayed_at      TIMESTAMPTZ(3),
  repaired_payload BYTEA,
  PRIMARY KEY (topic, partition, "offset"),
  CONSTRAINT repaired_is_replayed CHECK (repaired_payload IS NULL OR replayed_at IS NOT NULL)
);
CREATE UNIQUE INDEX dead_letter_by_id ON dead_letter (dead_letter_id);
CREATE INDEX waiting_dead_letter ON dead_letter (dead_letter_id) WHERE replayed_at IS NULL;

-- The embedded event log: used where the stack has no broker.
CREATE TABLE event_log_record (
  topic       TEXT           NOT NULL,
  "offset"    BIGINT         NOT NULL,
  key         TEXT           NOT NULL,
  value       BYTEA          NOT NULL,
  appended_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, "offset")
);

-- Which Redis the gate counts in, and who counts with it. A Redis that restarted or was promoted is another one: the epoch is
-- raised, and its balances are built anew (see src/epoch).
CREATE TABLE redis_epoch (
  is_only              BOOLEAN     NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
  number               INT         NOT NULL CHECK (number >= 0),
  redis_id             TEXT        NOT NULL,
  phase                TEXT        NOT NULL CHECK (phase IN ('draining', 'asserting', 'open')),
  -- The last report of any router, and since when reports have come without a gap.
  heard_at             TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  listening_since      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  -- Since when balances have been given out in this epoch. A dead letter from before is in none of them.
  balances_since       TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  -- The first and the last replay of a letter that they lack; both null while they lack none.
  rebuild_wanted_since TIMESTAMPTZ,
  rebuild_wanted_at    TIMESTAMPTZ,
  CONSTRAINT rebuild_wanted_whole CHECK ((rebuild_wanted_since IS NULL) = (rebuild_wanted_at IS NULL))
);
CREATE TRIGGER begin_balances BEFORE UPDATE ON redis_epoch FOR EACH ROW
  WHEN (NEW.phase = 'asserting' AND OLD.phase <> 'asserting') EXECUTE FUNCTION begin_balances();
-- No Redis yet: the first router that reports raises it.
INSERT INTO redis_epoch (number, redis_id, phase) VALUES (0, '', 'open');

CREATE TABLE router (
  -- Lies in the router's spool folder, so that one which comes back is the same one.
  router_id      TEXT        NOT NULL PRIMARY KEY,
  process_id     TEXT        NOT NULL,
  heard_at       TIMESTAMPTZ NOT NULL,
  is_expired     BOOLEAN     NOT NULL,
  drained_epoch  INT,
  drained_at     TIMESTAMPTZ,
  asserted_epoch INT
);
