import { writeFileSync } from 'node:fs';
import { becomeServer, readVariable } from './becomeServer.ts';

// Start script of the Redis image of `local`. The password is in a file, because every process can read a command line.

const CONFIG_FILE = '/data/redis.conf';
const config = [
  'bind * -::*',
  'dir /data',
  `requirepass ${readVariable('REDIS_PASSWORD')}`,
  'appendonly yes',
  'appendfsync everysec',
  'save ""',
  // Redis holds money.
  'maxmemory-policy noeviction',
];
writeFileSync(CONFIG_FILE, `${config.join('\n')}\n`, { mode: 0o600 });
becomeServer('/usr/bin/redis-server', [CONFIG_FILE]);
