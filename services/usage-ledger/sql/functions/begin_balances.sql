-- Does nothing. A trigger of the first migration names it, on a table that the second one drops.
CREATE OR REPLACE FUNCTION begin_balances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NEW;
END $$;
