import { rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createCachingAuthenticator } from '@turnpike/authentication/createCachingAuthenticator';
import type { KeyPrincipal } from '@turnpike/authentication/keyGuard';
import { parseUsageRecorded } from '@turnpike/events/usageRecorded';
import { type EndedCall, PendingCalls } from '@turnpike/holds/call/pendingCalls';
import type { Recorder } from '@turnpike/holds/call/recordCalls';
import { createSetBackGeneration } from '@turnpike/holds/gate/keyGeneration';
import { Settler } from '@turnpike/holds/holds';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import type { ShardHolds } from '@turnpike/holds/shardHolds';
import { Spool } from '@turnpike/holds/spool/spool';
import { aShardHolds } from '@turnpike/holds/test/aShardHolds';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { createKeyAllowance, type KeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import { noMetrics, noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { answerDependencies, CHAT_OPERATION } from '../../test/aCall.ts';
import { anEngine } from '../../test/anEngine.ts';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { anHttpEngine } from '../../test/anHttpEngine.ts';
import { aCatalog } from '../../test/aPricedModel.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import { createToWireError } from '../api/inferenceError.ts';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import { OpenCalls } from '../money/call/openCalls.ts';
import { createInference, type InferenceDependencies } from './createInference.ts';
import { createTokenCount } from './createTokenCount.ts';

const log = aSilentLogger();
const notAsked = async (): Promise<never> => {
  throw new Error('nobody should have asked');
};

const WITH_IMAGE = { role: 'user', content: [{ type: 'image_url', image_url: 'https://images.example/1' }] };
const { assertMayCall } = createCachingAuthenticator({ region: 'us', cacheTtlMs: 1, findKey: notAsked });

const noAllowance = { check: () => undefined, take: () => () => undefined };

let opened: OpenedRedis;
let dir: string;
let spool: Spool;
let recorded: EndedCall[];
let settler: Settler;
let holds: ShardHolds;
let openCalls: OpenCalls;
let key: KeyRecord;
/** The record that auth gives. The same unless set. */
let newerKey: KeyRecord | undefined;
let server: Server;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  dir = await aTemporaryFolder();
  ({ spool } = await Spool.open({ dir, maxBytes: 1_000_000, log, idOf: (json) => parseUsageRecorded(json).callId }));
  recorded = [];
  const pending = new PendingCalls();
  const recorder: Pick<Recorder, 'add'> = { add: (ended) => void recorded.push(ended) };
  holds = aShardHolds(opened, { pending, log });
  settler = new Settler({ shardOf: () => holds, pending, recorder, spool, log });
  openCalls = new OpenCalls({ holds: settler, metrics: noMetrics, log });
  key = aKeyRecord();
  newerKey = undefined;
  await opened.credit(key.workspace.workspaceId, 10n ** 12n);
  await opened.loadKey(key.workspace.workspaceId, key.keyId);
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await settler.close();
  await spool.close();
  await rm(dir, { recursive: true });
});

/** Serves chat with these engines; resolves with the base address. */
function serveChat(
  engines: Pick<EngineRegistry, 'findEngines'>,
  {
    bodies = createBodyMemory(1_000_000),
    refusedBodies = noAllowance as KeyAllowance,
    tokenCounts = noAllowance as KeyAllowance,
  } = {},
): Promise<string> {
  const dependencies: InferenceDependencies = {
    authenticator: { authenticate: async () => newerKey ?? key, forget: () => {}, assertMayCall },
    catalog: { current: aCatalog({}), close: async () => {} },
    money: { openCalls, spool },
    fleet: { cacheSaltOf: () => 'salt' },
    region: 'us',
    answers: {
      bodies,
      refusedBodies,
      tokenCounts,
      admission: {
        setBackGeneration: createSetBackGeneration(opened.redis),
        holds,
        absorber: { load: notAsked, refresh: notAsked },
        authenticator: { forget: () => {} },
        countPromptTokens: async () => undefined,
        refusedCounts: noAllowance,
        shards: { of: () => opened },
        metrics: noMetrics,
        log,
      },
      dependencies: answerDependencies({ engines: anEngineRegistry(undefined, engines), queue: anEngineQueue() }),
    },
    log,
  };
  const app = createHttpApp({
    log,
    telemetry: noTelemetry,
    toWireError: createToWireError({ keysPageUrl: 'https://dashboard.example/keys' }),
    routes: [
      {
        method: 'post',
        path: '/chat',
        guard: () => ({ kind: 'key', keyId: key.keyId, key }) satisfies KeyPrincipal,
        handler: createInference(CHAT_OPERATION, dependencies),
      },
      {
        method: 'post',
        path: '/count',
        guard: () => ({ kind: 'key', keyId: key.keyId, key }) satisfies KeyPrincipal,
        handler: createTokenCount(dependencies),
      },
    ],
  });
  server = createServer(app);
  return listenAnywhere(server);
}

