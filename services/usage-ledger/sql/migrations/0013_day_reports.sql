-- The report of days to the account layer: one row. The epoch is the life of this database, and another one if it was restored.
CREATE TABLE day_report_state (
  only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
  epoch UUID NOT NULL DEFAULT gen_random_uuid(),
  -- The epoch of the account database that has the reported days. Null before the first report.
  account_epoch TEXT
);
INSERT INTO day_report_state DEFAULT VALUES;

-- The last reported day of a workspace, in the order of (seq, day).
CREATE TABLE day_report (
  workspace_id TEXT PRIMARY KEY,
  seq BIGINT NOT NULL,
  day DATE NOT NULL
);
CREATE INDEX workspace_day_total_by_seq ON workspace_day_total (workspace_id, seq, day) WHERE grouped_by = 'none';
