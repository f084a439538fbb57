import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { findBound, stack } from './stack.ts';

// Bodies that cost the router more than their sender: small ones that took long to refuse, and large ones that never end.

const MODEL = 'llama-3.1-8b-instruct';
const MIB = 1_048_576;
const ROUNDS = 40;
const allServed = new Array(ROUNDS).fill(200);

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Answer {
  status: number;
  error: { code?: string | null; param?: string | null; message?: string } | undefined;
}

async function post(apiKey: string, body: string): Promise<Answer> {
  const response = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body,
  });
  const { error } = (await response.json()) as { error?: Answer['error'] };
  return { status: response.status, error };
}

const aBody = (messages: string, more = '') => `{"model":"${MODEL}","messages":[${messages}]${more}}`;
const repeat = (text: string, count: number) => new Array(count).fill(text).join(',');

/** 96,000 members in objects of 4,000, each key with another number. */
function manyMembers(toKey: (index: number) => string): string {
  const objects = Array.from({ length: 24 }, (_, object) =>
    Array.from({ length: 4_000 }, (_member, index) => `"${toKey(object * 4_000 + index)}":1`),
  );
  return objects.map((members) => `{${members.join()}}`).join();
}

/** Returns the status of each of `ROUNDS` calls of another key, one after the other. */
async function chatOn({ apiKey }: Account): Promise<number[]> {
  const statuses: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    statuses.push((await post(apiKey, aBody('{"role":"user","content":"hello [[sim: tokens=3]]"}'))).status);
  return statuses;
}

const HOSTILE: [string, string, string | null][] = [
  [
    '20,000 empty tool calls',
    aBody(`{"role":"assistant","tool_calls":[${repeat('{}', 20_000)}]}`),
    'messages[0].tool_calls',
  ],
  [
    '45,001 of them, which were a 500',
    aBody(`{"role":"assistant","tool_calls":[${repeat('{}', 45_001)}]}`),
    'messages[0].tool_calls',
  ],
  [
    '100 messages of 450 each',
    aBody(repeat(`{"role":"assistant","tool_calls":[${repeat('{}', 450)}]}`, 100)),
    'messages[9].tool_calls',
  ],
  ['30,000 parts that are none', aBody(`{"role":"user","content":[${repeat('1', 30_000)}]}`), 'messages[0].content'],
  [
    '4,000 messages with the last one wrong',
    aBody(`${repeat('{"role":"user","content":"x"}', 4_000)},{}`),
    'messages[4000].role',
  ],
  ['30,000 messages', aBody(repeat('{"role":"user","content":"x"}', 30_000)), 'messages'],
  [
    'a key of 90,000 that stands twice',
    aBody('{"role":"user","content":"x"}', `,"metadata":[${repeat('{"a":1}', 45_000)},{"b":1,"b":2}]`),
    'metadata[45000].b',
  ],
  [
    'an object of 90,000 members',
    aBody(
      '{"role":"user","content":"x"}',
      `,"metadata":{${Array.from({ length: 90_000 }, (_, index) => `"k${index}":1`)}}`,
    ),
    null,
  ],
  [
    '96,000 keys that are numbers far apart',
    aBody('{"role":"user","content":"x"}', `,"metadata":[${manyMembers((index) => String(index * 40_000))}]`),
    'metadata',
  ],
  [
    '96,000 keys with an escape, of which one stands twice',
    aBody('{"role":"user","content":"x"}', `,"metadata":[${manyMembers((index) => `k${index}\\u0061`)},{"b":1,"b":2}]`),
    'metadata',
  ],
  [
    'a key of 96,000 in large objects that stands twice: too many to look for which',
    aBody('{"role":"user","content":"x"}', `,"metadata":[${manyMembers((index) => `k${index}`)},{"b":1,"b":2}]`),
    null,
  ],
  ['a million strings and nothing else', `[${'""'.repeat(1_000_000)}]`, null],
  ['two million escaped quotes, not closed', `{"model":"${'\\"'.repeat(2_000_000)}`, null],
];

/** Begins an upload of so many bytes and sends all but the last one, or until nobody takes more. */
function beginUpload(apiKey: string, bytes: number): Socket {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  socket.on('error', () => {});
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes - 1, ' '));
  return socket;
}

it('says of each hostile body what is wrong with it, and which field', async () => {
  const { apiKey } = await makeAccount(stack);
  for (const [name, body, param] of HOSTILE) {
    const { status, error } = await post(apiKey, body);
    expect({ name, status, param: error?.param }).toEqual({ name, status: 400, param });
  }
});

it('six hostile bodies at a time keep no other key from being served', async () => {
  const hostile = await makeAccount(stack);
  const other = await makeAccount(stack);
  let isOver = false;
  const refused: number[] = [];
  const attack = Array.from({ length: 6 }, async (_, index) => {
    for (let round = index; !isOver; round += 1) {
      const [, body = ''] = HOSTILE[round % HOSTILE.length] ?? [];
      refused.push((await post(hostile.apiKey, body)).status);
    }
  });
  const served = await chatOn(other);
  isOver = true;
  await Promise.all(attack);
  expect(served).toEqual(allServed);
  expect(refused.filter((status) => status !== 400 && status !== 429)).toEqual([]);
});

it('a key that fills its part of the memory with uploads that never end is told so, and no other key goes short', async () => {
  const apiKey = await stack.operator.makeKey(await stack.operator.makeWorkspace());
  const other = await makeAccount(stack);
  const answers: string[] = [];
  for (let upload = 0; upload < 8; upload += 1)
    beginUpload(apiKey, 20 * MIB).on('data', (data) => answers.push(data.toString('latin1')));
  for (let upload = 0; upload < 40; upload += 1)
    beginUpload(apiKey, MIB).on('data', (data) => answers.push(data.toString('latin1')));
  await until('the key to have its part', async () => (await findBound('model-router', 'body_memory')).length === 1);

  expect(await chatOn(other)).toEqual(allServed);
  const large = aBody('{"role":"user","content":"hello [[sim: tokens=3]]"}', `,"x":"${'x'.repeat(3 * MIB)}"`);
  expect((await post(other.apiKey, large)).status).toBe(200);
  expect(answers.length).toBeGreaterThan(0);
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/\r\nretry-after: 1\r\n/);
  }
});
