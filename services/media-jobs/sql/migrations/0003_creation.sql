-- A call that makes a job, from before it is admitted: a repeat of the call takes the job, waits for it, or makes it.
CREATE TABLE creation (
  creation_id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  key_id TEXT NOT NULL,
  digest BYTEA NOT NULL CHECK (length(digest) = 32),
  -- The latest repeat of the call that has taken this; 0 for none.
  repeat INTEGER NOT NULL,
  -- A claim names this version: a process whose claim was ended, or has lapsed and was taken over, makes no job.
  version INTEGER NOT NULL DEFAULT 1,
  claimed_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  lives_until TIMESTAMPTZ(3) NOT NULL,
  -- Set by the statement that inserts the job.
  job_id TEXT
);
CREATE INDEX creation_of_call ON creation (key_id, digest, claimed_at);
CREATE INDEX creation_by_age ON creation (claimed_at);
