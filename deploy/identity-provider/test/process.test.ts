import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { signInAt } from '@turnpike/test-support/signInAt';
import { until } from '@turnpike/test-support/until';

const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const CLIENT = { client_id: 'a', client_secret: 'x'.repeat(32), redirect_uris: ['http://localhost:1/back'] };

function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return { child, ended: once(child, 'close').then(([code]) => code as number), output: () => output };
}

it('serves its issuer, writes log lines alone, and ends on SIGTERM', async () => {
  const port = await findFreePort();
  const { child, ended, output } = start({ PORT: String(port), CLIENTS: JSON.stringify([CLIENT]) });
  await until('the issuer', () => output().includes(`http://localhost:${port}`));

  const url = new URL(
    `http://localhost:${port}/auth?client_id=a&response_type=code&scope=openid&code_challenge_method=S256`,
  );
  url.searchParams.set('redirect_uri', 'http://localhost:1/back');
  url.searchParams.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  expect((await signInAt(url, { user: 'ada' })).searchParams.has('code')).toBe(true);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(
    output()
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":"info"')),
  ).toEqual([]);
  expect(output()).toContain('"user":"ada"');
});

it.each([
  ['no JSON', '[', 'CLIENTS: must be a JSON list of clients'],
  ['no client', '[]', 'CLIENTS: '],
  ['a short secret', JSON.stringify([{ ...CLIENT, client_secret: 'short' }]), 'CLIENTS.0.client_secret: '],
])('does not start with %s', async (_case, clients, problem) => {
  const { ended, output } = start({ PORT: '26091', CLIENTS: clients });
  expect(await ended).toBe(1);
  expect(output()).toContain(problem);
});
