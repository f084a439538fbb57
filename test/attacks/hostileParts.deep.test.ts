import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type RecordingEngine, startRecordingEngine } from '../conformance/support/startRecordingEngine.ts';
import { createRandom } from '../faults/load/random.ts';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import type { RequestOperation } from './engine-models/engineModels.ts';
import {
  DEEP_ITEMS,
  goodItems,
  type HostileItem,
  listHostileItems,
  REFUSED_ITEMS,
  SERVED_ITEMS,
} from './hostileItems.ts';
import {
  EMBEDDING_MODEL,
  FAMILIES,
  goodBodies,
  type HostileBody,
  listHostileBodies,
  PNG,
  TEXT_MODEL,
  VISION_MODEL,
} from './hostileParts.ts';
import { aClientsChat, toEngineMeaning } from './hostilePartsClients.ts';
import { findIntrusions } from './hostilePartsOracle.ts';

/** `ATTACK_PARTS=20000` sends as many, `all` every one there is; `ATTACK_SEED` draws others. */
const { ATTACK_PARTS: given = '1400', ATTACK_SEED: seed = '1' } = process.env;
const WANTED = given === 'all' ? Number.POSITIVE_INFINITY : Number(given);
const IN_FLIGHT = 16;
/** Enough for all there are, on a busy machine. */
const TIMEOUT_MS = given === 'all' ? 3_600_000 : 60_000 + WANTED * 40;
const NO_LIMIT = 1_000_000_000;
/** Bodies of the other APIs, as a part of those of chat. */
const ITEMS_SHARE = 0.4;

const PATHS: Record<RequestOperation, string> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
};

let engine: RecordingEngine;
let stack: TestStack;
let accounts: Account[];
beforeAll(async () => {
  engine = await startRecordingEngine([TEXT_MODEL, VISION_MODEL, EMBEDDING_MODEL]);
  stack = await startTestStack({
    kafka: false,
    engines: [engine.url],
    serviceSettings: {
      // The repository's own: a stack before a running engine would sell what the engine says.
      catalog: { CATALOG_FILE: fileURLToPath(new URL('../../deploy/catalog/us/catalog.yaml', import.meta.url)) },
      edge: { LIMITS: { FLOOD_REQUESTS_PER_MINUTE: 100_000_000, FLOOD_BURST: 100_000_000 } },
    },
  });
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '1000000' });
  accounts = await Promise.all(
    Array.from({ length: IN_FLIGHT }, () => makeAccount(stack, { workspaceId, rpm: NO_LIMIT, tpm: NO_LIMIT })),
  );
});
afterAll(async () => {
  await stack?.stop();
  await engine?.stop();
});

/** Draws this many of each family by the seed, or all of a smaller family. */
function drawBodies(wanted: number): HostileBody[] {
  const { share } = createRandom(Number(seed));
  const families = new Map(FAMILIES.map((family): [string, HostileBody[]] => [family, []]));
  for (const body of listHostileBodies()) families.get(body.family)?.push(body);
  return [...families.values()].flatMap((bodies) => {
    const chance = wanted / FAMILIES.length / bodies.length;
    return bodies.filter(() => share() < chance);
  });
}

interface Outcome {
  status: number;
  param: unknown;
}

/** Sends a body until it is answered for what it is: a key that was refused too often waits, as does a call without room. */
const send = (account: Account, { operation, write }: HostileBody): Promise<Outcome> =>
  sendText(account, PATHS[operation], write());

async function sendText(account: Account, path: string, text: string): Promise<Outcome> {
  for (;;) {
    const answer = await account.post(path, text);
    const body = await answer.text();
    if (answer.status !== 429 && answer.status !== 503)
      return { status: answer.status, param: answer.status === 400 ? JSON.parse(body).error.param : undefined };
    await delay(Number(answer.headers.get('retry-after')) * 1_000);
  }
}

const sendItem = (account: Account, { path, write }: HostileItem): Promise<Outcome> => sendText(account, path, write());

/** Sends bodies from several keys at once, each key one by one, and gives what became of each. */
const sendAll = (bodies: HostileBody[], from: Account[]): Promise<Outcome[]> => sendEach(bodies, from, send);

async function sendEach<Body>(
  bodies: readonly Body[],
  from: Account[],
  sendOne: (account: Account, body: Body) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  await Promise.all(
    from.map(async (account) => {
      while (next < bodies.length) {
        const index = next;
        next += 1;
        const body = bodies[index];
        if (body !== undefined) outcomes[index] = await sendOne(account, body);
      }
    }),
  );
  return outcomes;
}

