-- Database of the usage ledger. Written by hand: partitions, checks, triggers and functions are beyond the schema language.
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

-- What has been recorded stays: the one change allowed is that an unknown outcome becomes known.
CREATE FUNCTION keep_usage_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.status = 'unknown' AND NEW.status IN ('success', 'failure')
       AND (NEW.call_id, NEW.key_id, NEW.workspace_id) = (OLD.call_id, OLD.key_id, OLD.workspace_id) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'usage_request is append-only: % of a recorded call refused', TG_OP;
END $$;
CREATE TRIGGER keep_usage_request BEFORE UPDATE OR DELETE ON usage_request
  FOR EACH ROW EXECUTE FUNCTION keep_usage_request();
CREATE TRIGGER keep_usage_requests BEFORE TRUNCATE ON usage_request
  FOR EACH STATEMENT EXECUTE FUNCTION keep_usage_request();

-- The smallest UUIDv7 of a millisecond or of any later one.
CREATE FUNCTION first_call_id_at(instant TIMESTAMPTZ) RETURNS UUID LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex(round(extract(epoch FROM instant) * 1000)::BIGINT), 12, '0') || repeat('0', 20))::UUID;
$$;

-- Makes the partition of a UTC month unless it exists. Attached rather than created in place, which would lock out readers.
CREATE FUNCTION ensure_usage_partition(month DATE) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  first_day DATE := date_trunc('month', month);
  partition_name TEXT := 'usage_request_' || to_char(first_day, 'YYYY_MM');
BEGIN
  IF to_regclass(partition_name) IS NOT NULL THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ensure_usage_partition'));
  -- Looked up anew: the answer of to_regclass may be remembered from before the wait.
  IF EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
             WHERE inhparent = 'usage_request'::REGCLASS AND relname = partition_name) THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE usage_request INCLUDING ALL)', partition_name);
  EXECUTE format(
    'ALTER TABLE usage_request ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
    partition_name,
    first_call_id_at(first_day::TIMESTAMP AT TIME ZONE 'UTC'),
    first_call_id_at((first_day + INTERVAL '1 month') AT TIME ZONE 'UTC'));
END $$;

-- Projections: sums over usage_request, changed in the transaction that changes its rows. Without checks on their size,
-- as a row on its way to be added to another may be negative: an unknown outcome that became known is taken out again.
CREATE TABLE key_total (
  key_id          TEXT    NOT NULL PRIMARY KEY,
  workspace_id    TEXT    NOT NULL,
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

CREATE FUNCTION keep_credit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'credit is append-only: % refused', TG_OP;
END $$;
CREATE TRIGGER keep_credit BEFORE UPDATE OR DELETE OR TRUNCATE ON credit
  FOR EACH STATEMENT EXECUTE FUNCTION keep_credit();

-- Where the consumer stands: moved in the transaction that records what was read.
CREATE TABLE event_offset (
  topic       TEXT   NOT NULL,
  partition   INT    NOT NULL,
  next_offset BIGINT NOT NULL CHECK (next_offset >= 0),
  PRIMARY KEY (topic, partition)
);

-- Records that could not be read as events, as they were.
CREATE TABLE dead_letter (
  topic       TEXT           NOT NULL,
  partition   INT            NOT NULL,
  "offset"    BIGINT         NOT NULL,
  reason      TEXT           NOT NULL,
  payload     BYTEA          NOT NULL,
  recorded_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, partition, "offset")
);

-- The embedded event log: used where the stack has no broker.
CREATE TABLE event_log_record (
  topic       TEXT           NOT NULL,
  "offset"    BIGINT         NOT NULL,
  key         TEXT           NOT NULL,
  value       BYTEA          NOT NULL,
  appended_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, "offset")
);
