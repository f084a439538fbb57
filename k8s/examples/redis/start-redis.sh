#!/bin/sh
# Joins the primary that the Sentinels name, and waits until one does: which of three copies has the latest writes, only they know.
# At the first start of all they name the first pod.
set -eu
self="$(hostname).redis-nodes"
primary=''
while [ -z "$primary" ]; do
  primary=$(redis-cli -h redis-sentinels -p 26379 sentinel get-master-addr-by-name turnpike 2>/dev/null | head -n 1 || true)
  [ -n "$primary" ] || sleep 1
done
set -- --dir /data --requirepass "$REDIS_PASSWORD" --masterauth "$REDIS_PASSWORD" \
  --appendonly yes --appendfsync everysec --save '' --maxmemory-policy noeviction \
  --min-replicas-to-write 1 --min-replicas-max-lag 5 \
  --replica-announce-ip "$self" --repl-backlog-size 64mb
if [ "$primary" != "$self" ]; then set -- "$@" --replicaof "$primary" 6379; fi
exec redis-server "$@"
