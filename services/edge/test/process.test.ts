import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { sendTarget } from './sendRaw.ts';

const fleet = aFleet();
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** Targets that no parser accepts, with a marker that only these requests have. */
const BROKEN_TARGETS = ['http://[::/v1/models?canary-of-a-target', '//a@b:99x/#canary-of-another'];

/** Runs the edge as a process of its own, and returns all that it wrote. */
async function withProcess(
  run: (port: number, consolePort: number) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<string> {
  const port = await findFreePort();
  const consolePort = await findFreePort();
  const env = {
    REGION: 'us',
    PORT: String(port),
    INTERNAL_PORT: String(await findFreePort()),
    INTERNAL_SIGNING_KEY: fleet.signingKeys.edge ?? '',
    INTERNAL_PUBLIC_KEYS: fleet.publicKeysText,
    CONSOLE_PORT: String(consolePort),
    CONSOLE_ALLOWED_ORIGIN: 'https://console.example',
    AUTH_INTERNAL_URL: 'http://127.0.0.1:1',
    CATALOG_INTERNAL_URL: 'http://127.0.0.1:1',
    LEDGER_INTERNAL_URL: 'http://127.0.0.1:1',
    MEDIA_INTERNAL_URL: 'http://127.0.0.1:1',
    TRUSTED_HOPS: '0',
    DRAIN_SETTLE_MS: '0',
    // No test calls these addresses.
    AUTH_URL: 'http://127.0.0.1:1',
    CATALOG_URL: 'http://127.0.0.1:1',
    ROUTER_URL: 'http://127.0.0.1:1',
    LEDGER_URL: 'http://127.0.0.1:1',
    MEDIA_URL: 'http://127.0.0.1:1',
    REDIS_URL: 'redis://127.0.0.1:1',
    ...settings,
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const closed = once(child, 'close');
  await Promise.race([once(child, 'message'), closed]);
  try {
    await run(port, consolePort);
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
  return output;
}

it('a target that is no address is 404, and nothing the process writes repeats it', async () => {
  const output = await withProcess(async (port) => {
    for (const target of BROKEN_TARGETS) {
      const { status, body } = await sendTarget(port, { target });
      expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });

  expect(output).toContain('edge listens');
  expect(output).not.toContain('canary');
});

it('clients that ask for a tunnel and are gone before they are answered do not end the process', async () => {
  const output = await withProcess(async (port) => {
    for (let client = 0; client < 200; client += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
      await new Promise(setImmediate);
      socket.resetAndDestroy();
      await once(socket, 'close');
    }
    expect(await sendTarget(port, { target: '/' })).toMatchObject({ status: 404 });
  });

  expect(output).not.toContain('Unhandled');
});

it.each(['API', 'console'])('a flood of the host of the %s takes nothing from the other host', async (flooded) => {
  const burst = 3;
  await withProcess(
    async (port, consolePort) => {
      const [first, second] = flooded === 'API' ? [port, consolePort] : [consolePort, port];
      const statuses = async (at: number, count: number) => {
        const seen: number[] = [];
        for (let request = 0; request < count; request += 1) seen.push((await sendTarget(at, { target: '/' })).status);
        return seen;
      };
      expect((await statuses(first, burst + 2)).slice(burst)).toEqual([429, 429]);
      expect(await statuses(second, burst)).not.toContain(429);
    },
    { LIMITS: JSON.stringify({ FLOOD_REQUESTS_PER_MINUTE: 1, FLOOD_BURST: burst }) },
  );
});
