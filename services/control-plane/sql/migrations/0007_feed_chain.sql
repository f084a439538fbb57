-- A hash over an entry and all entries before it, so that a region finds out that another history took the place of the one it read.
ALTER TABLE feed ADD COLUMN chain TEXT;
ALTER TABLE feed DISABLE TRIGGER feed_is_final;
DO $$
DECLARE
  entry RECORD;
  before TEXT := '';
  in_region TEXT := '';
BEGIN
  FOR entry IN SELECT region, seq, body FROM feed ORDER BY region, seq LOOP
    IF entry.region <> in_region THEN before := ''; END IF;
    before := encode(sha256(convert_to(before || entry.body::TEXT, 'UTF8')), 'hex');
    in_region := entry.region;
    UPDATE feed SET chain = before WHERE region = entry.region AND seq = entry.seq;
  END LOOP;
END $$;
ALTER TABLE feed ENABLE TRIGGER feed_is_final;
