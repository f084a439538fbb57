-- The ledgers that read a topic of Kafka, and until when: they share its partitions. Nothing is decided by it: who records a batch is
-- decided by event_offset. Not logged, as it is written all the time and is worth nothing a few seconds later.
CREATE UNLOGGED TABLE event_reader (
  topic     TEXT        NOT NULL,
  reader_id UUID        NOT NULL,
  lapses_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (topic, reader_id)
);
