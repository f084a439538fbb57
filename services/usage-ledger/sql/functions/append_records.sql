-- Appends records to a topic of the embedded event log, one append at a time, so that a reader never sees an offset before a lower one.
-- Where the log ends is asked after the lock, in a statement of its own. `contents` are all of them in a row, cut by `lengths`: bytes
-- travel as they are where they are no elements of an array.
CREATE OR REPLACE FUNCTION append_records(log_topic TEXT, keys TEXT[], contents BYTEA, lengths INT[]) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('event_log_record'), hashtext(log_topic));
  INSERT INTO event_log_record (topic, "offset", key, value)
  SELECT log_topic, log.end_offset + record.nth - 1, record.key,
    substring(contents FROM (record.ends_at - record.length)::INT + 1 FOR record.length)
  FROM (
    SELECT key, length, nth, sum(length) OVER (ORDER BY nth) AS ends_at
    FROM unnest(keys, lengths) WITH ORDINALITY AS given (key, length, nth)
  ) AS record, (SELECT coalesce(max("offset") + 1, 0) AS end_offset FROM event_log_record WHERE topic = log_topic) AS log;
END $$;
