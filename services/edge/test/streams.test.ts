import { once } from 'node:events';
import { Agent, type IncomingMessage, type RequestListener, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { sendRaw } from './sendRaw.ts';
import { startEdge, type TestEdge } from './startEdge.ts';

interface Call {
  req: IncomingMessage;
  res: ServerResponse;
}

/** An edge in front of a router that a test plays by hand: `nextCall` resolves when a call has reached it. */
async function withRouter(run: (edge: TestEdge, nextCall: () => Promise<Call>) => Promise<void>): Promise<void> {
  let arrived = Promise.withResolvers<Call>();
  const answer: RequestListener = (req, res) => arrived.resolve({ req, res });
  const edge = await startEdge({ upstreams: { 'model-router': answer } });
  const nextCall = async (): Promise<Call> => {
    const call = await arrived.promise;
    arrived = Promise.withResolvers();
    return call;
  };
  await run(edge, nextCall).finally(() => edge.stop());
}

/** Begins a chat call whose body the caller writes. */
function beginChat(edge: TestEdge, headers: Record<string, string> = {}, agent?: Agent) {
  const call = request(`${edge.url}/v1/chat/completions`, { method: 'POST', headers, agent });
  const response = once(call, 'response').then(([res]) => res as IncomingMessage);
  response.catch(() => {});
  return { call, response };
}

const SSE = { 'content-type': 'text/event-stream' };

it('passes a stream on event by event: headers before the first, each before the next is written', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge);
    client.call.end('{}');
    const { res } = await nextCall();
    res.writeHead(200, SSE).flushHeaders();
    const response = await client.response;
    expect(response.headers['content-type']).toBe('text/event-stream');
    for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: [DONE]\n\n']) {
      res.write(event);
      const [chunk] = await once(response, 'data');
      expect(String(chunk)).toBe(event);
    }
    res.end();
    await once(response, 'end');
    expect(response.complete).toBe(true);
  }));

it('passes a request body on while it is still being sent', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge);
    client.call.write('first ');
    const { req, res } = await nextCall();
    const [chunk] = await once(req, 'data');
    expect(String(chunk)).toBe('first ');
    const rest = text(req);
    client.call.end('second');
    expect(await rest).toBe('second');
    res.end('{}');
    expect(await text(await client.response)).toBe('{}');
  }));

it('ends the call at the router at once when the client leaves within a stream', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge);
    client.call.end('{}');
    const { res } = await nextCall();
    res.writeHead(200, SSE).write('data: 1\n\n');
    await once(await client.response, 'data');
    const left = once(res, 'close');
    client.call.destroy();
    await left;
    expect(res.writableFinished).toBe(false);
  }));

it('ends the call at the router at once when the client leaves before the answer', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge);
    client.call.on('error', () => {});
    client.call.end('{}');
    const { res } = await nextCall();
    const left = once(res, 'close');
    client.call.destroy();
    await left;
    expect(res.writableFinished).toBe(false);
  }));

it('ends the call at the router at once when the client leaves within its request body', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge, { 'content-length': '1000' });
    client.call.on('error', () => {});
    client.call.write('half');
    const { req } = await nextCall();
    const cut = once(req.resume(), 'error');
    client.call.destroy();
    expect(await cut).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(req.complete).toBe(false);
  }));

it.each([
  ['chunked', SSE],
  ['of a stated length', { 'content-length': '1000' }],
])(
  'a router that dies within an answer %s destroys the client’s connection, so that the end cannot pass for whole',
  (_case, headers) =>
    withRouter(async (edge, nextCall) => {
      const client = beginChat(edge);
      client.call.end('{}');
      const { res } = await nextCall();
      res.writeHead(200, headers).write('data: 1\n\n');
      const response = await client.response;
      await once(response, 'data');
      const failed = once(response, 'error');
      res.socket?.destroy();
      const [error] = await failed;
      expect(error).toMatchObject({ code: 'ECONNRESET' });
      expect(response.complete).toBe(false);
    }),
);

