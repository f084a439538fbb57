-- When a workspace alerts, and how. A row without limits alerts about the monthly cap of the workspace alone.
CREATE TABLE alert_rule (
  workspace_id TEXT PRIMARY KEY REFERENCES workspace (workspace_id),
  -- Of a calendar month (UTC).
  budget_nano_usd BIGINT CHECK (budget_nano_usd >= 0),
  balance_below_nano_usd BIGINT CHECK (balance_below_nano_usd >= 0),
  is_mailed BOOLEAN NOT NULL,
  webhook_url TEXT CHECK (length(webhook_url) <= 8192),
  webhook_secret TEXT,
  webhook_set_at TIMESTAMPTZ(3),
  CHECK (num_nulls(webhook_url, webhook_secret, webhook_set_at) IN (0, 3))
);

-- A threshold that was reached, once in its period. Another limit is another threshold.
CREATE TABLE alert (
  alert_id TEXT PRIMARY KEY CHECK (alert_id LIKE 'alert\_%'),
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  kind TEXT NOT NULL CHECK (kind IN ('budget', 'cap', 'balance')),
  percent INTEGER NOT NULL CHECK (percent IN (0, 50, 80, 100)),
  limit_nano_usd BIGINT NOT NULL,
  value_nano_usd NUMERIC NOT NULL,
  period TEXT NOT NULL,
  raised_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CHECK ((kind = 'balance') = (percent = 0)),
  UNIQUE (workspace_id, kind, percent, limit_nano_usd, period)
);
CREATE INDEX alert_of_workspace ON alert (workspace_id, alert_id);
CREATE TRIGGER alert_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON alert EXECUTE FUNCTION refuse_change();

-- The webhook of an alert.
CREATE TABLE alert_delivery (
  delivery_id TEXT PRIMARY KEY CHECK (delivery_id LIKE 'delivery\_%'),
  alert_id TEXT NOT NULL UNIQUE REFERENCES alert (alert_id),
  url TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
  attempts INTEGER NOT NULL DEFAULT 0,
  last_status INTEGER,
  last_error TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ended_at TIMESTAMPTZ(3),
  CHECK ((state = 'waiting') = (ended_at IS NULL))
);
