-- An organization as the payment processor knows it.
CREATE TABLE billing_account (
  organization_id TEXT PRIMARY KEY REFERENCES organization (organization_id),
  psp_customer TEXT UNIQUE,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

-- A payment into the wallet of a workspace. Cents are of its currency; tax comes on top and becomes no credit.
CREATE TABLE top_up (
  top_up_id TEXT PRIMARY KEY CHECK (top_up_id LIKE 'topup\_%'),
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  state TEXT NOT NULL DEFAULT 'created'
    CHECK (state IN ('created', 'open', 'processing', 'paid', 'invoiced', 'declined', 'expired')),
  currency TEXT NOT NULL CHECK (currency IN ('usd', 'eur')),
  net_cents BIGINT NOT NULL CHECK (net_cents > 0),
  started_by TEXT NOT NULL REFERENCES account_user (user_id),
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- The Checkout page.
  session_id TEXT UNIQUE,
  session_ends_at TIMESTAMPTZ(3) NOT NULL,
  -- The payment, once it is there. The rate is stored once, so that later rates never touch it.
  intent_id TEXT UNIQUE,
  charge_id TEXT UNIQUE,
  charged_at TIMESTAMPTZ(3),
  tax_cents BIGINT CHECK (tax_cents >= 0),
  tax_country TEXT CHECK (tax_country ~ '^[A-Z]{2}$'),
  rate_month TEXT REFERENCES rate_month (month),
  rate_e4 INTEGER,
  nano_usd BIGINT CHECK (nano_usd > 0),
  invoice_id TEXT UNIQUE,
  invoice_number TEXT,
  CHECK ((state IN ('created', 'open', 'processing', 'declined', 'expired')) = (charge_id IS NULL)),
  CHECK (num_nulls(intent_id, charge_id, charged_at, tax_cents, nano_usd) IN (0, 5)),
  CHECK ((rate_e4 IS NOT NULL) = (currency = 'eur' AND charge_id IS NOT NULL)),
  CHECK ((rate_e4 IS NULL) = (rate_month IS NULL)),
  CHECK (rate_e4 IS NULL OR nano_usd = net_cents * rate_e4 * 1000),
  CHECK ((state = 'invoiced') = (invoice_id IS NOT NULL)),
  CHECK ((invoice_id IS NULL) = (invoice_number IS NULL))
);
CREATE INDEX top_up_of_workspace ON top_up (workspace_id, top_up_id);
CREATE INDEX unsettled_top_up ON top_up (top_up_id) WHERE state NOT IN ('invoiced', 'declined', 'expired');
CREATE TRIGGER top_up_is_kept BEFORE DELETE OR TRUNCATE ON top_up EXECUTE FUNCTION refuse_change();

-- A webhook of the processor about a top-up. It is stored before it is answered, and worked off by a job.
CREATE TABLE psp_event (
  event_id TEXT PRIMARY KEY CHECK (length(event_id) BETWEEN 1 AND 200),
  type TEXT NOT NULL,
  top_up_id TEXT NOT NULL REFERENCES top_up (top_up_id),
  received_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  done_at TIMESTAMPTZ(3)
);
CREATE INDEX open_psp_event ON psp_event (received_at) WHERE done_at IS NULL;

ALTER TABLE transfer DROP CONSTRAINT transfer_by_chart;
ALTER TABLE transfer ADD CONSTRAINT transfer_by_chart CHECK (
  CASE code
    WHEN 'welcome' THEN unit = 'nano_usd' AND debit = 'promo_given' AND credit LIKE 'wallet:%'
    WHEN 'used' THEN unit = 'nano_usd' AND debit LIKE 'wallet:%' AND credit = replace(debit, 'wallet:', 'used:')
    WHEN 'used_less' THEN unit = 'nano_usd' AND credit LIKE 'wallet:%' AND debit = replace(credit, 'wallet:', 'used:')
    WHEN 'net' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit = 'fx_bridge'
    WHEN 'vat' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit ~ '^vat_payable:[A-Z]{2}$'
    WHEN 'credit' THEN unit = 'nano_usd' AND debit = 'fx_bridge' AND credit LIKE 'wallet:%'
    ELSE false
  END
);
