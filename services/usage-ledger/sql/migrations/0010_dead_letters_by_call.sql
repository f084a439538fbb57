-- The call that a dead letter is of, so that `absorb` can tell its router not to send the event again. Generated, so that a letter has it
-- whichever version of the ledger keeps it. Null where the bytes do not show it.
ALTER TABLE dead_letter ADD COLUMN call_id UUID GENERATED ALWAYS AS (
  substring(encode(substring(payload FROM 1 FOR 65536), 'escape')
    FROM '"callId"\s*:\s*"([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})"')::UUID
) STORED;
CREATE INDEX waiting_dead_letter_by_call ON dead_letter (call_id) WHERE replayed_at IS NULL;
