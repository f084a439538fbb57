-- Counts the keys of the last day without reading all that a workspace ever had.
DROP INDEX api_key_of_workspace;
CREATE INDEX api_key_of_workspace ON api_key (workspace_id, created_at);
