-- The runs of Postgres that the ledger has been used on, a row a start, and the number that current_timeline() gives for each: see there.
CREATE TABLE postgres_run (
  run    TEXT NOT NULL PRIMARY KEY,
  number INT  NOT NULL
);
