-- A refund of a top-up. Its region takes the credit back first, and what was taken is refunded by a credit note. Cents are without tax
-- where they do not say so; the credit of a cent is a whole number of nano-dollars, so that parts add up to the whole.
CREATE TABLE refund (
  refund_id TEXT PRIMARY KEY CHECK (refund_id LIKE 'refund\_%'),
  top_up_id TEXT NOT NULL REFERENCES top_up (top_up_id),
  state TEXT NOT NULL DEFAULT 'taking' CHECK (state IN ('taking', 'nothing_taken', 'taken', 'refused', 'refunded', 'failed')),
  wanted_cents BIGINT NOT NULL CHECK (wanted_cents > 0),
  unit_nano_usd BIGINT NOT NULL CHECK (unit_nano_usd > 0),
  note TEXT NOT NULL CHECK (length(note) <= 500),
  started_by TEXT NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- The answer of the region.
  taken_cents BIGINT CHECK (taken_cents BETWEEN 0 AND wanted_cents),
  -- The credit note, once it is there.
  tax_cents BIGINT CHECK (tax_cents >= 0),
  credit_note_id TEXT UNIQUE,
  credit_note_number TEXT,
  psp_refund_id TEXT UNIQUE,
  -- The answer of the processor that made no credit note.
  refusal TEXT,
  ended_at TIMESTAMPTZ(3),
  CHECK ((state = 'taking') = (taken_cents IS NULL)),
  CHECK ((state = 'nothing_taken') = (taken_cents IS NOT NULL AND taken_cents = 0)),
  CHECK (num_nulls(tax_cents, credit_note_id, credit_note_number, psp_refund_id) = CASE WHEN state IN ('refunded', 'failed') THEN 0 ELSE 4 END),
  CHECK ((refusal IS NOT NULL) = (state = 'refused')),
  CHECK ((state IN ('taking', 'taken')) = (ended_at IS NULL))
);
CREATE INDEX refund_of_top_up ON refund (top_up_id, refund_id);
-- The tax of a part depends on the parts before it.
CREATE UNIQUE INDEX one_open_refund ON refund (top_up_id) WHERE state IN ('taking', 'taken');
CREATE TRIGGER refund_is_kept BEFORE DELETE OR TRUNCATE ON refund EXECUTE FUNCTION refuse_change();

ALTER TABLE transfer DROP CONSTRAINT transfer_by_chart;
ALTER TABLE transfer ADD CONSTRAINT transfer_by_chart CHECK (
  CASE code
    WHEN 'welcome' THEN unit = 'nano_usd' AND debit = 'promo_given' AND credit LIKE 'wallet:%'
    WHEN 'used' THEN unit = 'nano_usd' AND debit LIKE 'wallet:%' AND credit = replace(debit, 'wallet:', 'used:')
    WHEN 'used_less' THEN unit = 'nano_usd' AND credit LIKE 'wallet:%' AND debit = replace(credit, 'wallet:', 'used:')
    WHEN 'net' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit = 'fx_bridge'
    WHEN 'net_back' THEN unit <> 'nano_usd' AND debit = 'fx_bridge' AND credit = 'psp_clearing'
    WHEN 'vat' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit ~ '^vat_payable:[A-Z]{2}$'
    WHEN 'vat_back' THEN unit <> 'nano_usd' AND debit ~ '^vat_payable:[A-Z]{2}$' AND credit = 'psp_clearing'
    WHEN 'credit' THEN unit = 'nano_usd' AND debit = 'fx_bridge' AND credit LIKE 'wallet:%'
    WHEN 'taken_back' THEN unit = 'nano_usd' AND debit LIKE 'wallet:%' AND credit = 'fx_bridge'
    WHEN 'given_back' THEN unit = 'nano_usd' AND debit = 'fx_bridge' AND credit LIKE 'wallet:%'
    -- Tax of a disputed payment: it stays due, and no credit note says otherwise.
    WHEN 'loss' THEN unit <> 'nano_usd' AND debit = 'dispute_loss' AND credit = 'psp_clearing'
    WHEN 'loss_back' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit = 'dispute_loss'
    WHEN 'fee' THEN unit <> 'nano_usd' AND debit = 'psp_fees' AND credit = 'psp_clearing'
    WHEN 'fee_back' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit = 'psp_fees'
    WHEN 'payout' THEN unit <> 'nano_usd' AND debit = 'bank' AND credit = 'psp_clearing'
    WHEN 'payout_back' THEN unit <> 'nano_usd' AND debit = 'psp_clearing' AND credit = 'bank'
    -- Credit that an operator gives or takes without a payment.
    WHEN 'adjusted' THEN unit = 'nano_usd' AND debit = 'promo_given' AND credit LIKE 'wallet:%'
    WHEN 'adjusted_back' THEN unit = 'nano_usd' AND debit LIKE 'wallet:%' AND credit = 'promo_given'
    ELSE false
  END
);

CREATE OR REPLACE VIEW wallet AS
SELECT workspace_id,
  (SELECT coalesce(sum(amount), 0) FROM transfer
    WHERE credit = 'wallet:' || workspace_id AND unit = 'nano_usd' AND code <> 'used_less')
  - (SELECT coalesce(sum(amount), 0) FROM transfer
    WHERE debit = 'wallet:' || workspace_id AND unit = 'nano_usd' AND code <> 'used') AS credited_nano_usd,
  (SELECT coalesce(sum(spend_nano_usd), 0) FROM day_spend WHERE day_spend.workspace_id = workspace.workspace_id) AS spent_nano_usd
FROM workspace;
