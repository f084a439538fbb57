import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Part } from '@turnpike/local-stack/process/startParts';
import type { LinkBehaviour } from '@turnpike/test-support/faultProxyBehaviour';
import { until } from '@turnpike/test-support/until';
import { between, createLinks, type Link, toPart } from '../support/createLinks.ts';
import { leaveUnheard } from '../support/leaveUnheard.ts';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { readFirstEvent } from '../support/postJson.ts';
import { splitEvents } from '../support/splitEvents.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import { createClient } from './support/http.ts';
import { row } from './support/row.ts';
import { bare, envelope, flat } from './support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** Base time of a stream; as long does a router that is told to stop wait for streams. */
const BASE_MS = 5_000;
const LOOK_UP = '/svc/usage/request/01890000-0000-7000-8000-000000000000';

const links = createLinks();

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    kafka: false,
    openLink: links.openLink,
    serviceSettings: {
      edge: { LIMITS: { STREAM_TIMEOUT_MS: BASE_MS } },
      'model-router': { AUTH_TIMEOUT_MS: '2000', LIMITS: { LEASE_MS: 3_000, STREAM_TIMEOUT_MS: BASE_MS } },
      'usage-ledger': { LIMITS: { USAGE_QUERY_TIMEOUT_MS: 700 } },
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await links.close();
});

const aChat = (fields: object = {}, directives = 'tokens=2') => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
/** Somebody whom no service has seen yet. */
const newcomer = async () => createClient(stack.baseUrl, await stack.operator.makeFundedKey());
const seeded = () => createClient(stack.baseUrl, stack.apiKey);

const SILENT: LinkBehaviour = { blackHole: true };

/** Spoils every way that `matches`, runs the check, and waits until all is as it was. */
const during = (
  matches: (link: Link) => boolean,
  check: () => Promise<void>,
  behaviour?: LinkBehaviour,
): Promise<void> => links.during(matches, check, behaviour).finally(untilWell);

async function untilWell(): Promise<void> {
  await until('the stack to be well', async () => {
    const client = await newcomer();
    const answers = await Promise.all([
      client.post('/chat/completions', aChat()),
      client.get('/models'),
      client.get('/svc/key'),
      client.get(LOOK_UP),
    ]);
    return answers.map(({ status }) => status).join() === '200,200,200,404' ? true : undefined;
  });
}

const noVerdict = () => ({
  error: expect.objectContaining({ message: expect.any(String), code: 'auth_service_unavailable' }),
});
const unavailable = () => envelope('service_unavailable', 'service_unavailable');

row('outages.auth.chat', async () => {
  const client = await newcomer();
  await during(toPart('auth'), async () => {
    const { status, body, headers } = await client.post('/chat/completions', aChat());
    expect({ status, body }).toEqual({ status: 503, body: noVerdict() });
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });
});

row('outages.auth.silent', async () => {
  const client = await newcomer();
  await during(
    between('model-router', 'auth'),
    async () => {
      const { status, body } = await client.post('/chat/completions', aChat());
      expect({ status, body }).toEqual({ status: 503, body: noVerdict() });
    },
    SILENT,
  );
});

row('outages.auth.cached', async () => {
  const client = await newcomer();
  expect((await client.post('/chat/completions', aChat())).status).toBe(200);
  await during(toPart('auth'), async () => {
    expect((await client.post('/chat/completions', aChat())).status).toBe(200);
  });
});

row('outages.auth.models', async () => {
  const client = await newcomer();
  await during(toPart('auth'), async () => {
    expect(await client.get('/models')).toMatchObject({ status: 502, body: bare() });
  });
});

row('outages.auth.key', async () => {
  const client = await newcomer();
  await during(between('edge', 'auth'), async () => {
    const { status, body } = await client.get('/svc/key');
    expect({ status, body }).toEqual({ status: 502, body: bare() });
  });
});

row('outages.auth.usage', async () => {
  const client = await newcomer();
  await during(between('usage-ledger', 'auth'), async () => {
    const { status, body } = await client.get(LOOK_UP);
    expect({ status, body }).toEqual({ status: 503, body: noVerdict() });
  });
});

row('outages.auth.database', async () => {
  const client = await newcomer();
  await during(between('auth', 'postgres'), async () => {
    expect(await client.post('/chat/completions', aChat())).toMatchObject({ status: 503, body: noVerdict() });
    const { status, body } = await client.get('/svc/key');
    expect({ status, body }).toEqual({ status: 502, body: bare() });
  });
});

/** The ids of the clients' calls that the engines have been given so far; the router's own probes come at any moment. */
async function listServed(): Promise<string[]> {
  const admins = stack.running.stack.regions.us.simulator_admin_urls;
  const lists = admins.map(async (admin) => {
    const { requests } = (await (await fetch(`${admin}/admin/requests`)).json()) as {
      requests: { requestId: string | null }[];
    };
    return requests.map(({ requestId }) => String(requestId)).filter((callId) => !callId.startsWith('probe-'));
  });
  return (await Promise.all(lists)).flat();
}

row('outages.redis.chat', () =>
  during(toPart('redis'), async () => {
    const before = await listServed();
    const { status, body, headers } = await seeded().post('/chat/completions', aChat());
    expect({ status, body }).toEqual({ status: 503, body: unavailable() });
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await listServed()).toEqual(before);
  }),
);

row('outages.redis.key', () =>
  during(toPart('redis'), async () => {
    const { status, body } = await seeded().get('/svc/key');
    expect({ status, body }).toEqual({ status: 502, body: bare() });
  }),
);