it.each([false, true])(
  'asks no client to repeat a call that failed for a reason nobody foresaw, and releases its hold, stream: %s',
  async (stream) => {
    let lookUps = 0;
    const url = await serveChat({
      findEngines() {
        lookUps += 1;
        if (lookUps > 1) throw new Error('a mistake of ours at 10.0.0.7');
        return [anEngine('engine-1')];
      },
    });
    const body = JSON.stringify({ model: 'small-chat', stream, messages: [{ role: 'user', content: 'Hello' }] });

    const response = await fetch(`${url}/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });

    expect([response.status, response.headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect(await response.json()).toEqual({
      error: {
        message: expect.not.stringContaining('10.0.0.7'),
        type: 'server_error',
        param: null,
        code: 'internal_error',
      },
    });
    expect(recorded.map(({ event }) => event)).toMatchObject([
      {
        callId: response.headers.get('x-router-call-id'),
        status: 'failure',
        reason: 'unforeseen',
        chargeNanoUsd: 0n,
      },
    ]);
    const { workspaceId } = key.workspace;
    await until('the hold is released', async () => (await opened.walletOf(workspaceId)).held === 0n);
    expect((await opened.walletOf(workspaceId)).ended).toBe(0n);
  },
);

it('has who asks go on by another connection where it admits no call, which another router may', async () => {
  const url = await serveChat({ findEngines: () => [anEngine('engine-1')] });
  const body = JSON.stringify({ model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }] });
  const ask = () => fetch(`${url}/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  opened.sessionState.close();
  const refused = await ask();
  expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close']);
  opened.sessionState.open();
});

it('counts the memory of a body until the engine has finished, though the client of a whole answer is gone', async () => {
  const body = JSON.stringify({ model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }] });
  // One key gets half of this memory.
  const bodies = createBodyMemory(body.length * 2);
  const isFree = (): boolean => {
    const room = bodies.open(key.keyId);
    const hasRoom = room.take(1);
    room.close();
    return hasRoom;
  };
  let answer: ServerResponse | undefined;
  const engine = await anHttpEngine('engine-1', (res) => {
    answer = res;
  });
  const url = await serveChat({ findEngines: () => [engine.engine] }, { bodies });
  const leaving = new AbortController();
  const { signal } = leaving;
  const headers = { 'content-type': 'application/json' };
  try {
    const gone = expect(fetch(`${url}/chat`, { method: 'POST', headers, body, signal })).rejects.toThrow();
    await until('the engine is at work', () => answer !== undefined);

    leaving.abort();
    await gone;
    await until('the router has noticed', async () => (await countConnections()) === 0);
    expect(isFree()).toBe(false);

    answer?.end('{}');
    await until('the call is over', isFree);
  } finally {
    await engine.close();
  }
});

it('refuses a model that a newer record of the key does not allow, and holds nothing', async () => {
  const engine = await anHttpEngine('engine-1', (res) => void res.end('{}'));
  const url = await serveChat({ findEngines: () => [engine.engine] });
  const { keyId, workspace } = key;
  key = { ...key, allowedModels: ['small-chat'] };
  await opened.redis.hset(redisKeys.key(workspace.workspaceId, keyId), 'generation', key.generation + 1);
  newerKey = { ...key, generation: key.generation + 1, allowedModels: ['other-chat'] };
  try {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }] });
    const answer = await fetch(`${url}/chat`, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: 'model_not_allowed' } }]);
    expect(await opened.redis.hget(redisKeys.key(workspace.workspaceId, keyId), 'held')).toBe('0');
  } finally {
    await engine.close();
  }
});

