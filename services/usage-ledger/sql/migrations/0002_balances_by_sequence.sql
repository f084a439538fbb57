-- Balances by a sequence for each workspace, in place of epochs of Redis for all. The version before does not work on these
-- tables: replicas of it are stopped first.

-- `seq` rises by one with every transaction that changes a sum of the workspace, in the order of their commits, as the row is
-- locked from then on. So of two states of a workspace's sums the one of the higher number is the later, and contains the other.
LOCK TABLE credit IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE workspace_total
  ADD COLUMN seq               BIGINT  NOT NULL DEFAULT 0,
  ADD COLUMN credited_nano_usd NUMERIC NOT NULL DEFAULT 0;
INSERT INTO workspace_total AS total (workspace_id, charge_nano_usd, credited_nano_usd, seq)
  SELECT workspace_id, 0, sum(amount_nano_usd), 1 FROM credit GROUP BY 1
  ON CONFLICT (workspace_id) DO UPDATE SET credited_nano_usd = excluded.credited_nano_usd;
-- Of what was recorded before there were numbers, too: a workspace with sums is never at none.
UPDATE workspace_total SET seq = 1 WHERE seq = 0;

DROP TABLE redis_epoch;

-- The routers, each as it reported last: which Redis it sees, and under which mark it has put its pending calls back there.
DROP TABLE router;
CREATE TABLE router (
  -- Lies in the router's spool folder, so that one which comes back is the same one.
  router_id     TEXT        NOT NULL PRIMARY KEY,
  heard_at      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  redis_id      TEXT,
  put_back_mark UUID
);

-- Every Redis that routers have seen, by its replication id: one that restarted or was promoted is another one. What is loaded
-- there carries the mark; one that was emptied gets a new mark.
CREATE TABLE redis_server (
  redis_id  TEXT        NOT NULL PRIMARY KEY,
  mark      UUID        NOT NULL DEFAULT gen_random_uuid(),
  -- Since when the routers are waited for.
  raised_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  -- Null while nobody is admitted there.
  opened_at TIMESTAMPTZ,
  seen_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE recovery (
  is_only         BOOLEAN     NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
  -- A recent report of any router, and since when reports have come without a gap: before, nobody could be heard.
  heard_at        TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  listening_since TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  -- Of this database, when it had last read the event log as far as it went when that timeline began. On another one it may have
  -- lost commits, and gives no balances until then; null before it ever gave any.
  timeline        INT
);
INSERT INTO recovery DEFAULT VALUES;
