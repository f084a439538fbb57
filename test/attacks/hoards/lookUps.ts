import { connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { until } from '@turnpike/test-support/until';
import { stack } from './stack.ts';

const MODEL = 'llama-3.1-8b-instruct';
/** The most requests that one address may send at once below the edge's own flood limit. */
const PIPELINED = 900;
const ROUNDS = 12;
const NO_CALL = '01890000-0000-7000-8000-000000000000';

/** Sends requests in one write from an address of its own, and gives the statuses of all answers in order. */
function pipeline(localAddress: string, requests: { path: string; apiKey: string }[]): Promise<number[]> {
  const { hostname, port } = new URL(stack.baseUrl);
  const heads = requests.map(
    ({ path, apiKey }) => `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`,
  );
  return new Promise((resolve) => {
    let text = '';
    const statuses = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    socket.setEncoding('latin1');
    socket.on('data', (data: string) => {
      text += data;
      if (data.includes('HTTP/1.1 ') && statuses().length === requests.length) socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(statuses()));
    socket.write(heads.join(''));
  });
}

async function statusOf(path: string, apiKey: string, body?: object): Promise<number> {
  const response = await fetch(`${stack.baseUrl}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  await response.text();
  return response.status;
}

const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'hello [[sim: tokens=3]]' }] };

/** Keys that no service has seen yet, of a workspace that has called before: each of their requests needs a verdict. */
async function freshKeys(): Promise<string[]> {
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '10' });
  const known = await stack.operator.makeKey(workspaceId);
  // A busy machine may give the balances of a new workspace late, with a flood or without.
  await until('a call of the workspace', async () => (await statusOf('/chat/completions', known, CHAT)) === 200);
  return Promise.all(Array.from({ length: ROUNDS }, () => stack.operator.makeKey(workspaceId)));
}

/** Returns the statuses that other keys get meanwhile. Each key sends a chat, and reads itself and its usage. */
async function callOn(keys: string[]): Promise<number[][]> {
  const statuses: number[][] = [];
  for (const apiKey of keys) {
    statuses.push([
      await statusOf('/chat/completions', apiKey, CHAT),
      await statusOf('/svc/key', apiKey),
      await statusOf('/svc/usage', apiKey),
    ]);
  }
  return statuses;
}
const ALL_SERVED = Array(ROUNDS).fill([200, 200, 200]);

/** Asserts that a flood gets responses within its limit, and 429 beyond. */
function expectBounded(flood: number[], answered: number): void {
  expect(flood).toHaveLength(PIPELINED);
  expect(new Set(flood)).toEqual(new Set([answered, 429]));
}

const repeat = (path: string, apiKey: string) => Array.from({ length: PIPELINED }, () => ({ path, apiKey }));

it.each([
  ['/v1/svc/key', 200, '127.0.0.21'],
  ['/v1/svc/usage', 200, '127.0.0.22'],
  [`/v1/svc/usage/request/${NO_CALL}`, 404, '127.0.0.23'],
])(
  '900 pipelined GET %s of a key without credit are answered up to its limit, and cost no other key a call',
  async (path, answered, address) => {
    const keys = await freshKeys();
    const poor = await stack.operator.makeKey(await stack.operator.makeWorkspace());
    const [flood, others] = await Promise.all([pipeline(address, repeat(path, poor)), callOn(keys)]);
    expect(others).toEqual(ALL_SERVED);
    expectBounded(flood, answered);
  },
);

it('three connections of three keys, 900 look-ups on each, cost no other key a call', async () => {
  const keys = await freshKeys();
  const flooding = await Promise.all([1, 2, 3].map(() => stack.operator.makeFundedKey()));
  const floods = flooding.map((apiKey, index) => pipeline(`127.0.0.${31 + index}`, repeat('/v1/svc/key', apiKey)));
  const [others, ...floodStatuses] = await Promise.all([callOn(keys), ...floods]);
  expect(others).toEqual(ALL_SERVED);
  for (const statuses of floodStatuses) expectBounded(statuses, 200);
});

it.each([
  ['/v1/svc/key', '127.0.0.41'],
  ['/v1/svc/usage', '127.0.0.42'],
  ['/v1/models', '127.0.0.43'],
])(
  '900 pipelined GET %s with keys that nobody has are no way around: few of them are asked about',
  async (path, address) => {
    const keys = await freshKeys();
    const wrong = Array.from({ length: PIPELINED }, () => ({ path, apiKey: generateApiKey() }));
    const [flood, others] = await Promise.all([pipeline(address, wrong), callOn(keys)]);
    expect(others).toEqual(ALL_SERVED);
    expectBounded(flood, 401);
  },
);
