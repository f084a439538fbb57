-- Makes the partition of a UTC month unless it exists. The service needs no right to make tables: its owner makes exactly these,
-- within the years that a call can lie in. Attached rather than created in place, which would lock out readers.
CREATE OR REPLACE FUNCTION ensure_usage_partition(month DATE) RETURNS VOID
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  first_day DATE := date_trunc('month', month);
  partition_name TEXT := 'usage_request_' || to_char(first_day, 'YYYY_MM');
BEGIN
  IF to_regclass(partition_name) IS NOT NULL THEN RETURN; END IF;
  IF first_day < DATE '2025-01-01' OR first_day > now() + INTERVAL '1 year' THEN
    RAISE EXCEPTION 'no partition for the month of %: it lies before 2025 or more than a year ahead', month;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ensure_usage_partition'));
  -- Looked up anew: the answer of to_regclass may be remembered from before the wait.
  IF EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
             WHERE inhparent = 'usage_request'::REGCLASS AND relname = partition_name) THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE usage_request INCLUDING ALL)', partition_name);
  EXECUTE format(
    'ALTER TABLE usage_request ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
    partition_name,
    first_call_id_at(first_day::TIMESTAMP AT TIME ZONE 'UTC'),
    first_call_id_at((first_day + INTERVAL '1 month') AT TIME ZONE 'UTC'));
END $$;
