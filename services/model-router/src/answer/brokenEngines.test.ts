import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { aMutatedStream } from '../../test/aMutatedStream.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { checkClientStream } from '../../test/checkClientStream.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { begin, createStreamHouse } from '../../test/serveStreams.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const house = createStreamHouse();
const { engineThat, engineThatCompletes, streamed, connect } = house;
afterEach(() => house.closeAll());

const HI = engineChunks.text('Hi', 2);
const FINISH = engineChunks.ending(3).split('\n\n')[0] ?? '';
const WITHOUT_USAGE = FINISH.replace(/,"usage":\{[^}]*\}/, '');

/** Acts of an engine after its first part, none of which may count as an end. None of it is shown. */
const FAILURES: [string, (res: ServerResponse) => unknown][] = [
  ['resets the connection', (res) => res.socket?.resetAndDestroy()],
  ['closes without [DONE]', (res) => res.end()],
  ['closes inside an event', (res) => res.end(HI.slice(0, 40))],
  ['sends no JSON', (res) => res.write('data: {"choices":[{\n\n')],
  ['sends a chunk without choices', (res) => res.write('data: {"id":"chatcmpl-1"}\n\n')],
  ['sends an error event', (res) => res.write('data: {"error":{"message":"CUDA","code":500}}\n\ndata: [DONE]\n\n')],
  ['aborts', (res) => res.end(engineChunks.ending(3).replace('"stop"', '"abort"'))],
  ['sends a line of 10 MB', (res) => res.write(`data: ${'x'.repeat(10_000_000)}`)],
  ['counts −5 tokens', (res) => res.end(engineChunks.ending(-5))],
  [
    'counts 1e400 tokens',
    (res) => res.end(engineChunks.ending(3).replaceAll('"completion_tokens":3', '"completion_tokens":1e400')),
  ],
  ['sends HTML', (res) => res.end('data: <html><body>502</body></html>\n\n')],
];

const FAILURES_AFTER_FINISH: typeof FAILURES = [
  ['closes after its finish chunk', (res) => res.end(`${WITHOUT_USAGE}\n\n`)],
  ['closes inside [DONE]', (res) => res.end(`${FINISH}\n\ndata: [DONE]`)],
];

it.each([...FAILURES, ...FAILURES_AFTER_FINISH])(
  'ends in one error event, and charges nothing, when an engine %s on its way',
  async (_case, fail) => {
    let upstream: ServerResponse | undefined;
    const engine = await engineThat((res) => {
      upstream = begin(res, HI);
    });
    const { url, call } = await streamed([engine]);
    const client = await connect(url);
    await until('the first event is there', () => client.text().includes('Hi'));
    if (upstream) fail(upstream);
    await until('the stream ends', client.ended);
    expect(checkClientStream(Buffer.from(client.text())).end).toBe('error');
    expect(client.text()).not.toContain('CUDA');
    expect(call.endings).toMatchObject([{ status: 'failure' }]);
  },
);

it.each(FAILURES)(
  'is a 500 that no client repeats when the only engine %s before its first event',
  async (_case, fail) => {
    const { url, call } = await streamed([await engineThat((res) => void fail(begin(res)))]);
    const client = await connect(url);
    expect([client.status, client.headers['x-should-retry']]).toEqual([500, 'false']);
    expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
  },
);

