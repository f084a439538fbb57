-- Postings that have a place, so that the balance of a workspace can be told as it was at any of them. The version before works on this:
-- it calls the functions by the same names.

-- The sequence of the workspace that the posting raised it to: all postings up to a sequence are the balance at that place. Those
-- from before there were places have 0. On a large table this and the index are made by hand first (docs/operations.md).
ALTER TABLE posting ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS posting_of_workspace ON posting (workspace_id, seq);
