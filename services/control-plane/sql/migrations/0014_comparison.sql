-- A movement of our balance at the payment processor, as the nightly comparison read it. Amounts are in cents of the currency.
CREATE TABLE psp_movement (
  movement_id TEXT PRIMARY KEY CHECK (length(movement_id) BETWEEN 1 AND 100),
  type TEXT NOT NULL CHECK (length(type) BETWEEN 1 AND 100),
  currency TEXT NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  amount BIGINT NOT NULL,
  fee BIGINT NOT NULL,
  -- The object that moved the money: a charge, a refund, a dispute.
  source TEXT,
  -- Fees and payouts are booked from the movement. Every other one has a cause in our books.
  is_booked_here BOOLEAN NOT NULL,
  moved_at TIMESTAMPTZ(3) NOT NULL,
  read_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE INDEX psp_movement_by_source ON psp_movement (source, currency);
CREATE INDEX psp_movement_by_time ON psp_movement (moved_at);
CREATE TRIGGER psp_movement_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON psp_movement EXECUTE FUNCTION refuse_change();

-- The last comparison that came to its end. One row.
CREATE TABLE psp_comparison (
  only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
  compared_at TIMESTAMPTZ(3)
);
INSERT INTO psp_comparison DEFAULT VALUES;

-- The sum of the movements of each object that our books have.
CREATE VIEW psp_expected AS
SELECT charge_id AS source, currency, net_cents + tax_cents AS amount, charged_at AS moved_at, top_up_id AS cause
FROM top_up WHERE charge_id IS NOT NULL
UNION ALL
SELECT psp_refund_id, currency, CASE refund.state WHEN 'refunded' THEN -(taken_cents + refund.tax_cents) ELSE 0 END, ended_at, refund_id
FROM refund JOIN top_up USING (top_up_id) WHERE psp_refund_id IS NOT NULL
UNION ALL
SELECT dispute_id, currency, CASE WHEN is_taken THEN -gross_cents ELSE 0 END, changed_at, top_up_id
FROM dispute JOIN top_up USING (top_up_id) WHERE moves > 0;
