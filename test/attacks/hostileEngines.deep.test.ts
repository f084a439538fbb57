import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { isProbe } from '../support/isProbe.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';

// One engine that sends what no engine should: it took all memory of its router, and gave one tenant the answer of another.

const MODEL = 'hostile-model';
const MIB = 1_048_576;
const FLOOD_BYTES = 72 * MIB;
/** Most that any one answer adds to what the router holds. Garbage is collected meanwhile, so it is no part of it. */
const MOST_GROWTH_BYTES = 64 * MIB;
/** Pause between two looks at the router's memory. */
const LOOK_MS = 25;
/**
 * Collects the garbage of the router at SIGUSR2, which a flood sends with every so many bytes. A busy machine leaves a process that
 * collects every so often no time for anything else.
 */
const COLLECTS_GARBAGE = '--expose-gc --import data:text/javascript,process.on(`SIGUSR2`,()=>gc())';
const BYTES_A_COLLECTION = 2 * MIB;
/** Longer than the router waits for a first event, so that a fault before one has a status on a machine of any speed. */
const HEADERS_AFTER_MS = 300_000;
const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
/** Levels or values that fill one event. */
const DEEP = '['.repeat(2 * MIB - 100) + ']'.repeat(2 * MIB - 100);
const WIDE = `[${'[],'.repeat(1.3 * MIB)}[]]`;
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** Name of the flood whose events a client gets. */
const READABLE = 'events of 4 MiB';
/** Pieces of an event that never ends, by their name in the prompt. */
const FLOODS: Record<string, string> = {
  'empty data lines': 'data:\n',
  'data lines of a byte': 'data: x\n',
  'data lines between comments': `data: x\n:${'c'.repeat(60_000)}\n`,
  'comments alone': ': comment\n',
  'a line without end': 'x',
  'a data line without end': 'data: x',
  [READABLE]: `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(4 * MIB - 100)}"}}]}\n\n`,
  'lists in lists': `data: ${DEEP}\n\n`,
  'empty lists': `data: ${WIDE}\n\n`,
};

/** Bodies of a whole answer, of an error or of a stream's first event that are too deep, by their names in the prompt. */
const TOO_DEEP: Record<string, { status: number; type: string; body: string; shown: number }> = {
  'whole answer': { status: 200, type: 'application/json', body: `{"choices":${DEEP}}`, shown: 500 },
  refusal: { status: 400, type: 'application/json', body: `{"error":{"message":"no","param":${DEEP}}}`, shown: 400 },
  failure: { status: 500, type: 'application/json', body: `{"error":${DEEP}}`, shown: 500 },
  'first event': { status: 200, type: 'text/event-stream', body: `data: {"choices":${DEEP}}\n\n`, shown: 500 },
  usage: {
    status: 200,
    type: 'text/event-stream',
    body: `data: {"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":5,"a":${DEEP}}}\n\n`,
    shown: 500,
  },
};

/** A whole answer's body, and the framings of it that two readers could read differently, by their names in the prompt. */
const WHOLE = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: USAGE,
});
const SIZE = WHOLE.length.toString(16);
const STATED = `HTTP/1.1 200 OK\r\ncontent-length: ${WHOLE.length}\r\n`;
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const CHUNK = `${SIZE}\r\n${WHOLE}\r\n`;
const FRAMINGS: Record<string, string> = {
  'more interim answers than may be': `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(33)}${STATED}\r\n${WHOLE}`,
  'interim answers without end': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100_000),
  'an interim answer of a length': `HTTP/1.1 103 Early Hints\r\ncontent-length: 5\r\n\r\n${STATED}\r\n${WHOLE}`,
  'CRs without end behind a chunk': `${CHUNKED}${CHUNK}${'\r'.repeat(8 * MIB)}`,
  'an LF alone behind an extension': `${CHUNKED}${SIZE};a\n${WHOLE}\r\n0\r\n\r\n`,
  'letters between a size and its line end': `${CHUNKED}${SIZE}\rJUNK\n${WHOLE}\r\n0\r\n\r\n`,
  'an LF alone behind a chunk': `${CHUNKED}${SIZE}\r\n${WHOLE}\n0\r\n\r\n`,
  'two CRs behind a chunk': `${CHUNKED}${SIZE}\r\n${WHOLE}\r\r\n0\r\n\r\n`,
  'a control in an extension': `${CHUNKED}${SIZE};a=\0\r\n${WHOLE}\r\n0\r\n\r\n`,
  'trailers that end in LF': `${CHUNKED}${CHUNK}0\r\na: b\n\n`,
  'a trailer that is no header': `${CHUNKED}${CHUNK}0\r\nHTTP/1.1 200 OK\r\n\r\n`,
  'trailers without end': `${CHUNKED}${CHUNK}0\r\n${'a: b\r\n'.repeat(3_000)}\r\n`,
  'an LF alone in a value': `${STATED}a: b\ntransfer-encoding: chunked\r\n\r\n${WHOLE}`,
  'a NUL in a value': `${STATED}a: \0\r\n\r\n${WHOLE}`,
  'a space in a name': `${STATED}a b: c\r\n\r\n${WHOLE}`,
  'chunks of HTTP/1.0': `HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${CHUNK}0\r\n\r\n`,
  'a length where no body may be': `HTTP/1.1 204 No Content\r\ncontent-length: ${WHOLE.length}\r\n\r\n`,
};

/** The latest answer on each connection. */
const latest = new WeakMap<Socket, string>();

