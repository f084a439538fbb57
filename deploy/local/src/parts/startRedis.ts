import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';

const PING_TIMEOUT_MS = 5_000;

export interface RedisOptions {
  parts: Parts;
  dataDir: string;
  /** Whether the data may be lost with the machine. */
  isScratch: boolean;
  port: number;
  password: string;
}

/**
 * Starts a private Redis on loopback whose append-only file is kept in `dataDir`, and resolves when it answers.
 * Nothing is ever evicted: what it holds is money.
 */
export async function startRedis({ parts, dataDir, isScratch, port, password }: RedisOptions): Promise<Part> {
  await mkdir(dataDir, { recursive: true });
  // In a file of the owner alone, as a command line shows to every user of the machine.
  const configFile = join(dataDir, 'redis.conf');
  const config = [
    `bind 127.0.0.1`,
    `port ${port}`,
    `dir ${JSON.stringify(dataDir)}`,
    `requirepass ${password}`,
    'appendonly yes',
    `appendfsync ${isScratch ? 'no' : 'everysec'}`,
    'save ""',
    'maxmemory-policy noeviction',
  ];
  await writeFile(configFile, `${config.join('\n')}\n`, { mode: 0o600 });
  const part = parts.start({
    name: 'redis',
    command: 'redis-server',
    args: [configFile],
  });
  await parts.untilReady(part, () => answersPing(port, password));
  return part;
}

/** Returns whether Redis answers PONG. It answers LOADING until its append-only file is read. */
function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: PING_TIMEOUT_MS });
    let answer = '';
    const end = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      if (answer.includes('+PONG')) end(true);
      else if (answer.includes('-LOADING') || answer.includes('-ERR')) end(false);
    });
    socket.on('timeout', () => end(false));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });
}