/** An allowance of 1,000 bytes, full again after 10 s of its clock. */
function anAllowance() {
  const clock = { ms: 0 };
  const nowMs = () => clock.ms;
  const sizes = { capacity: 1_000, refillMs: 10_000, least: 0 };
  return { clock, refusedBodies: createKeyAllowance({ bound: 'refused_bodies', ...sizes, nowMs }) };
}

describe('a key of whose bodies too much was refused', () => {
  const good = { model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }] };
  const note = 'x'.repeat(500);
  it.each<[string, number, object, Partial<KeyRecord>]>([
    ['as malformed', 400, { ...good, temperature: note }, {}],
    ['for a model that there is not', 404, { ...good, model: 'nobody-has-this', note }, {}],
    ['for a model that it may not call', 403, { ...good, note }, { allowedModels: ['other-chat'] }],
    ['for something that its model cannot do', 400, { ...good, note, messages: [WITH_IMAGE] }, {}],
    ['for want of credit', 402, { ...good, note, max_tokens: 5 }, { maxBudgetNanoUsd: 0n }],
  ])('%s has no other read until there is more', async (_case, status, refused, limits) => {
    const { clock, refusedBodies } = anAllowance();
    const engine = await anHttpEngine('engine-1', (res) => void res.end('{}'));
    const url = await serveChat({ findEngines: () => [engine.engine] }, { refusedBodies });
    const post = async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/chat`, { method: 'POST', headers, body: JSON.stringify(body) });
      const { error } = (await answer.json()) as { error?: { message: string } };
      const isBucket = error?.message.startsWith('Too much of what this key sends is refused') ?? false;
      return { status: answer.status, isBucket, retryAfter: answer.headers.get('retry-after') };
    };
    const able = key;
    try {
      for (let time = 0; time < 2; time += 1) {
        key = able;
        expect(await post(good)).toMatchObject({ status: 500 });
        key = { ...able, ...limits };
        expect(await post(refused)).toMatchObject({ status, isBucket: false });
      }
      key = able;
      expect(await post(good)).toEqual({
        status: 429,
        isBucket: true,
        retryAfter: expect.stringMatching(/^[1-9]\d*$/),
      });
      clock.ms = 10_000;
      expect(await post(good)).toMatchObject({ status: 500 });
    } finally {
      await engine.close();
    }
  });
});

it.each(['/count', '/chat'])('%s reads no body of a key of whose bodies too much was refused', async (path) => {
  const { clock, refusedBodies } = anAllowance();
  const url = await serveChat({ findEngines: () => [] }, { refusedBodies });
  const post = async (messages: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'small-chat', messages });
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body })).status;
  };
  const good = [{ role: 'user', content: 'Hello' }];
  expect([await post(good), await post('x'.repeat(600)), await post('x'.repeat(600))]).toEqual([404, 400, 400]);
  expect(await post(good)).toBe(429);
  clock.ms = 10_000;
  expect(await post(good)).toBe(404);
});

it('/count is a 429 of the key that says when once its counts of the minute are used up, which its calls do not see', async () => {
  const tokenCounts = createKeyAllowance({
    bound: 'token_counts',
    capacity: 10,
    refillMs: 10_000,
    least: 0,
    nowMs: () => 0,
  });
  const engine = await anHttpEngine('engine-1', (res) => void res.end('{}'));
  const url = await serveChat({ findEngines: () => [engine.engine] }, { tokenCounts });
  const post = (path: string) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }] }),
    });
  try {
    expect((await post('/count')).status).toBe(503);
    const refused = await post('/count');
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)]);
    expect((await post('/chat')).status).toBe(500);
  } finally {
    await engine.close();
  }
});

const countConnections = (): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
