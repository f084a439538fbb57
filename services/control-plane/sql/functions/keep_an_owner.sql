-- Refuses a transaction after which an organization has no owner. The lock makes two owners who remove each other take turns.
CREATE OR REPLACE FUNCTION keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM organization WHERE organization_id = OLD.organization_id FOR NO KEY UPDATE;
  IF NOT EXISTS (SELECT 1 FROM member WHERE organization_id = OLD.organization_id AND role = 'owner') THEN
    RAISE EXCEPTION 'an organization has an owner' USING ERRCODE = 'check_violation', CONSTRAINT = 'keep_an_owner';
  END IF;
  RETURN NULL;
END $$;
