-- What has been recorded stays: the one change allowed is that an unknown outcome becomes known.
CREATE OR REPLACE FUNCTION keep_usage_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.status = 'unknown' AND NEW.status IN ('success', 'failure')
       AND (NEW.call_id, NEW.key_id, NEW.workspace_id) = (OLD.call_id, OLD.key_id, OLD.workspace_id) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'usage_request is append-only: % of a recorded call refused', TG_OP;
END $$;
