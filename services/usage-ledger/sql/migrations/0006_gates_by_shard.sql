-- A gate for each shard: what serves a set of hash slots. A Redis that is no cluster serves them all. The version before does not
-- work on these tables: replicas of it are stopped first. Routers report anew within a second, and put back.

-- Each router as it reported last of each shard.
DELETE FROM router;
ALTER TABLE router
  ADD COLUMN shard TEXT NOT NULL,
  DROP CONSTRAINT router_pkey,
  ADD PRIMARY KEY (router_id, shard);

-- A server that gets other slots is another shard, under another mark.
DELETE FROM redis_server;
ALTER TABLE redis_server
  ADD COLUMN shard TEXT NOT NULL,
  DROP CONSTRAINT redis_server_pkey,
  ADD PRIMARY KEY (shard, redis_id);
