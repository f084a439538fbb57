-- One clip of a backend, one job. Clips that two jobs name already are neither's: their jobs look for them in vain and begin anew, and
-- the backend's are removed as orphans.
UPDATE job SET backend_id = NULL, version = version + 1
WHERE backend_id IS NOT NULL AND backend_cleared_at IS NULL AND (replica, backend_id) IN (
  SELECT replica, backend_id FROM job WHERE backend_id IS NOT NULL AND backend_cleared_at IS NULL
  GROUP BY replica, backend_id HAVING count(*) > 1
);
DROP INDEX job_at_backend;
CREATE UNIQUE INDEX job_at_backend ON job (replica, backend_id) WHERE backend_id IS NOT NULL AND backend_cleared_at IS NULL;