it('a slow client slows the router down instead of filling the edge', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge);
    client.call.end('{}');
    const { res } = await nextCall();
    res.writeHead(200, SSE).flushHeaders();
    const response = await client.response;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    // Until the router has to wait: what the sockets and buffers on the way hold, some 8 MiB.
    while (res.write(chunk) || (await drained(res))) written += chunk.length;
    expect(written).toBeLessThan(64 * 1024 * 1024);
    response.resume();
    await once(res, 'drain');
    res.end();
    await once(response, 'end');
  }));

/** Whether a full buffer empties while nobody reads at the other end: not within this time, then never. */
async function drained(res: ServerResponse): Promise<boolean> {
  const draining = once(res, 'drain', { signal: AbortSignal.timeout(500) });
  return draining.then(
    () => true,
    () => false,
  );
}

it('answers Expect: 100-continue itself and passes the body on', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge, { expect: '100-continue', 'content-length': '2' });
    await once(client.call, 'continue');
    client.call.end('{}');
    const { req, res } = await nextCall();
    expect(req.headers.expect).toBeUndefined();
    expect(await text(req)).toBe('{}');
    res.end('done');
    expect(await text(await client.response)).toBe('done');
  }));

it('passes an answer on that comes before the request body is whole', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge, { 'content-length': String(8 * 1024 * 1024) });
    client.call.on('error', () => {});
    client.call.write('half');
    const { res } = await nextCall();
    res.writeHead(400, { 'content-type': 'application/json', connection: 'close' }).end('{"error":{}}');
    const response = await client.response;
    expect(response.statusCode).toBe(400);
    expect(await text(response)).toBe('{"error":{}}');
    client.call.destroy();
  }));

it('passes a refusal on that comes while a chunked body is being sent, of which the rest goes nowhere', () =>
  withRouter(async (edge, nextCall) => {
    const agent = new Agent({ keepAlive: true });
    const client = beginChat(edge, { 'content-encoding': 'gzip' }, agent);
    client.call.write(Buffer.alloc(4 * 1024 * 1024));
    const { req, res } = await nextCall();
    expect(req.headers.connection).toBe('keep-alive');
    const closed = new Promise((resolve) => req.socket.once('close', resolve));
    res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{}}');
    const response = await client.response;
    expect(response.statusCode).toBe(401);
    expect(await text(response)).toBe('{"error":{}}');
    // Waiting for the rest it would be lost to other calls, and anybody could take all there are.
    await closed;
    client.call.end('the rest');
    await once(agent, 'free');
    agent.destroy();
  }));

it('passes a compressed request on as it is: the router refuses it in its own words', () =>
  withRouter(async (edge, nextCall) => {
    const client = beginChat(edge, { 'content-encoding': 'gzip' });
    client.call.end('not even gzip');
    const { req, res } = await nextCall();
    expect(req.headers['content-encoding']).toBe('gzip');
    expect(await text(req)).toBe('not even gzip');
    res.writeHead(400).end('{}');
    expect((await client.response).statusCode).toBe(400);
  }));

it('sends a body of any transfer coding on as plain chunks', () =>
  withRouter(async (edge, nextCall) => {
    const head =
      'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = sendRaw(edge.port, `${head}2;note=1\r\n{}\r\n0\r\ntrailer: 1\r\n\r\n`);
    const { req, res } = await nextCall();
    expect(await text(req)).toBe('{}');
    expect(req.headers['transfer-encoding']).toBe('chunked');
    expect(req.trailers).toEqual({});
    res.end('ok');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  }));

it('serves pipelined requests one after the other, each with its own answer', async () => {
  const edge = await startEdge();
  const socket = connect(edge.port, '127.0.0.1');
  socket.write(
    'GET /v1/svc/key HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  const answers = await text(socket);
  expect(answers.match(/"upstream":"[^"]+"/g)).toEqual(['"upstream":"auth"', '"upstream":"catalog"']);
  await edge.stop();
});
