-- Appends records to a topic of the embedded event log, one append at a time, so that a reader never sees an offset before a lower one.
-- Where the log ends is asked after the lock, in a statement of its own. Contents come as base64: they may hold what a text in Postgres
-- may not.
CREATE OR REPLACE FUNCTION append_to_event_log(log_topic TEXT, keys TEXT[], contents TEXT[]) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('event_log_record'), hashtext(log_topic));
  INSERT INTO event_log_record (topic, "offset", key, value)
  SELECT log_topic, log.end_offset + record.nth - 1, record.key, decode(record.content, 'base64')
  FROM unnest(keys, contents) WITH ORDINALITY AS record (key, content, nth),
    (SELECT coalesce(max("offset") + 1, 0) AS end_offset FROM event_log_record WHERE topic = log_topic) AS log;
END $$;
