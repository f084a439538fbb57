import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { generateSigningKey, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';

const HERE = new URL('.', import.meta.url).href;
const SIGNING_KEY = generateSigningKey('us/greeter');

/** A service with one public and one internal route, which says when what it has opened is closed. */
const programOf = ({ guard = 'openGuard', open = '' } = {}) => `
  import { regionConfig } from '@turnpike/config/commonConfig';
  import { z } from 'zod';
  import { openGuard } from '${HERE}guard.ts';
  import { startService } from '${HERE}startService.ts';
  const hello = (req, res) => res.json({ hello: 'world' });
  const slow = (req, res) => {
    console.log('asked');
    setTimeout(() => {
      console.log('answers');
      hello(req, res);
    }, 300);
  };
  startService({
    name: 'greeter',
    schema: z.object({ ...regionConfig, GREETING: z.string(), TIMES: z.coerce.number() }),
    async open({ config, shutdown, internalGuard }) {
      shutdown.defer('first opened', () => console.log('first opened is closed'));
      shutdown.defer('last opened', () => console.log('last opened is closed'));
      ${open}
      return { internalGuard };
    },
    routes: ({ internalGuard }) => ({
      public: { routes: [{ method: 'get', path: '/v1/hello', guard: ${guard}, handler: hello }], toWireError: () => undefined },
      internal: {
        routes: [
          { method: 'get', path: '/internal/hello', guard: internalGuard, handler: hello },
          { method: 'get', path: '/internal/slow', guard: openGuard, handler: slow },
        ],
        toWireError: () => undefined,
      },
      readinessChecks: {},
    }),
  });
`;

interface Run {
  child: ChildProcess;
  publicUrl: string;
  internalUrl: string;
  /** Resolves when it serves, or has ended. */
  settled: Promise<unknown>;
  ended: Promise<{ code: number | null; output: string }>;
}

async function start(program: string, env: Record<string, string> = {}): Promise<Run> {
  const [port, internalPort] = [await findFreePort(), await findFreePort()];
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: new URL('..', import.meta.url),
    env: {
      REGION: 'us',
      PORT: String(port),
      INTERNAL_PORT: String(internalPort),
      INTERNAL_SIGNING_KEY: SIGNING_KEY,
      INTERNAL_PUBLIC_KEYS: toPublicKey(SIGNING_KEY),
      DRAIN_SETTLE_MS: '0',
      GREETING: 'hello',
      TIMES: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'close').then(([code]) => ({ code, output }));
  return {
    child,
    publicUrl: `http://127.0.0.1:${port}`,
    internalUrl: `http://127.0.0.1:${internalPort}`,
    settled: Promise.race([once(child, 'message'), ended]),
    ended,
  };
}

/** Returns a program's output without its log lines, because the order of two streams is undefined. */
const withoutLog = (output: string): string => output.replace(/^\{.*\}\n/gm, '');

it('serves its routes, each behind its guard, and health, readiness and metrics beside the internal ones alone', async () => {
  const { child, publicUrl, internalUrl, settled, ended } = await start(programOf());
  await settled;
  const statusOf = async (url: string, headers: Record<string, string> = {}) => (await fetch(url, { headers })).status;
  const issue = createTokenIssuer({ key: signingKeySchema.parse(SIGNING_KEY) });
  const asFleet = await issue('greeter', 'GET /internal/hello');
  try {
    expect(await statusOf(`${publicUrl}/v1/hello`)).toBe(200);
    expect(await statusOf(`${internalUrl}/internal/hello`)).toBe(401);
    expect(await statusOf(`${internalUrl}/internal/hello`, asFleet)).toBe(200);
    for (const path of ['/health', '/ready', '/metrics']) {
      expect(await statusOf(internalUrl + path)).toBe(200);
      expect(await statusOf(publicUrl + path)).toBe(404);
    }
  } finally {
    child.kill('SIGTERM');
  }
  const { code, output } = await ended;
  expect(code).toBe(0);
  expect(withoutLog(output)).toMatch(/last opened is closed\nfirst opened is closed\n$/);
});

it('measures which build it is, by its version and commit', async () => {
  const { child, internalUrl, settled } = await start(programOf(), { BUILD_VERSION: '1.4.0', BUILD_REVISION: 'abc' });
  await settled;
  try {
    const samples = await scrapeMetrics(`${internalUrl}/metrics`);
    expect(samples.get('turnpike_build_info{version="1.4.0",revision="abc"}')).toBe(1);
  } finally {
    child.kill('SIGTERM');
  }
});

it('told to stop, answers what it was asked, and closes what it has opened after that', async () => {
  const { child, internalUrl, settled, ended } = await start(programOf());
  await settled;
  const asked = new Promise<void>((resolve) => {
    child.stdout?.on('data', (text) => String(text).includes('asked') && resolve());
  });
  const answer = fetch(`${internalUrl}/internal/slow`);
  await asked;
  child.kill('SIGTERM');
  expect((await answer).status).toBe(200);
  const { code, output } = await ended;
  expect(code).toBe(0);
  expect(withoutLog(output)).toMatch(/asked\nanswers\nlast opened is closed\nfirst opened is closed\n$/);
});

it.each([
  ['waits for what it opens', 'await new Promise(() => {});'],
  [
    'opens what is closed under it',
    `shutdown.defer('slow', () => new Promise((resolve) => setTimeout(resolve, 200)));
     await new Promise((_, reject) => process.once('SIGTERM', () => reject(new Error('closed'))));`,
  ],
  [
    'comes to the end of that',
    `shutdown.defer('slow', () => new Promise((resolve) => setTimeout(resolve, 200)));
     await new Promise((resolve) => process.once('SIGTERM', resolve));`,
  ],
])('told to stop while it %s, closes what is open and ends', async (_when, open) => {
  const { child, ended } = await start(programOf({ open: `console.log('waiting'); ${open}` }));
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (text) => String(text).includes('waiting') && resolve());
  });
  child.kill('SIGTERM');
  const { code, output } = await ended;
  expect(code).toBe(0);
  expect(withoutLog(output)).toMatch(/^waiting\nlast opened is closed\nfirst opened is closed\n$/);
  expect(output).not.toMatch(/greeter listens|^closed$/m);
});

it.each([
  ['a variable is wrong', programOf(), { TIMES: 'many', PORT: '0' }, /greeter cannot start[\s\S]*PORT: [\s\S]*TIMES: /],
  ['a route names no guard', programOf({ guard: 'undefined' }), {}, /^route GET \/v1\/hello names no guard\n$/],
  [
    'something cannot be opened',
    programOf({ open: "throw new Error('the database is away');" }),
    {},
    /^the database is away\n$/,
  ],
])('ends with code 1 and what is wrong where %s', async (_case, program, env, words) => {
  const { ended } = await start(program, env);
  const { code, output } = await ended;
  expect(output).toMatch(words);
  expect(code).toBe(1);
});

it('does not start with the key of another service', async () => {
  const { ended } = await start(programOf(), { INTERNAL_SIGNING_KEY: generateSigningKey('eu/greeter') });
  expect(await ended).toMatchObject({
    code: 1,
    output: expect.stringContaining('INTERNAL_SIGNING_KEY is of eu/greeter, not of us/greeter'),
  });
});
