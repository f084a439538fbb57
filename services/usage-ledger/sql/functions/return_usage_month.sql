-- Puts the rows of an archived month back into usage_request, from usage_request_YYYY_MM_archived. Run by the database's owner. A month that
-- was archived by a version before gets the columns and the checks that came since (0007_media_units, 0018_call_requests).
CREATE OR REPLACE FUNCTION return_usage_month(month DATE) RETURNS VOID
  LANGUAGE plpgsql SET search_path = public, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  first_day DATE := date_trunc('month', month);
  part TEXT := 'usage_request_' || to_char(first_day, 'YYYY_MM');
  wanted RECORD;
BEGIN
  EXECUTE format('DROP TRIGGER IF EXISTS keep_archived ON %I', part || '_archived');
  EXECUTE format('ALTER TABLE %I ADD COLUMN IF NOT EXISTS units INT, ADD COLUMN IF NOT EXISTS request_id UUID,
    ADD COLUMN IF NOT EXISTS trace_id UUID', part || '_archived');
  FOR wanted IN SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
    WHERE conrelid = 'usage_request'::REGCLASS AND contype = 'c'
  LOOP
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I, ADD CONSTRAINT %2$I %s', part || '_archived', wanted.conname,
      wanted.definition);
  END LOOP;
  EXECUTE format('DROP TABLE %I', part);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', part || '_archived', part);
  EXECUTE format('ALTER TABLE usage_request ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part,
    first_call_id_at(first_day::TIMESTAMP AT TIME ZONE 'UTC'),
    first_call_id_at((first_day + INTERVAL '1 month') AT TIME ZONE 'UTC'));
  DELETE FROM archived_hour WHERE partition = first_day;
END $$;