const OPERATION_OF: Record<string, RequestOperation | 'tokenize'> = {
  ...Object.fromEntries(Object.entries(PATHS).map(([operation, path]) => [`/v1${path}`, operation])),
  '/tokenize': 'tokenize',
};

/** Parts that were read by vLLM as what the gateway took them not for: an address to be fetched, or another tenant’s image. */
const KNOWN_BODIES = [
  [
    'a video beside an image that vLLM takes for none',
    `{"type":"image_url","image_url":{"url":"${PNG}","detail":"bogus"},"video_url":"http://169.254.169.254/"}`,
  ],
  [
    'audio beside such an image',
    `{"type":"image_url","image_url":{"url":"${PNG}","detail":"bogus"},"audio_url":"http://169.254.169.254/"}`,
  ],
  [
    'an image beside a text that vLLM takes for none',
    '{"type":"text","text":"x","prompt_cache_breakpoint":5,"image_url":"http://10.0.0.1/","uuid":"u"}',
  ],
  [
    'a kept image beside such a text',
    '{"type":"text","text":"x","prompt_cache_breakpoint":5,"image_url":null,"uuid":"u"}',
  ],
  ['an address that stands twice', `{"type":"image_url","image_url":{"url":"http://169.254.169.254/","url":"${PNG}"}}`],
];

