import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '@turnpike/engine-simulator/engine/clock';
import { bendJson } from '../faults/bendJson.ts';
import type { Fault } from '../faults/fault.ts';
import type { RequestEntry } from '../replica/replicaLog.ts';
import type { Answer } from '../wire/answer.ts';

const HTML_PAGE = '<html><head><title>nginx</title></head><body>Welcome to nginx!</body></html>';
const ENDLESS_CHUNK = Buffer.alloc(64 * 1024);
const ENDLESS_INTERVAL_MS = 1;

/** The dependencies of sending an answer. */
export interface Sending {
  res: ServerResponse;
  entry: RequestEntry;
  fault: Fault | undefined;
  clock: Clock;
}

/** Sends an answer and counts its bytes; a fault of the body decides what becomes of it. Resolves when that is over. */
export async function sendAnswer(answer: Answer, sending: Sending): Promise<void> {
  const { fault, res, entry } = sending;
  if (fault?.kind === 'answer_lost') {
    res.socket?.resetAndDestroy();
    entry.state = 'broken';
    return;
  }
  const headers = headersOf(answer);
  if (fault?.kind === 'wrong_type') headers['content-type'] = 'text/html';
  if (fault?.kind === 'html_with_200')
    return sendBytes(Buffer.from(HTML_PAGE), { 'content-type': 'text/html' }, 200, sending);
  if ('stream' in answer) return sendStream(answer.stream, headers, answer.status, sending);
  const whole = 'json' in answer ? Buffer.from(JSON.stringify(bendJson(answer.json, fault?.kind))) : answer.body;
  const body = fault?.kind === 'invalid_json' ? whole.subarray(0, Math.floor(whole.length / 2)) : whole;
  return sendBytes(body, headers, answer.status, sending);
}

const headersOf = (answer: Answer): OutgoingHttpHeaders =>
  'json' in answer ? { 'content-type': 'application/json' } : { ...answer.headers };

async function sendBytes(body: Buffer, headers: OutgoingHttpHeaders, status: number, sending: Sending): Promise<void> {
  const { res, fault, clock } = sending;
  const { kind, afterBytes = 0, byteMs = 0 } = fault ?? {};
  const head = (length: number | undefined) =>
    writeHead(res, status, { ...headers, ...(length !== undefined && { 'content-length': length }) });
  switch (kind) {
    case 'body_empty':
      head(0);
      return end(sending);
    case 'body_short': {
      const half = body.subarray(0, Math.floor(body.length / 2));
      head(half.length);
      await write(half, sending);
      return end(sending);
    }
    case 'wrong_length':
      head(body.length + 100);
      await write(body, sending);
      return breakOff(sending);
    case 'body_reset':
      head(body.length);
      await write(body.subarray(0, afterBytes), sending);
      return breakOff(sending);
    case 'body_slow':
      head(body.length);
      for (let at = 0; at < body.length && !res.destroyed; at += 1) {
        await pause(clock, byteMs);
        await write(body.subarray(at, at + 1), sending);
      }
      return end(sending);
    case 'body_endless':
      head(undefined);
      await write(body, sending);
      while (!res.destroyed) {
        await write(ENDLESS_CHUNK, sending);
        await pause(clock, ENDLESS_INTERVAL_MS);
      }
      return;
    default:
      head(body.length);
      await write(body, sending);
      return end(sending);
  }
}

/** Pieces as they are made. One that fails to be made breaks the connection, as the status is long out. */
async function sendStream(
  stream: AsyncIterable<Buffer>,
  headers: OutgoingHttpHeaders,
  status: number,
  sending: Sending,
): Promise<void> {
  const { res, entry, fault } = sending;
  writeHead(res, status, headers);
  res.flushHeaders();
  const limit = fault?.kind === 'body_reset' ? fault.afterBytes : Number.POSITIVE_INFINITY;
  try {
    for await (const piece of stream) {
      if (res.destroyed) return;
      const room = limit - entry.bytesServed;
      await write(piece.subarray(0, room), sending);
      if (piece.length >= room) return breakOff(sending);
    }
  } catch {
    return breakOff(sending);
  }
  return end(sending);
}

/** Resolves when the bytes are handed to the system, or when nobody takes them any more. */
function write(bytes: Buffer, { res, entry }: Sending): Promise<void> {
  if (bytes.length === 0 || res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    res.once('close', resolve);
    res.write(bytes, (error) => {
      res.off('close', resolve);
      if (!error) entry.bytesServed += bytes.length;
      resolve();
    });
  });
}

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.wakeAfter(ms, resolve));

function end({ res, entry }: Sending): Promise<void> {
  if (res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    res.once('close', resolve);
    res.end(() => {
      entry.state = 'answered';
      resolve();
    });
  });
}

function breakOff({ res, entry }: Sending): void {
  entry.state = 'broken';
  res.socket?.resetAndDestroy();
}

/** Writes a head like the servers below these engines: with their name, and without a word about keeping the connection. */
function writeHead(res: ServerResponse, status: number, headers: OutgoingHttpHeaders): void {
  res.removeHeader('connection');
  res.writeHead(status, { server: 'uvicorn', ...headers });
}
