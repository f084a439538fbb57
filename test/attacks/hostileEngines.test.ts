import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from '../support/isProbe.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';

// One engine that sends what no engine should: it took all memory of its router, and gave one tenant the answer of another.

const MODEL = 'hostile-model';
const MIB = 1_048_576;
const FLOOD_BYTES = 60 * MIB;
/** What any one stream may add to the router's memory: 64 MiB, and garbage that is not collected yet. */
const MOST_GROWTH_BYTES = 96 * MIB;
const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** What is sent again and again into an event that never ends, by its name in the prompt. */
const FLOODS: Record<string, string> = {
  'empty data lines': 'data:\n',
  'data lines of a byte': 'data: x\n',
  'data lines between comments': `data: x\n:${'c'.repeat(60_000)}\n`,
  'comments alone': ': comment\n',
  'a line without end': 'x',
};

/** The latest answer on each connection. */
const latest = new WeakMap<Socket, string>();

async function flood(res: ServerResponse, piece: string): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  for (let sent = 0; sent < FLOOD_BYTES && !res.destroyed; sent += block.length) if (res.write(block)) continue;
  const waiting = new AbortController();
  const events = ['drain', 'close'].map((name) => once(res, name, waiting));
  await Promise.race(events).finally(() => waiting.abort());
  res.end();
}

/** Answers a call as its prompt names it. */
function answer(res: ServerResponse, prompt: string, id: string): void {
  const piece = FLOODS[prompt];
  if (piece !== undefined) {
    void flood(res, piece).catch(() => undefined);
    return;
  }
  const call = `{"id":"c","type":"function","function":{"name":"f","arguments":${nested(5_000)}}}`;
  const message =
    prompt === 'deep' ? `{"role":"assistant","tool_calls":[${call}]}` : JSON.stringify({ content: prompt });
  const body = `{"id":"${id}","choices":[{"index":0,"message":${message},"finish_reason":"stop"}],"usage":${JSON.stringify(USAGE)}}`;
  const { socket } = res;
  // One answer behind from here on, as after an answer too many.
  const shown = (prompt.startsWith('mine') && socket && latest.get(socket)) || body;
  if (socket) latest.set(socket, body);
  res.writeHead(200, { 'content-type': 'application/json' }).end(shown);
}

let engine: HttpStandIn;
let stack: TestStack;
beforeAll(async () => {
  engine = await serveHttp(async (req, res) => {
    if (req.method === 'POST' && !isProbe(req)) {
      const { messages } = JSON.parse(await readText(req));
      answer(res, messages[0].content, `chatcmpl-${req.headers['x-request-id']}`);
      return;
    }
    res.writeHead(200, { 'content-type': 'application/json' });
    const aToken = { choices: [{ index: 0, text: '.', finish_reason: 'length' }] };
    res.end(JSON.stringify(isProbe(req) ? aToken : { object: 'list', data: [{ id: MODEL, object: 'model' }] }));
  });
  stack = await startTestStack({ kafka: false, engines: [engine.url] });
}, 120_000);
afterAll(async () => {
  await stack?.stop();
  await engine?.close();
}, 60_000);

const chat = (content: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content }],
  ...fields,
});
const readMemory = async (): Promise<number> => {
  const { internal_url: url } = stack.running.stack.regions.us.services['model-router'];
  return (await scrapeMetrics(`${url}/metrics`)).get('process_resident_memory_bytes') ?? 0;
};

it.each(Object.keys(FLOODS))('%s of an engine take little memory of its router, and cost nothing', async (prompt) => {
  const account = await makeAccount(stack);
  const before = await readMemory();
  let most = before;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) most = Math.max(most, await readMemory());
  })();
  const response = await account.post('/chat/completions', chat(prompt, { stream: true }));
  const body = await response.text();
  isOver = true;
  await watching;
  expect(most - before).toBeLessThan(MOST_GROWTH_BYTES);
  expect([response.status, body.includes('internal_error')]).toEqual([500, true]);
  expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'failure', total_spend: 0 });
});

it('arguments that are an object of 5,000 levels are a failure of the engine, and cost nothing', async () => {
  const account = await makeAccount(stack);
  const response = await account.post('/chat/completions', chat('deep'));
  expect(response.status).toBe(500);
  await response.text();
  const record = await account.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'failure', total_spend: 0 });
});

it('nobody gets the answer of another’s call, on a connection that is one answer behind', async () => {
  const texts: string[] = [];
  for (let caller = 0; caller < 6; caller += 1) {
    const account = await makeAccount(stack);
    const response = await account.post('/chat/completions', chat(`mine ${caller}`));
    const text = await response.text();
    expect([200, 500]).toContain(response.status);
    if (response.status === 200) expect(JSON.parse(text).choices[0].message.content).toBe(`mine ${caller}`);
    else expect(text).not.toContain('mine');
    texts.push(text);
  }
  // The connection was dropped each time, so that each second call has a sound one.
  expect(texts.filter((text) => text.includes('mine')).length).toBeGreaterThanOrEqual(2);
});
