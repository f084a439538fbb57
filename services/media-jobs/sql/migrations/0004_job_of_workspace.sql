-- The jobs of a workspace, the newest first, for its members.
CREATE INDEX IF NOT EXISTS job_of_workspace ON job (workspace_id, created_at, job_id) WHERE NOT is_hidden;