describe('hostile bodies', () => {
  it.each(KNOWN_BODIES)('are 400 with their place: %s', async (_, part) => {
    engine.takeAll();
    const text = `{"model":"${VISION_MODEL}","max_tokens":2,"messages":[{"role":"user","content":[${part}]}]}`;
    const answer = await accounts[0]?.post(PATHS.chat, text);
    const said = JSON.parse((await answer?.text()) ?? '{}');
    const param = expect.stringMatching(/^messages/);
    expect({ status: answer?.status, param: said.error?.param }).toEqual({ status: 400, param });
    expect(engine.takeAll()).toEqual([]);
  });

  it('are made of bodies that are served', async () => {
    const outcomes = await sendAll(goodBodies(), accounts);
    expect(outcomes.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it(
    'reach no engine readable as something else: each is 400 with its place, or is written anew',
    async () => {
      const bodies = drawBodies(WANTED);
      engine.takeAll();
      const outcomes = await sendAll(bodies, accounts);

      const received = engine.takeAll();
      const intrusions = received.flatMap(({ path, text }) => {
        const found = findIntrusions(text, OPERATION_OF[path] ?? 'chat');
        return found.length === 0 ? [] : [{ found, text }];
      });
      const readable = intrusions.filter(({ found }) => found.some(({ isReadable }) => isReadable));
      process.stderr.write(
        `hostile parts: ${bodies.length} sent, ${received.length} reached the engine, ${intrusions.length} with what is on no list, ${readable.length} readable as something else\n`,
      );
      expect(readable.slice(0, 20)).toEqual([]);
      expect(intrusions.slice(0, 20)).toEqual([]);
      const odd = bodies.flatMap((body, index) => {
        const { status, param } = outcomes[index] ?? { status: 0, param: undefined };
        const isRefusal =
          (status === 400 && typeof param === 'string') || (status === 404 && body.about.startsWith('model'));
        return status === 200 || isRefusal ? [] : [{ status, param, about: body.about, text: body.write() }];
      });
      expect(odd.slice(0, 20)).toEqual([]);
      // A run in which all were refused for other reasons would prove little.
      expect(outcomes.filter(({ status }) => status === 200).length).toBeGreaterThan(bodies.length / 50);
    },
    TIMEOUT_MS,
  );

  it('reach no tokenizer readable as something else', async () => {
    const poor = await Promise.all(
      accounts.map(() => makeAccount(stack, { maxBudgetUsd: '0.000003', rpm: NO_LIMIT, tpm: NO_LIMIT })),
    );
    engine.takeAll();
    await sendAll(drawBodies(Math.min(WANTED, 300)), poor);

    const asked = engine.takeAll().filter(({ path }) => path === '/tokenize');
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.map(({ text }) => findIntrusions(text, 'tokenize')).filter((found) => found.length > 0)).toEqual([]);
  });
});

/** Asserts that what reached the engine can be read as what was checked and as nothing else. */
function expectNoIntrusion(): void {
  const found = engine.takeAll().flatMap(({ path, text }) => findIntrusions(text, OPERATION_OF[path] ?? 'chat'));
  expect(found.slice(0, 20)).toEqual([]);
}

describe('hostile items and blocks of the other APIs', () => {
  const first = () => accounts[0] as Account;

  it.each(REFUSED_ITEMS)('are 400 with their place: %s, by %s', async (_, path, body, param) => {
    engine.takeAll();
    const outcome = await sendText(first(), path, JSON.stringify(body));
    expect(outcome).toEqual({ status: 400, param: expect.stringMatching(param) });
    expect(engine.takeAll()).toEqual([]);
  });

  it.each(DEEP_ITEMS)('are 400 where they are too deep: %s, by %s', async (_, path, text) => {
    engine.takeAll();
    expect(await sendText(first(), path, text)).toMatchObject({ status: 400 });
    expect(engine.takeAll()).toEqual([]);
  });

  it.each(SERVED_ITEMS)('are words to engines, and nothing else: %s, by %s', async (_, path, body) => {
    engine.takeAll();
    expect(await sendText(first(), path, JSON.stringify(body))).toMatchObject({ status: 200 });
    expectNoIntrusion();
  });

  it('are made of bodies that are served', async () => {
    engine.takeAll();
    const outcomes = await sendEach(goodItems(), accounts, sendItem);
    expect(outcomes.filter(({ status }) => status !== 200)).toEqual([]);
    expectNoIntrusion();
  });

  it(
    'reach no engine readable as something else: each is 400 with its place, or becomes a chat',
    async () => {
      const all = [...listHostileItems()];
      const { share } = createRandom(Number(seed));
      const items = all.filter(() => share() < (WANTED * ITEMS_SHARE) / all.length);
      engine.takeAll();
      const outcomes = await sendEach(items, accounts, sendItem);

      expectNoIntrusion();
      const odd = items.flatMap(({ path, about, write }, index) => {
        const { status, param } = outcomes[index] ?? { status: 0, param: undefined };
        const isRefusal = (status === 400 && typeof param === 'string') || (status === 404 && about.includes('model'));
        return status === 200 || isRefusal ? [] : [{ status, param, path, about, text: write() }];
      });
      expect(odd.slice(0, 20)).toEqual([]);
      expect(outcomes.filter(({ status }) => status === 200).length).toBeGreaterThan(items.length / 10);
    },
    TIMEOUT_MS,
  );
});

/** JSON has no negative zero as it is written here. */
const asSent = <Body>(body: Body): Body => JSON.parse(JSON.stringify(body));

describe('what real clients send', () => {
  it('reaches an engine with the same meaning, whatever they put beside it', async () => {
    await fc.assert(
      fc.asyncProperty(aClientsChat(), async (body) => {
        engine.takeAll();
        const answer = await accounts[0]?.post(PATHS.chat, body);
        expect(`${answer?.status} ${await answer?.text()}`).toMatch(/^200 /);
        const [received] = engine.takeAll();
        expect(findIntrusions(received?.text ?? '{}', 'chat')).toEqual([]);
        expect(toEngineMeaning(JSON.parse(received?.text ?? '{}'))).toEqual(toEngineMeaning(asSent(body)));
      }),
      { seed: Number(seed), numRuns: 200 },
    );
  });

  it.each([
    [
      'vLLM',
      {
        ...{ role: 'assistant', content: null, refusal: null, annotations: null, audio: null, function_call: null },
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'forecast', arguments: '{}' } }],
        reasoning: null,
      },
    ],
    [
      'SGLang',
      {
        ...{ role: 'assistant', content: null, reasoning_content: 'It asks.' },
        tool_calls: [{ id: 'call_1', index: 0, type: 'function', function: { name: 'forecast', arguments: '{}' } }],
      },
    ],
  ])('may be an answer of %s that they got before, as it came', async (_, message) => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    engine.reply({
      status: 200,
      body: { id: 'a', object: 'chat.completion', created: 1, model: TEXT_MODEL, choices, usage },
    });
    const user = { role: 'user', content: 'Will it rain?' };
    const ask = (messages: object[]) => accounts[0]?.post(PATHS.chat, { model: TEXT_MODEL, messages, max_tokens: 2 });
    const first = await ask([user]);
    const { choices: answered } = JSON.parse((await first?.text()) ?? '{}') as { choices: { message: object }[] };
    const second = await ask([
      user,
      answered[0]?.message ?? {},
      { role: 'tool', tool_call_id: 'call_1', content: 'No.' },
    ]);
    engine.reply();

    expect(`${second?.status} ${await second?.text()}`).toMatch(/^200 /);
  });
});
