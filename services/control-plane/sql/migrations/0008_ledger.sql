-- An account on the ledger of one unit. Ledgers never mix: `fx_bridge` is an account on each, and an exchange is two transfers.
CREATE TABLE ledger_account (
  account_id TEXT NOT NULL CHECK (account_id ~ '^[a-z_]+(:[A-Za-z0-9_-]+)?$'),
  unit TEXT NOT NULL CHECK (unit IN ('usd_cent', 'eur_cent', 'nano_usd')),
  PRIMARY KEY (account_id, unit)
);

-- A move of units from the credited account to the debited one. The poster names it by its cause, so that it is there once.
CREATE TABLE transfer (
  transfer_id TEXT PRIMARY KEY CHECK (length(transfer_id) BETWEEN 1 AND 250),
  unit TEXT NOT NULL,
  debit TEXT NOT NULL,
  credit TEXT NOT NULL,
  amount BIGINT NOT NULL CHECK (amount > 0),
  code TEXT NOT NULL,
  -- The cause. Transfers of one cause are written in one transaction.
  source TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 200),
  posted_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  FOREIGN KEY (debit, unit) REFERENCES ledger_account (account_id, unit),
  FOREIGN KEY (credit, unit) REFERENCES ledger_account (account_id, unit),
  -- The pairs of accounts of each code, because a balanced transfer may still be a wrong one.
  CONSTRAINT transfer_by_chart CHECK (
    CASE code
      WHEN 'welcome' THEN unit = 'nano_usd' AND debit = 'promo_given' AND credit LIKE 'wallet:%'
      WHEN 'used' THEN unit = 'nano_usd' AND debit LIKE 'wallet:%' AND credit = replace(debit, 'wallet:', 'used:')
      WHEN 'used_less' THEN unit = 'nano_usd' AND credit LIKE 'wallet:%' AND debit = replace(credit, 'wallet:', 'used:')
      ELSE false
    END
  )
);
CREATE INDEX transfer_by_debit ON transfer (debit, unit);
CREATE INDEX transfer_by_credit ON transfer (credit, unit);
CREATE INDEX transfer_by_source ON transfer (source);
CREATE TRIGGER transfer_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON transfer EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_account_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_account EXECUTE FUNCTION refuse_change();

CREATE VIEW ledger_balance AS
SELECT account_id, unit,
  (SELECT coalesce(sum(amount), 0) FROM transfer WHERE debit = account_id AND transfer.unit = ledger_account.unit) AS debits,
  (SELECT coalesce(sum(amount), 0) FROM transfer WHERE credit = account_id AND transfer.unit = ledger_account.unit) AS credits
FROM ledger_account;

-- The spend of a workspace's day, as the newest confirmed epoch of its region reported it.
CREATE VIEW day_spend AS
SELECT DISTINCT ON (workspace_id, day) workspace_id, day, spend_nano_usd, requests, reported_at,
  greatest(reported_at, confirmed_at) AS changed_at
FROM day_total JOIN workspace USING (workspace_id) JOIN region_epoch USING (region, epoch)
WHERE confirmed_at IS NOT NULL
ORDER BY workspace_id, day, first_reported_at DESC;

-- The credit that a workspace was given, less what it spent. Days that have ended are transfers as well; the current day is not yet.
CREATE VIEW wallet AS
SELECT workspace_id,
  (SELECT coalesce(sum(amount), 0) FROM transfer
    WHERE credit = 'wallet:' || workspace_id AND unit = 'nano_usd' AND code <> 'used_less') AS credited_nano_usd,
  (SELECT coalesce(sum(spend_nano_usd), 0) FROM day_spend WHERE day_spend.workspace_id = workspace.workspace_id) AS spent_nano_usd
FROM workspace;

-- The credits that regions were told before there was a ledger. Each is a credit to begin with.
CREATE TEMPORARY TABLE told ON COMMIT DROP AS
SELECT body->>'credit_id' AS credit_id, 'wallet:' || (body->>'workspace_id') AS wallet, (body->>'nano_usd')::BIGINT AS amount, told_at
FROM feed WHERE body->>'kind' = 'credit' AND (body->>'nano_usd')::BIGINT > 0;
INSERT INTO ledger_account (account_id, unit)
SELECT 'promo_given', 'nano_usd' UNION SELECT wallet, 'nano_usd' FROM told;
INSERT INTO transfer (transfer_id, unit, debit, credit, amount, code, source, posted_at)
SELECT credit_id, 'nano_usd', 'promo_given', wallet, amount, 'welcome', credit_id, told_at FROM told;

-- The dollars per euro of a UTC month. They are the average of the month before and never change.
CREATE TABLE rate_month (
  month TEXT PRIMARY KEY CHECK (month ~ '^20\d\d-(0[1-9]|1[0-2])$'),
  series TEXT NOT NULL CHECK (length(series) BETWEEN 1 AND 100),
  source_period TEXT NOT NULL CHECK (source_period ~ '^20\d\d-(0[1-9]|1[0-2])$'),
  -- The value as its source wrote it, and rounded half up to 1e-4.
  value_text TEXT NOT NULL CHECK (length(value_text) <= 30),
  rate_e4 INTEGER NOT NULL CHECK (rate_e4 BETWEEN 1000 AND 100000),
  -- The file that it came from.
  sha256 TEXT NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  imported_by TEXT NOT NULL,
  imported_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CHECK (to_date(source_period, 'YYYY-MM') + interval '1 month' = to_date(month, 'YYYY-MM'))
);
CREATE TRIGGER rate_month_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON rate_month EXECUTE FUNCTION refuse_change();
