#!/bin/sh
# What a Sentinel has learnt stands in its file, which outlives it.
set -eu
if [ ! -e /data/sentinel.conf ]; then
  cat >/data/sentinel.conf <<END
port 26379
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $(hostname).redis-nodes
sentinel monitor turnpike redis-0.redis-nodes 6379 2
sentinel auth-pass turnpike $REDIS_PASSWORD
sentinel down-after-milliseconds turnpike 3000
sentinel failover-timeout turnpike 30000
sentinel parallel-syncs turnpike 1
END
fi
exec redis-server /data/sentinel.conf --sentinel
