-- A process that holds money for jobs, by its name in the ledger. It comes back under that name with its spool; whose time has passed
-- has its open jobs taken over.
CREATE TABLE owner (
  name TEXT PRIMARY KEY,
  lives_until TIMESTAMPTZ(3) NOT NULL
);

-- Of each workspace, when a job of it was last begun: whose turn is longest ago is next.
CREATE TABLE turn (
  workspace_id TEXT PRIMARY KEY,
  begun_at TIMESTAMPTZ NOT NULL
);

-- The row is the job: it is there before any backend hears of it, and its end, its charge and its completion event are one update of it.
CREATE TABLE job (
  job_id TEXT PRIMARY KEY CHECK (job_id ~ '^(video|job)_[0-9A-Za-z]{22}$'),
  workspace_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  operation TEXT NOT NULL CHECK (
    operation IN ('images.generations', 'videos', 'audio.speech', 'audio.transcriptions', 'audio.translations')
  ),
  modality TEXT NOT NULL CHECK (modality IN ('image', 'video', 'audio')),
  -- Canonical id.
  model TEXT NOT NULL,
  -- A synchronous call whose job no client sees: it is found again only by a retry of the call.
  is_hidden BOOLEAN NOT NULL,

  -- What was asked, without any text of the client.
  params JSONB NOT NULL,
  -- The texts, encrypted with the key that lies beside the outputs in the object store; null once they are removed.
  sealed_texts BYTEA,
  -- Of the parsed fields and files, for a client that tries again because no answer came.
  digest BYTEA NOT NULL CHECK (length(digest) = 32),
  -- Objects of uploads, removed at the job's end: [{key, bytes, type}].
  inputs JSONB NOT NULL DEFAULT '[]',

  state TEXT NOT NULL DEFAULT 'queued' CHECK (
    state IN ('queued', 'submitting', 'running', 'storing', 'completed', 'failed', 'cancelled')
  ),
  -- Each step is a compare-and-set on this, so whoever has lost a job cannot write to it.
  version INTEGER NOT NULL DEFAULT 1,
  -- When somebody has to look at the job next: while a worker has it, the end of its lease; null when nothing is left to do.
  due_at TIMESTAMPTZ(3) DEFAULT now(),
  -- Until when the job may be where it is: to begin, to be rendered, to be stored.
  deadline_at TIMESTAMPTZ(3) NOT NULL,
  progress SMALLINT NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),

  -- The latest attempt; its number is in the keys of what it stores. Those that may have rendered something count.
  attempt INTEGER NOT NULL DEFAULT 0,
  attempts_counted INTEGER NOT NULL DEFAULT 0,
  -- Committed before the backend is asked.
  replica TEXT,
  backend_id TEXT,
  sent_at TIMESTAMPTZ(3),
  begun_at TIMESTAMPTZ(3),
  -- Of a job that its backend does not know: since when.
  missing_since TIMESTAMPTZ(3),

  -- The money: what is held, by whom, and what came of it.
  owner TEXT NOT NULL,
  call_id UUID NOT NULL UNIQUE,
  hold JSONB NOT NULL,
  hold_nano_usd BIGINT NOT NULL CHECK (hold_nano_usd >= 0),
  price_version INTEGER NOT NULL,
  billing_unit TEXT NOT NULL CHECK (billing_unit IN ('image', 'second', 'character', 'minute')),
  -- USD, as the catalog of that version has it.
  unit_price TEXT NOT NULL,
  -- The most that may be charged for; what was measured, once there is something.
  units_bound INTEGER NOT NULL CHECK (units_bound > 0),
  units INTEGER CHECK (units BETWEEN 0 AND units_bound),
  charge_nano_usd BIGINT CHECK (charge_nano_usd BETWEEN 0 AND hold_nano_usd),
  -- The completion event: from the job's end until its owner has settled it, this row is its outbox.
  event JSONB,
  settled_at TIMESTAMPTZ(3),

  error_code TEXT,
  -- What was made: [{key, bytes, sha256, type, …}]; keys go with the bytes, counts and hashes stay.
  outputs JSONB NOT NULL DEFAULT '[]',

  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ended_at TIMESTAMPTZ(3),
  -- From when on clients get 404, and from when on its bytes are to be removed.
  expires_at TIMESTAMPTZ(3),
  remove_at TIMESTAMPTZ(3),
  -- The backend has nothing of it any more; inputs and then all else are removed.
  backend_cleared_at TIMESTAMPTZ(3),
  removed_at TIMESTAMPTZ(3),

  CONSTRAINT job_is_whole CHECK (
    CASE
      WHEN state IN ('queued', 'submitting', 'running', 'storing') THEN num_nonnulls(event, ended_at, charge_nano_usd, remove_at) = 0
      ELSE num_nulls(event, ended_at, charge_nano_usd, remove_at) = 0
    END
  ),
  CONSTRAINT job_failed_for_a_reason CHECK ((state = 'failed') = (error_code IS NOT NULL)),
  CONSTRAINT job_removed_is_empty CHECK (removed_at IS NULL OR sealed_texts IS NULL)
);

-- Every look goes by one of these, and none of them has a row of a job that is over and done with.
CREATE INDEX job_queued ON job (model, workspace_id, key_id, created_at, job_id) WHERE state = 'queued';
CREATE INDEX job_active_of_key ON job (key_id) WHERE state IN ('submitting', 'running', 'storing');
CREATE INDEX job_in_slot ON job (replica) WHERE state IN ('submitting', 'running');
CREATE INDEX job_due ON job (due_at) WHERE due_at IS NOT NULL AND state <> 'queued';
CREATE INDEX job_late ON job (deadline_at) WHERE state IN ('queued', 'submitting', 'running', 'storing');
CREATE INDEX job_unsettled ON job (owner) WHERE settled_at IS NULL;
-- A caller's own jobs, the newest first; and a call that is tried again.
CREATE INDEX job_of_key ON job (key_id, modality, created_at, job_id) WHERE NOT is_hidden AND removed_at IS NULL;
CREATE INDEX job_by_digest ON job (key_id, digest, created_at) WHERE removed_at IS NULL;
-- How long jobs of a model take, as of late.
CREATE INDEX job_completed ON job (model, ended_at) WHERE state = 'completed';
-- What a backend still has, for whoever looks for jobs that no row names.
CREATE INDEX job_at_backend ON job (replica, backend_id) WHERE backend_id IS NOT NULL AND backend_cleared_at IS NULL;