row('outages.router.chat', () =>
  during(between('edge', 'model-router'), async () => {
    for (const [path, asked] of [
      ['/chat/completions', aChat()],
      ['/completions', { model: MODEL, prompt: 'hi' }],
      ['/embeddings', { model: 'bge-m3', input: 'hi' }],
    ] as const) {
      const { status, body } = await seeded().post(path, asked);
      expect({ path, status, body }).toEqual({ path, status: 503, body: unavailable() });
    }
  }),
);

row('outages.router.key', () =>
  during(between('auth', 'model-router'), async () => {
    const { status, body } = await seeded().get('/svc/key');
    expect({ status, body }).toEqual({ status: 502, body: bare() });
  }),
);

row('outages.catalog.models', () =>
  during(toPart('catalog'), async () => {
    const { status, body } = await seeded().get('/models');
    expect({ status, body }).toEqual({ status: 502, body: bare() });
  }),
);

row('outages.catalog.chat', () =>
  during(toPart('catalog'), async () => {
    expect((await seeded().post('/chat/completions', aChat())).status).toBe(200);
  }),
);

row('outages.ledger.usage', () =>
  during(between('edge', 'usage-ledger'), async () => {
    const { status, body } = await seeded().get(LOOK_UP);
    expect({ status, body }).toEqual({ status: 503, body: flat('service_unavailable') });
  }),
);

row('outages.ledger.chat', async () => {
  const account = await makeAccount(stack);
  expect((await account.post('/chat/completions', aChat())).status).toBe(200);
  let headers: Headers | undefined;
  await during(toPart('usage-ledger'), async () => {
    const response = await account.post('/chat/completions', aChat());
    expect(response.status).toBe(200);
    headers = response.headers;
  });
  expect(await account.untilUsage(headers)).toMatchObject({ status: 'success' });
});

row('outages.ledger.database', async () => {
  const client = await newcomer();
  await during(between('usage-ledger', 'postgres'), async () => {
    expect([503, 504]).toContain((await client.get(LOOK_UP)).status);
  });
});

row('outages.ledger.timeout', () =>
  during(
    between('usage-ledger', 'postgres'),
    async () => {
      const { status, body } = await seeded().get(LOOK_UP);
      const error = { message: expect.any(String), type: 'gateway_timeout', code: 'usage_timeout' };
      expect({ status, body }).toEqual({ status: 504, body: { error } });
    },
    SILENT,
  ),
);

row('outages.stream-cut', async () => {
  const client = await newcomer();
  const response = await client.open('/chat/completions', aChat({ stream: true }, 'tokens=50 fault=stall after=3'));
  await readFirstEvent(response);
  await during(between('edge', 'model-router'), async () => {
    const reader = response.body?.getReader();
    const readOn = async () => {
      for (;;) if ((await reader?.read())?.done !== false) return;
    };
    await expect(readOn()).rejects.toThrow();
  });
});

let restarted: Part | undefined;
/** Ends the router by a signal, and starts it again. */
async function restartRouter(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const router = restarted ?? stack.running.parts.services['model-router'];
  process.kill(router.pid, signal);
  await until('the router’s end', async () => router.endedBy());
  restarted = await stack.running.restart('model-router');
  await untilWell();
}

/** Asserts that a stream ended in an error event that says what ended it, and that its row has the charge that the event names. */
async function expectCut(account: Account, response: Response, says: RegExp): Promise<void> {
  const text = await response.text();
  expect(text).not.toContain('[DONE]');
  const { error } = JSON.parse(splitEvents(text.replaceAll(': keep-alive\n', '')).at(-1) ?? '');
  expect(error).toEqual({
    message: expect.stringMatching(says),
    type: 'server_error',
    param: null,
    code: 'stream_cut',
  });
  const record = await account.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'success', completion_tokens: expect.any(Number) });
  expect(record.prompt_tokens).toBeGreaterThan(0);
  expect(record.completion_tokens).toBeGreaterThan(0);
  expect(record.total_spend).toBeGreaterThan(0);
  expect(error.message).toContain(
    `the ${record.completion_tokens} output tokens so far are charged: ${record.total_spend} USD.`,
  );
}

row('stream.too-slow', async () => {
  const account = await makeAccount(stack);
  const asked = aChat({ stream: true }, 'tokens=50 itl_ms=1500');
  await expectCut(account, await account.post('/chat/completions', asked), /fewer than 5 tokens a second/);
});

row('stream.router-stops', async () => {
  const account = await makeAccount(stack);
  const client = createClient(stack.baseUrl, account.apiKey);
  const response = await client.open('/chat/completions', aChat({ stream: true }, 'tokens=2000 itl_ms=20'));
  // The stream goes on until the router may wait no longer.
  await Promise.all([expectCut(account, response, /this server shuts down/), restartRouter('SIGTERM')]);
});

row('billing.router-stops', async () => {
  const account = await makeAccount(stack);
  const headers = await leaveUnheard(stack, { account, body: aChat({}, 'ttft_ms=3000 tokens=50') });
  await restartRouter('SIGTERM');
  const record = await account.untilUsage(headers);
  expect(record.status).toBe('success');
  expect(record.prompt_tokens).toBeGreaterThan(0);
});

row('billing.router-died', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '0.001' });
  const client = createClient(stack.baseUrl, account.apiKey);
  const asked = aChat({ stream: true, max_tokens: 2_000 }, 'tokens=50 fault=stall after=3');
  const response = await client.open('/chat/completions', asked);
  await readFirstEvent(response);
  await restartRouter('SIGKILL');
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, total_spend: 0 };
  expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'unknown', ...zero });
  // Half of the budget was held; once its row is taken over all of it may be asked for.
  const ask = async () => (await client.post('/chat/completions', aChat({ max_tokens: 2_000 }))).status;
  await until('the hold’s end', async () => (await ask()) === 200);
});
