-- The text by which a person allowed charges to a saved card, with its terms. It never changes; another confirmation is another row.
CREATE TABLE top_up_mandate (
  mandate_id TEXT PRIMARY KEY CHECK (mandate_id LIKE 'mandate\_%'),
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  currency TEXT NOT NULL CHECK (currency IN ('usd', 'eur')),
  threshold_nano_usd BIGINT NOT NULL CHECK (threshold_nano_usd >= 0),
  -- Without tax.
  net_cents BIGINT NOT NULL CHECK (net_cents > 0),
  day_limit_cents BIGINT NOT NULL CHECK (day_limit_cents >= net_cents),
  month_limit_cents BIGINT NOT NULL CHECK (month_limit_cents >= net_cents),
  -- The card, as the payment processor keeps it.
  card_id TEXT NOT NULL CHECK (length(card_id) BETWEEN 1 AND 200),
  card_brand TEXT NOT NULL,
  card_last4 TEXT NOT NULL,
  card_expires TEXT NOT NULL,
  confirmed_text TEXT NOT NULL CHECK (length(confirmed_text) BETWEEN 1 AND 2000),
  confirmed_by TEXT NOT NULL REFERENCES account_user (user_id),
  confirmed_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE TRIGGER top_up_mandate_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON top_up_mandate EXECUTE FUNCTION refuse_change();

-- The automatic top-up of a workspace. It is on while it has no reason to be off.
CREATE TABLE top_up_rule (
  workspace_id TEXT PRIMARY KEY REFERENCES workspace (workspace_id),
  mandate_id TEXT NOT NULL REFERENCES top_up_mandate (mandate_id),
  off_reason TEXT CHECK (off_reason IN ('member', 'declines', 'card_gone')),
  off_at TIMESTAMPTZ(3),
  CHECK ((off_reason IS NULL) = (off_at IS NULL))
);

-- A mail about a limit, once in its period.
CREATE TABLE top_up_limit_notice (
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  reason TEXT NOT NULL CHECK (reason IN ('day_limit', 'month_limit', 'account_limit')),
  -- The first day of the period.
  period DATE NOT NULL,
  noticed_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, reason, period)
);

-- The most that automatic top-ups of an organization may be in a month, in each currency. NULL: the usual limit.
ALTER TABLE billing_account ADD COLUMN automatic_month_limit_cents BIGINT CHECK (automatic_month_limit_cents >= 0);

ALTER TABLE top_up
  ADD COLUMN kind TEXT NOT NULL DEFAULT 'checkout' CHECK (kind IN ('checkout', 'automatic')),
  ADD COLUMN mandate_id TEXT REFERENCES top_up_mandate (mandate_id),
  -- The invoice by which an automatic top-up is paid, from its draft on. `invoice_id` has it too, once it is paid.
  ADD COLUMN asked_invoice_id TEXT UNIQUE,
  -- The processor's page on which a person pays it.
  ADD COLUMN payment_url TEXT,
  ADD COLUMN failure_code TEXT,
  ADD COLUMN failed_at TIMESTAMPTZ(3),
  DROP CONSTRAINT top_up_state_check,
  DROP CONSTRAINT top_up_check,
  ADD CONSTRAINT top_up_state_check CHECK (
    state IN ('created', 'open', 'processing', 'wants_cardholder', 'paid', 'invoiced', 'declined', 'expired')
  ),
  ADD CONSTRAINT top_up_charge_check CHECK (
    (state IN ('created', 'open', 'processing', 'wants_cardholder', 'declined', 'expired')) = (charge_id IS NULL)
  ),
  ADD CONSTRAINT top_up_kind_check1 CHECK ((kind = 'automatic') = (mandate_id IS NOT NULL)),
  ADD CONSTRAINT top_up_cardholder_check CHECK (state <> 'wants_cardholder' OR (kind = 'automatic' AND payment_url IS NOT NULL)),
  ADD CONSTRAINT top_up_failure_check CHECK ((failed_at IS NULL) = (failure_code IS NULL));
-- One at a time: whoever asks for a second one gets none.
CREATE UNIQUE INDEX open_automatic_top_up ON top_up (workspace_id)
  WHERE kind = 'automatic' AND state IN ('created', 'open', 'processing', 'wants_cardholder');
CREATE INDEX automatic_top_up_of_workspace ON top_up (workspace_id, created_at) WHERE kind = 'automatic';
CREATE INDEX automatic_top_up_by_start ON top_up (created_at) WHERE kind = 'automatic';
