import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendRaw } from './sendRaw.ts';
import { startEdge, type TestEdge } from './startEdge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({
    upstreams: {
      'model-router': (req, res) => {
        if (req.url === '/v1/completions') return void res.end('{}');
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write('data: one\n\n');
      },
    },
  });
});
afterAll(() => edge.stop());

const POST = 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n';

it.each([
  ['no HTTP', 'hello\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/2.0 in words', 'GET /v1/models HTTP/2.0\r\nHost: a\r\n\r\n'],
  ['HTTP/0.9', 'GET /v1/models HTTP/0.9\r\nHost: a\r\n\r\n'],
  ['HTTP/1.2', 'GET /v1/models HTTP/1.2\r\nHost: a\r\n\r\n'],
  ['chunks of HTTP/1.0', 'POST /v1/chat/completions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a method of no standard', 'BREW /v1/models HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a tunnel', 'CONNECT /v1/models HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['bare line feeds', 'GET /v1/models HTTP/1.1\nHost: a\n\n'],
  ['a NUL in a header', 'GET /v1/models HTTP/1.1\r\nHost: a\r\nx: 1\0\r\n\r\n'],
  ['a control character in the target', 'GET /v1/mo\x01dels HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n'],
  ['two framings', `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`],
  ['a signed length', `${POST}Content-Length: +4\r\n\r\nabcd`],
  ['a folded header', 'GET /v1/models HTTP/1.1\r\nHost: a\r\nx: 1\r\n 2\r\n\r\n'],
  ['a space before the colon', `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
  ['too large headers', `GET /v1/models HTTP/1.1\r\nHost: a\r\nx: ${'1'.repeat(20_000)}\r\n\r\n`],
  ['another expectation', `${POST}Expect: a-miracle\r\nContent-Length: 0\r\n\r\n`],
])('%s is a small JSON 400, the connection closes, and no service sees it', async (_case, text) => {
  const answer = await sendRaw(edge.port, text);

  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer.toLowerCase()).toContain('connection: close');
  expect(answer).toMatch(/x-request-id: [0-9a-f-]{36}\r\n/);
  expect(answer).toContain('content-type: application/json');
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  expect(JSON.parse(body)).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: null },
  });
  expect(edge.received).toHaveLength(0);
});

it.each([
  ['no host', 'GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['two hosts', 'GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
  ['two hosts in HTTP/1.0', 'GET /v1/models HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['a coding beside chunks', `${POST}Transfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n`],
])('%s is a JSON 400 with a request id, and no service sees it', async (_case, text) => {
  const answer = await sendRaw(edge.port, text);

  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toMatch(/x-request-id: [0-9a-f-]{36}\r\n/);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
    error: { type: 'invalid_request_error' },
  });
  expect(edge.received).toHaveLength(0);
});

it.each([
  ['GET with a body', 'GET /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n', 'hello', 'catalog'],
  ['a query nobody asked for', 'GET /v1/models?a=1&b&c=%zz HTTP/1.1\r\nHost: a\r\n', '', 'catalog'],
  ['an offer to upgrade', 'GET /v1/models HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n', '', 'catalog'],
  ['HTTP/1.0', 'GET /v1/models HTTP/1.0\r\nHost: a\r\n', '', 'catalog'],
  ['HTTP/1.0 without a host', 'GET /v1/models HTTP/1.0\r\n', '', 'catalog'],
])('%s is served like any other', async (_case, head, body, upstream) => {
  const answer = await sendRaw(edge.port, `${head}Connection: close\r\n\r\n${body}`);

  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(edge.received.splice(0).map((received) => received.upstream)).toEqual([upstream]);
});

it.each([
  ['a wrong method', 'PUT /v1/models', 405],
  ['a path that does not exist', 'POST /v1/nothing', 404],
  ['a service that refuses before the body is whole', 'POST /v1/completions', 200],
])(
  '%s with 10 MiB of body is answered, also where the client reads only after it has sent them',
  async (_case, line, status) => {
    const body = Buffer.alloc(10 * 1_048_576);
    const head = `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
    const statuses: unknown[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const socket = connect(edge.port, '127.0.0.1').pause();
      socket.write(head);
      const error = await new Promise((resolve) => socket.write(body, resolve));
      let answer = '';
      socket.on('error', () => {}).on('data', (chunk) => (answer += chunk));
      socket.resume();
      await new Promise((resolve) => socket.once('close', resolve));
      statuses.push(error ?? Number(answer.split(' ', 2)[1]));
    }
    edge.received.splice(0);

    expect(statuses).toEqual(Array.from({ length: 20 }, () => status));
  },
);

it('two keys are none: the service behind sees something that is no key', async () => {
  const keys = 'Authorization: Bearer sk-one\r\nAuthorization: Bearer sk-two\r\n';
  await sendRaw(edge.port, `GET /v1/models HTTP/1.1\r\nHost: a\r\n${keys}Connection: close\r\n\r\n`);

  expect(edge.received.splice(0).map(({ req }) => req.headers.authorization)).toEqual(['two keys']);
});

it('a broken body whose request has its answer already gets no second one', async () => {
  const socket = connect(edge.port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk;
    if (answer.endsWith('}')) socket.write('not a chunk size\r\n');
  });
  socket.on('error', () => {});
  socket.write('GET /v1/models HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n');
  await once(socket, 'close');
  edge.received.splice(0);

  expect(answer.match(/HTTP\/1\.1/g)).toEqual(['HTTP/1.1']);
  expect(answer).toContain('HTTP/1.1 200 OK');
});

it('a broken body while the answer is being streamed destroys the connection instead of writing into it', async () => {
  const socket = connect(edge.port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk;
    if (answer.includes('data: one')) socket.write('not a chunk size\r\n');
  });
  socket.on('error', () => {});
  socket.write(`${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`);
  await once(socket, 'close');

  expect(answer).toContain('data: one');
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
});
