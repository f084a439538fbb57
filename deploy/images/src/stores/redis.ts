import { writeFileSync } from 'node:fs';
import { becomeServer, readVariable } from './becomeServer.ts';

// What the Redis image of `local` runs. The password stands in a file, as a command line shows to every process.

const CONFIG_FILE = '/data/redis.conf';
const config = [
  'bind * -::*',
  'dir /data',
  `requirepass ${readVariable('REDIS_PASSWORD')}`,
  'appendonly yes',
  'appendfsync everysec',
  'save ""',
  // What it holds is money.
  'maxmemory-policy noeviction',
];
writeFileSync(CONFIG_FILE, `${config.join('\n')}\n`, { mode: 0o600 });
becomeServer('/usr/bin/redis-server', [CONFIG_FILE]);
