-- A projection beside key_hour_total: the sums of a workspace's UTC days, over all calls, by model and by key. A column that is not
-- grouped by is empty.
CREATE TABLE workspace_day_total (
  workspace_id         TEXT    NOT NULL,
  grouped_by           TEXT    NOT NULL CHECK (grouped_by IN ('none', 'model', 'key')),
  day                  DATE    NOT NULL,
  canonical_model      TEXT    NOT NULL,
  modality             TEXT    NOT NULL,
  key_id               TEXT    NOT NULL,
  requests             BIGINT  NOT NULL,
  success              BIGINT  NOT NULL,
  failure              BIGINT  NOT NULL,
  unknown              BIGINT  NOT NULL,
  prompt_tokens        NUMERIC NOT NULL,
  cached_prompt_tokens NUMERIC NOT NULL,
  completion_tokens    NUMERIC NOT NULL,
  charge_nano_usd      NUMERIC NOT NULL,
  -- The sequence of the workspace after the last change of the row.
  seq                  BIGINT  NOT NULL,
  PRIMARY KEY (workspace_id, grouped_by, day, canonical_model, modality, key_id)
);

-- No hour changes between the sums of the hours that there are and the first run of a trigger.
LOCK TABLE key_hour_total IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO workspace_day_total
SELECT workspace_id, CASE WHEN grouping(key_id) = 0 THEN 'key' WHEN grouping(canonical_model) = 0 THEN 'model' ELSE 'none' END, day,
  coalesce(canonical_model, ''), coalesce(modality, ''), coalesce(key_id, ''), sum(requests), sum(success), sum(failure), sum(unknown),
  sum(prompt_tokens), sum(cached_prompt_tokens), sum(completion_tokens), sum(charge_nano_usd),
  coalesce((SELECT seq FROM workspace_total WHERE workspace_total.workspace_id = hourly.workspace_id), 0)
FROM (
  SELECT workspace_id, (hour AT TIME ZONE 'UTC')::DATE AS day, total.*
  FROM key_hour_total AS total JOIN (SELECT key_id AS id, workspace_id FROM key_total) AS key ON id = key_id
) AS hourly
GROUP BY GROUPING SETS ((workspace_id, day), (workspace_id, day, canonical_model, modality), (workspace_id, day, key_id));
CREATE TRIGGER add_days_of_new_hours AFTER INSERT ON key_hour_total REFERENCING NEW TABLE AS now
  FOR EACH STATEMENT EXECUTE FUNCTION add_to_day_totals();
CREATE TRIGGER add_days_of_changed_hours AFTER UPDATE ON key_hour_total REFERENCING OLD TABLE AS was NEW TABLE AS now
  FOR EACH STATEMENT EXECUTE FUNCTION add_to_day_totals();
