import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { sendTarget } from './sendRaw.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** Not addresses that any parser takes, and written as only these requests write them. */
const BROKEN_TARGETS = ['http://[::/v1/models?canary-of-a-target', '//a@b:99x/#canary-of-another'];

it('a target that is no address is 404, and nothing the process writes repeats it', async () => {
  const port = await findFreePort();
  const env = {
    REGION: 'us',
    PORT: String(port),
    INTERNAL_PORT: String(await findFreePort()),
    INTERNAL_TOKEN_KEYS: `k1:${'s'.repeat(32)}`,
    TRUSTED_HOPS: '0',
    DRAIN_SETTLE_MS: '0',
    // Nobody is asked.
    AUTH_URL: 'http://127.0.0.1:1',
    CATALOG_URL: 'http://127.0.0.1:1',
    ROUTER_URL: 'http://127.0.0.1:1',
    LEDGER_URL: 'http://127.0.0.1:1',
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const closed = once(child, 'close');
  await Promise.race([once(child, 'message'), closed]);
  try {
    for (const target of BROKEN_TARGETS) {
      const { status, body } = await sendTarget(port, { target });
      expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  } finally {
    child.kill('SIGTERM');
    await closed;
  }

  expect(output).toContain('edge listens');
  expect(output).not.toContain('canary');
});
