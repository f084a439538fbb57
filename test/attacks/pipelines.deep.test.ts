import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEdge, type TestEdge } from '../../services/edge/test/startEdge.ts';
import { type Answer, cutAnswers } from './pipelinesAnswered.ts';
import { drawPipelines, type Item, type Pipeline } from './pipelinesDrawn.ts';

/** A new seed each time, which is printed at the end. ATTACK_SEED draws those of an earlier run, and ATTACK_PIPELINES more. */
const SEED = Number(process.env.ATTACK_SEED ?? randomInt(2 ** 31));
const PIPELINES = Number(process.env.ATTACK_PIPELINES ?? 1_000);
const CONNECTIONS = 16;
/** A connection on which nothing comes for so long hangs. */
const SILENCE_MS = 60_000;
/** Far longer than a pipeline takes. */
const LONGEST_MS = 120_000 + PIPELINES * 100;

/** Names of the calls that a service saw, by their pipeline. */
const forwarded = new Map<string, string[]>();

/** Answers a whole request with its name, at once or in a stream, as its `User-Agent` says. */
const answerByName: RequestListener = async (req, res) => {
  const [name = '', events, everyMs] = (req.headers['user-agent'] ?? '').split(' ');
  const [pipeline = ''] = name.split('-');
  forwarded.set(pipeline, [...(forwarded.get(pipeline) ?? []), name]);
  await text(req).catch(() => {});
  if (events === '0') {
    await pause(Number(everyMs));
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ name }));
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let event = 1; event <= Number(events); event += 1) {
    await pause(Number(everyMs));
    res.write(`data: ${name} ${event}/${events}\n\n`);
  }
  res.end();
};

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({
    upstreams: { auth: answerByName, 'model-router': answerByName },
    floodLimit: { requestsPerMinute: 1_000_000_000, burst: 1_000_000_000 },
  });
});
afterAll(() => edge.stop());

/** Sends a pipeline over one connection and resolves with all that comes back. */
async function send({ items, writes }: Pipeline): Promise<string> {
  const bytes = Buffer.from(items.map((item) => item.text).join(''), 'latin1');
  const socket = connect({ port: edge.port, host: '127.0.0.1', noDelay: true });
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    answer += chunk;
  });
  socket.on('error', () => {});
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  let at = 0;
  for (const { share, pauseMs } of [...writes, { share: 100, pauseMs: 0 }]) {
    await pause(pauseMs);
    const end = Math.min(at + Math.ceil((bytes.length * share) / 100), bytes.length);
    if (socket.writable && end > at) socket.write(bytes.subarray(at, end));
    at = end;
  }
  await closed;
  return answer;
}

const toDue = ({ due }: Item): string => (due === 'refusal' ? 'refusal' : due.name);

/** Whose answer it is, if it is whole and right. */
function toGiven({ status, headers, body }: Answer): string {
  const isLast = headers.includes('\r\nconnection: close\r\n');
  if (status === 400 && isLast && body.includes('"invalid_request_error"')) return 'refusal';
  const [, whole] = /^{"name":"([0-9-]+)"}$/.exec(body) ?? [];
  if (status === 200 && whole !== undefined) return whole;
  const [, name, events] = /^data: ([0-9-]+) 1\/(\d)\n\n/.exec(body) ?? [];
  const stream = Array.from({ length: Number(events) }, (_, index) => `data: ${name} ${index + 1}/${events}\n\n`);
  return status === 200 && name !== undefined && body === stream.join('') ? name : `${status} ${body}`;
}

/** Returns the fault in the answers to a pipeline, or undefined. */
async function findFault(pipeline: Pipeline): Promise<object | undefined> {
  const { index, items, writes } = pipeline;
  const due = items.slice(0, items.findIndex(({ isLast }) => isLast) + 1).map(toDue);
  const { answers, rest } = cutAnswers(await send(pipeline));
  const given = answers.map(toGiven);
  const seen = forwarded.get(String(index)) ?? [];
  const called = due.filter((name) => name !== 'refusal');
  if (isDeepStrictEqual({ given, seen, rest }, { given: due, seen: called, rest: '' })) return undefined;
  return { index, sent: items.map(({ what }) => what), writes, due, given, seen, rest };
}

it(
  `answers ${PIPELINES} random pipelines with broken requests each in its order, and forwards nothing that has no answer`,
  async () => {
    const pipelines = drawPipelines(SEED, PIPELINES);
    const findings: object[] = [];
    const left = pipelines.values();
    const work = async (): Promise<void> => {
      for (const pipeline of left) {
        const fault = await findFault(pipeline);
        if (fault) findings.push(fault);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    process.stderr.write(`${findings.length} of ${PIPELINES} pipelines of ATTACK_SEED=${SEED} answered out of order\n`);
    expect(findings.slice(0, 5)).toEqual([]);
    expect(findings).toHaveLength(0);
  },
  LONGEST_MS,
);
