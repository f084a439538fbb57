import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import { goReleases, streamByGo } from './go/streamByGo.ts';
import { aiSdkClient } from './npm/aiSdkClient.ts';
import { langchainClient } from './npm/langchainClient.ts';
import { pythonClients } from './python/pythonClients.ts';
import { SLOW_ANSWER, SLOW_CHAT, streamSlowly } from './streamSlowly.ts';

// Client libraries besides openai, which conformance/wire/streams.ts has, read streams that begin with comments.

const isGoHere = process.env.TURNPIKE_TEST_GO === 'available';
const isPythonHere = process.env.TURNPIKE_TEST_PYTHON !== undefined;
const clients = [aiSdkClient, langchainClient, ...(isPythonHere ? pythonClients : [])];

let stack: TestStack;
beforeAll(async () => {
  const settings = { LIMITS: { HEADERS_AFTER_MS: 1_000, KEEP_ALIVE_MS: 150 } };
  stack = await startTestStack({ kafka: false, serviceSettings: { 'model-router': settings } });
}, 120_000);
afterAll(async () => {
  await Promise.all([stack?.stop(), ...clients.map((client) => client.close?.())]);
}, 60_000);

it.each(clients)(
  '$name reads a stream that begins with comments',
  async (client) => {
    await client.open?.();
    expect(await streamSlowly(client, stack)).toEqual(SLOW_ANSWER);
  },
  180_000,
);

(isGoHere ? it : it.skip).each(goReleases)(
  '%s reads a stream that begins with comments',
  async (release) => {
    expect(await streamByGo(release, stack, SLOW_CHAT)).toEqual(SLOW_ANSWER);
  },
  180_000,
);
