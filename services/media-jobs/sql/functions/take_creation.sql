-- Takes the creation that a call repeats, or claims the call where there is none since then. Of several, takes the one that only earlier
-- repeats have taken, and that most likely was not answered. Repeats of one body take one after the other in the whole region, and what
-- there is is asked after the lock. All of it is one statement of the service: no lock is held between a process and the database.
CREATE OR REPLACE FUNCTION take_creation(of_key TEXT, of_digest BYTEA, of_repeat INT, since INTERVAL, lives INTERVAL)
RETURNS TABLE ("creationId" TEXT, version INT, repeat INT, "jobId" TEXT, "isFree" BOOLEAN, "isMine" BOOLEAN) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(407188231, hashtext(of_key || encode(of_digest, 'hex')));
  RETURN QUERY UPDATE creation SET repeat = greatest(repeat, of_repeat) WHERE creation_id = (
    SELECT creation_id FROM creation LEFT JOIN job ON job.job_id = creation.job_id
    WHERE creation.key_id = of_key AND creation.digest = of_digest AND claimed_at > now() - since
      AND (creation.job_id IS NULL
        OR (removed_at IS NULL AND state <> 'cancelled' AND (expires_at IS NULL OR expires_at > now())))
    ORDER BY repeat < of_repeat DESC, repeat DESC, creation.job_id IS NULL DESC, claimed_at DESC LIMIT 1
  ) RETURNING creation_id::TEXT, version, repeat, job_id, job_id IS NULL AND lives_until <= now(), false;
  IF FOUND THEN
    RETURN;
  END IF;
  -- The version before this table was there makes jobs without a creation.
  RETURN QUERY INSERT INTO creation (key_id, digest, repeat, lives_until, job_id) VALUES (of_key, of_digest, of_repeat, now() + lives, (
    SELECT job_id FROM job
    WHERE key_id = of_key AND digest = of_digest AND created_at > now() - since
      AND removed_at IS NULL AND state <> 'cancelled' AND (expires_at IS NULL OR expires_at > now())
    ORDER BY created_at DESC LIMIT 1
  )) RETURNING creation_id::TEXT, version, repeat, job_id, false, job_id IS NULL;
END $$;
