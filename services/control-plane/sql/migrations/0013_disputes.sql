-- A dispute of the payment of a top-up, as the processor has it. Cents with tax are the disputed ones; the share of the credit is its net.
CREATE TABLE dispute (
  dispute_id TEXT PRIMARY KEY CHECK (length(dispute_id) BETWEEN 1 AND 100),
  top_up_id TEXT NOT NULL REFERENCES top_up (top_up_id),
  status TEXT NOT NULL CHECK (length(status) <= 50),
  reason TEXT NOT NULL CHECK (length(reason) <= 100),
  gross_cents BIGINT NOT NULL CHECK (gross_cents > 0),
  -- The share that was taken. Null before money moves.
  net_cents BIGINT CHECK (net_cents BETWEEN 0 AND gross_cents),
  -- Movements of money at the processor that are booked: withdrawn, reinstated.
  moves INTEGER NOT NULL DEFAULT 0,
  is_taken BOOLEAN NOT NULL DEFAULT false,
  hold_id TEXT REFERENCES account_hold (hold_id),
  opened_at TIMESTAMPTZ(3) NOT NULL,
  changed_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CHECK (NOT is_taken OR net_cents IS NOT NULL),
  CHECK ((moves = 0) = (net_cents IS NULL))
);
CREATE INDEX dispute_of_top_up ON dispute (top_up_id);
CREATE TRIGGER dispute_is_kept BEFORE DELETE OR TRUNCATE ON dispute EXECUTE FUNCTION refuse_change();

-- Webhooks about refunds and disputes name the processor's object.
ALTER TABLE psp_event ALTER COLUMN top_up_id DROP NOT NULL;
ALTER TABLE psp_event ADD COLUMN object_id TEXT CHECK (length(object_id) BETWEEN 1 AND 200);
ALTER TABLE psp_event ADD CHECK (num_nonnulls(top_up_id, object_id) = 1);
