-- Which Redis the gate counts in, and who counts with it. A Redis that restarted or was promoted is another one: the epoch is
-- raised, and its balances are built anew (see src/epoch).
CREATE TABLE redis_epoch (
  is_only         BOOLEAN     NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
  number          INT         NOT NULL CHECK (number >= 0),
  redis_id        TEXT        NOT NULL,
  phase           TEXT        NOT NULL CHECK (phase IN ('draining', 'asserting', 'open')),
  -- The last report of any router, and since when reports have come without a gap.
  heard_at        TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  listening_since TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
-- No Redis yet: the first router that reports raises it.
INSERT INTO redis_epoch (number, redis_id, phase) VALUES (0, '', 'open');

CREATE TABLE router (
  -- Lies in the router's spool folder, so that one which comes back is the same one.
  router_id      TEXT        NOT NULL PRIMARY KEY,
  process_id     TEXT        NOT NULL,
  heard_at       TIMESTAMPTZ NOT NULL,
  is_expired     BOOLEAN     NOT NULL,
  drained_epoch  INT,
  drained_at     TIMESTAMPTZ,
  asserted_epoch INT
);