it.each(FAILURES)('is another engine’s answer when one %s before its first event', async (_case, fail) => {
  const failing = await engineThat((res) => void fail(begin(res)));
  const { url, call } = await streamed([failing, await engineThatCompletes('engine-2')]);
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(checkClientStream(Buffer.from(client.text())).end).toBe('done');
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

const OTHER_CALL = 'chatcmpl-01923f6a-7b3c-7def-8123-456789abcdef';
const A_CALL = '01923f6a-7b3c-7def-8123-456789abcdee';
const ofAnother = (text: string): string => text.replaceAll('chatcmpl-1', OTHER_CALL);
const ofCall = (text: string): string => text.replaceAll('chatcmpl-1', `chatcmpl-${A_CALL}`);
const aWhole = (id: string): string =>
  JSON.stringify({
    id,
    choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3 },
  });

it.each<[string, object, (res: ServerResponse) => unknown]>([
  [
    'a stream',
    { stream: true },
    (res) => begin(res, ofAnother(engineChunks.text('secret'))).end(ofAnother(engineChunks.ending(3))),
  ],
  ['a whole answer', {}, (res) => res.end(aWhole(OTHER_CALL))],
])(
  'gives %s of another call to nobody, drops its connection, and asks another engine',
  async (_case, fields, answer) => {
    const sockets = new Set<unknown>();
    let isFirst = true;
    const failing = await engineThat((res) => {
      if (!isFirst) sockets.add(res.socket);
      if (!isFirst) answer(res);
      else if ('stream' in fields) begin(res, ofCall(engineChunks.text('whole'))).end(ofCall(engineChunks.ending(3)));
      else res.end(aWhole(`chatcmpl-${A_CALL}`));
      isFirst = false;
    });
    const sound = await engineThat(
      (res) =>
        'stream' in fields
          ? begin(res, engineChunks.text('whole')).end(engineChunks.ending(3))
          : res.end(aWhole(`chatcmpl-${A_CALL}-2`)),
      'engine-2',
    );
    const { url } = await streamed([failing, sound], { fields, nextCall: () => anOpenCall({ callId: A_CALL }) });
    for (const _ of [1, 2, 3]) {
      const client = await connect(url);
      await until('the answer ends', client.ended);
      expect(client.text()).toContain('whole');
      expect(client.text()).not.toMatch(/secret|01923f6a-7b3c-7def-8123-456789abcdef/);
    }
    expect(sockets.size).toBe(2);
    expect(sound.requestIds).toEqual([`${A_CALL}-2`, `${A_CALL}-2`]);
  },
);

/** A proxy before an engine that keeps the connection open, whatever has become of the engine. */
function comment(res: ServerResponse): void {
  const timer = setInterval(() => res.write(': keep-alive\n\n'), 5);
  res.once('close', () => clearInterval(timer));
}

it.each([
  ['before its first event', [], { firstEventMs: 200 }, 500],
  ['after it', [HI], { betweenEventsMs: 200 }, 200],
])(
  'takes an engine for silent that sends nothing but comments %s, and charges nothing',
  async (_when, events, timeouts, status) => {
    const engine = await engineThat((res) => comment(begin(res, ...events)));
    const { url, call } = await streamed([engine], { timeouts });
    const client = await connect(url);
    await until('the answer ends', client.ended);
    expect(client.status).toBe(status);
    expect(client.text()).toContain('"code":"internal_error"');
    expect(call.endings).toMatchObject([{ status: 'failure' }]);
  },
);

it.each<[string, (res: ServerResponse) => unknown]>([
  ['is a page', (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>"code": 400</html>')],
  [
    'is a stream by another name',
    (res) => res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(HI + engineChunks.ending(3)),
  ],
  ['is empty', (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
  ['is a failure in HTML', (res) => res.writeHead(500, { 'content-type': 'text/html' }).end('<html>CUDA</html>')],
  ['refuses the fleet’s key', (res) => res.writeHead(401).end('{"error":"Unauthorized"}')],
  ['does not know its model', (res) => res.writeHead(404).end('{"error":{"message":"no model engine-name"}}')],
])('shows nothing of an answer that %s: it is a 500', async (_case, answer) => {
  const { url, call } = await streamed([await engineThat(answer)]);
  const client = await connect(url);
  await until('the answer ends', client.ended);
  expect(client.status).toBe(500);
  expect(JSON.parse(client.text())).toEqual({
    error: { message: expect.any(String), type: 'server_error', param: null, code: 'internal_error' },
  });
  expect(client.text()).not.toMatch(/CUDA|html|Unauthorized|engine-name/);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it.each<[string, string]>([
  ['422', '{"error":{"message":"Not here.","param":"stop"}}'],
  ['501', '{"error":{"message":"Not here.","param":"stop"}}'],
  ['400', '{"object":"error","message":"Not here.","param":"body.stop","code":400}'],
])('passes an engine’s %s on as 400 with its sentence and its parameter', async (status, body) => {
  const { url } = await streamed([await engineThat((res) => res.writeHead(Number(status)).end(body))]);
  const client = await connect(url);
  await until('the answer ends', client.ended);
  expect(client.status).toBe(400);
  expect(JSON.parse(client.text())).toEqual({
    error: { message: 'Not here.', type: 'invalid_request_error', param: 'stop', code: null },
  });
});

const SOUND = HI + engineChunks.text('Où ? 天気 😀', 3) + engineChunks.ending(3);
it.each<[string, Buffer[]]>([
  ['one write', [Buffer.from(SOUND)]],
  ['writes of one byte, inside characters too', [...Buffer.from(SOUND)].map((byte) => Buffer.of(byte))],
  ['CR LF line ends', [Buffer.from(SOUND.replaceAll('\n', '\r\n'))]],
  ['comments', [Buffer.from(`: hello\n\n${SOUND.replaceAll('\n\n', '\n\n: keep-alive\n\n')}`)]],
  ['bytes after [DONE]', [Buffer.from(`${SOUND}data: <html>\n\nand more`)]],
  ['an event of 1 MiB', [Buffer.from(engineChunks.text('x'.repeat(1_048_576)) + SOUND)]],
])('understands an engine that sends %s, and bills it as success', async (_case, pieces) => {
  const engine = await engineThat(async (res) => {
    begin(res);
    for (const piece of pieces) {
      res.write(piece);
      await turn();
    }
    res.end();
  });
  const { url, call } = await streamed([engine]);
  const client = await connect(url);
  await until('the stream ends', client.ended);
  const { end, chunks } = checkClientStream(Buffer.from(client.text()));
  expect(end).toBe('done');
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toMatch(/HiOù \? 天気 😀$/);
  expect(call.endings).toMatchObject([{ status: 'success', usage: { promptTokens: 9, completionTokens: 3 } }]);
});

it('whatever an engine sends and wherever it stops, the client gets a whole, billed stream, or one error', async () => {
  await fc.assert(
    fc.asyncProperty(aMutatedStream, fc.boolean(), async ({ pieces }, isReset) => {
      const engine = await engineThat(async (res) => {
        begin(res);
        for (const piece of pieces) {
          res.write(piece);
          await turn();
        }
        if (isReset) res.socket?.resetAndDestroy();
        else res.end();
      });
      const { url, call } = await streamed([engine]);
      const client = await connect(url);
      await until('the stream ends', client.ended);
      if (client.status === 200) {
        const { end } = checkClientStream(Buffer.from(client.text()));
        expect(call.endings.map(({ reason }) => reason === 'completed')).toEqual([end === 'done']);
        const isCharged = call.endings[0]?.status === 'success';
        expect(isCharged).toBe(end === 'done' || call.endings[0]?.reason === 'cut_tool_calls');
      } else {
        expect([400, 500]).toContain(client.status);
        expect(call.endings).toMatchObject([{ status: 'failure' }]);
      }
      await house.closeAll();
    }),
    { numRuns: 150 },
  );
});