async function flood(res: ServerResponse, piece: string): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  for (let sent = 0, collected = 0; sent < FLOOD_BYTES && !res.destroyed; sent += block.length) {
    if (sent - collected >= BYTES_A_COLLECTION) {
      collected = sent;
      process.kill(routerPid(), 'SIGUSR2');
    }
    if (res.write(block)) continue;
    const waiting = new AbortController();
    const events = ['drain', 'close'].map((name) => once(res, name, waiting));
    await Promise.race(events).finally(() => waiting.abort());
  }
  res.end();
}

/** Answers a call as its prompt names it. */
function answer(res: ServerResponse, prompt: string, id: string): void {
  const piece = FLOODS[prompt];
  if (piece !== undefined) {
    void flood(res, piece).catch(() => undefined);
    return;
  }
  const framing = FRAMINGS[prompt];
  if (framing !== undefined) {
    res.socket?.on('error', () => undefined).end(framing, 'latin1');
    return;
  }
  const tooDeep = TOO_DEEP[prompt];
  if (tooDeep) {
    res.writeHead(tooDeep.status, { 'content-type': tooDeep.type }).end(tooDeep.body);
    return;
  }
  const call = `{"id":"c","type":"function","function":{"name":"f","arguments":${nested(500_000)}}}`;
  const message =
    prompt === 'arguments' ? `{"role":"assistant","tool_calls":[${call}]}` : JSON.stringify({ content: prompt });
  const body = `{"id":"${id}","choices":[{"index":0,"message":${message},"finish_reason":"stop"}],"usage":${JSON.stringify(USAGE)}}`;
  const { socket } = res;
  // One answer behind from here on, as after an answer too many.
  const shown = (prompt.startsWith('mine') && socket && latest.get(socket)) || body;
  if (socket) latest.set(socket, body);
  res.writeHead(200, { 'content-type': 'application/json' }).end(shown);
}

let engine: HttpStandIn;
let stack: TestStack;
/** Whether the engine answers no question of the router's own; how many it left unanswered. */
let isMute = false;
let unanswered = 0;
beforeAll(async () => {
  engine = await serveHttp(async (req, res) => {
    if (req.method === 'POST' && !isProbe(req)) {
      const { messages } = JSON.parse(await readText(req));
      answer(res, messages[0].content, `chatcmpl-${req.headers['x-request-id']}`);
      return;
    }
    if (isMute) {
      unanswered += 1;
      return;
    }
    res.writeHead(200, { 'content-type': 'application/json' });
    const aToken = { choices: [{ index: 0, text: '.', finish_reason: 'length' }] };
    res.end(JSON.stringify(isProbe(req) ? aToken : { object: 'list', data: [{ id: MODEL, object: 'model' }] }));
  });
  stack = await startTestStack({
    kafka: false,
    engines: [engine.url],
    serviceSettings: { 'model-router': { NODE_OPTIONS: COLLECTS_GARBAGE, LIMITS: { HEADERS_AFTER_MS } } },
  });
});
afterAll(async () => {
  await stack?.stop();
  await engine?.close();
});

const chat = (content: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content }],
  ...fields,
});
const routerPid = () => stack.running.stack.regions.us.services['model-router'].pid;
/** Returns the router's resident memory in bytes. The system says it at once, also while the router is busy. */
async function readMemory(): Promise<number> {
  const [, kib] = /^VmRSS:\s*(\d+) kB$/m.exec(await readFile(`/proc/${routerPid()}/status`, 'utf8')) ?? [];
  return Number(kib) * 1_024;
}

it.each(Object.keys(FLOODS))('%s of an engine take little memory of its router, and cost nothing', async (prompt) => {
  const account = await makeAccount(stack);
  const before = await readMemory();
  let most = before;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, await readMemory());
      await pause(LOOK_MS);
    }
  })();
  const response = await account.post('/chat/completions', chat(prompt, { stream: true }));
  const body = await response.text();
  isOver = true;
  await watching;
  expect(most - before).toBeLessThan(MOST_GROWTH_BYTES);
  // The head has left before the engine breaks off where it sends events that can be read.
  expect(response.status).toBe(prompt === READABLE ? 200 : 500);
  expect(body).toContain('internal_error');
  expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'failure', total_spend: 0 });
});

it.each([
  ['arguments', 500] as const,
  ...Object.entries(TOO_DEEP).map(([prompt, { shown }]) => [prompt, shown] as const),
])('an engine’s %s of millions of levels is as good as none: %i, at no cost', async (prompt, shown) => {
  const account = await makeAccount(stack);
  const isStream = TOO_DEEP[prompt]?.type === 'text/event-stream';
  const response = await account.post('/chat/completions', chat(prompt, { stream: isStream }));
  await response.text();
  expect(response.status).toBe(shown);
  expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'failure', total_spend: 0 });
});

it.each(Object.keys(FRAMINGS))('%s of an engine end its answer, which costs nothing', async (prompt) => {
  const account = await makeAccount(stack);
  const response = await account.post('/chat/completions', chat(prompt));
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('internal_error')]);
  expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'failure', total_spend: 0 });
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

it('the only engine of a model that answers no check goes on getting calls, and they are served', async () => {
  const account = await makeAccount(stack);
  isMute = true;
  try {
    await until('more checks to be missed than an engine may miss', () => unanswered >= 4);
    const [{ status }, models] = await Promise.all([
      account.post('/chat/completions', chat('still here')),
      account.get<{ data: { id: string }[] }>('/models'),
    ]);
    expect(status).toBe(200);
    expect(models.body.data.find(({ id }) => id === MODEL)).toMatchObject({ is_ready: true });
  } finally {
    isMute = false;
  }
});
