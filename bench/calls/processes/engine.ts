import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import {
  EMBEDDING_MODEL,
  listLoopbacks,
  MODEL,
  type StreamBytes,
  toEmbeddingsAnswer,
  toJsonAnswer,
  toStreamBytes,
  toTextAnswer,
  toWholeAnswer,
} from '../wire.ts';

/** The behavior of the engine from now on. */
export interface EnginePlan {
  /** Tokens of each stream. */
  tokens: number;
  /** Between two tokens; 0 for all at once. */
  everyMs: number;
}

/** The requests that the engine received since its last plan. */
export interface EngineReport {
  /** When the connection of a stream closed before its end, by the text that names its request; ms of the system's clock. */
  closed: [string, number][];
}

const NAME = /cut-\d+/;
/** A request that is called something is short. */
const MOST_NAMED_BYTES = 4_096;
const HEAD_END = Buffer.from('\r\n\r\n');
const STREAM = Buffer.from('"stream":true');
const whole = toWholeAnswer();
const metrics = toTextAnswer(
  'vllm:num_requests_running{model_name="m"} 0\nvllm:num_requests_waiting{model_name="m"} 0\n',
);
const answers: Record<string, Buffer> = {
  'GET /health': toTextAnswer(''),
  'GET /metrics': metrics,
  'GET /version': toJsonAnswer({ version: '0.12.0' }),
  'GET /v1/models': toJsonAnswer({
    object: 'list',
    data: [MODEL, EMBEDDING_MODEL].map((id) => ({ id, object: 'model', owned_by: 'vllm', max_model_len: 1_048_576 })),
  }),
  'POST /v1/embeddings': toEmbeddingsAnswer(),
  'POST /tokenize': toJsonAnswer({ count: 256, max_model_len: 1_048_576 }),
};
const notAllowed = Buffer.from('HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n');
const notFound = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');

let everyMs = 20;
let bytes: StreamBytes = toStreamBytes(100);

interface Stream {
  socket: Socket;
  /** The name of its request, if it has one. */
  name: string | undefined;
  bytes: StreamBytes;
  next: number;
}
/** Streams by the millisecond of their period in which their tokens are due. */
let slots: Set<Stream>[] = Array.from({ length: everyMs }, () => new Set());
let nextSlot = 0;
let closed: EngineReport['closed'] = [];

/** The stream that a connection carries, which its end ends. */
const slotOf = new Map<Socket, { slot: Set<Stream>; stream: Stream }>();

function beginStream(socket: Socket, name: string | undefined): void {
  const stream: Stream = { socket, name, bytes, next: 0 };
  socket.write(bytes.start);
  if (everyMs === 0) {
    for (const token of bytes.tokens) socket.write(token);
    socket.write(bytes.end);
    return;
  }
  const slot = slots[nextSlot % everyMs] ?? new Set();
  nextSlot += 1;
  slot.add(stream);
  slotOf.set(socket, { slot, stream });
}

function endStream(socket: Socket): void {
  const carried = slotOf.get(socket);
  slotOf.delete(socket);
  if (!carried?.slot.delete(carried.stream)) return;
  const { name } = carried.stream;
  if (name !== undefined) closed.push([name, performance.timeOrigin + performance.now()]);
}

let tick = Math.floor(performance.now());
setInterval(() => {
  for (const now = Math.floor(performance.now()); tick < now; tick += 1) {
    if (everyMs === 0) continue;
    const slot = slots[tick % everyMs];
    for (const stream of slot ?? []) {
      const token = stream.bytes.tokens[stream.next];
      stream.next += 1;
      if (token) stream.socket.write(token);
      else {
        stream.socket.write(stream.bytes.end);
        slot?.delete(stream);
      }
    }
  }
}, 1);

/** One request after the other on a connection; a client that sends two at once is none that is used here. */
function serve(socket: Socket): void {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => endStream(socket));
  let pending: Buffer[] = [];
  let missing = 0;
  let isStream = false;
  let route = '';
  let name: string | undefined;
  socket.on('data', (chunk: Buffer) => {
    if (missing > 0) {
      missing -= chunk.length;
      isStream ||= chunk.includes(STREAM);
      if (chunk.length < MOST_NAMED_BYTES) name ??= NAME.exec(chunk.toString('latin1'))?.[0];
      if (missing <= 0) answer();
      return;
    }
    pending.push(chunk);
    const request = pending.length === 1 ? chunk : Buffer.concat(pending);
    const headEnd = request.indexOf(HEAD_END);
    if (headEnd === -1) return;
    pending = [];
    const head = request.subarray(0, headEnd).toString('latin1');
    route = head.slice(0, head.indexOf(' ', head.indexOf(' ') + 1));
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    isStream = request.includes(STREAM, headEnd);
    name = request.length < MOST_NAMED_BYTES ? NAME.exec(request.toString('latin1', headEnd))?.[0] : undefined;
    missing = headEnd + HEAD_END.length + length - request.length;
    if (missing <= 0) answer();
  });
  function answer(): void {
    missing = 0;
    if (route === 'POST /v1/chat/completions') {
      if (isStream) beginStream(socket, name);
      else socket.write(whole);
    } else if (route === 'GET /v1/chat/completions') socket.write(notAllowed);
    else socket.write(answers[route] ?? notFound);
  }
}

process.on('message', (plan: EnginePlan) => {
  everyMs = plan.everyMs;
  bytes = toStreamBytes(plan.tokens);
  slots = Array.from({ length: everyMs }, () => new Set());
  process.send?.({ closed } satisfies EngineReport);
  closed = [];
});
process.on('disconnect', () => process.exit());

/** All of `ADDRESSES` lead to it, by one port: to a router they are engines of their own. */
const [first = '', ...others] = listLoopbacks(Number(process.env.ADDRESSES ?? 1));
const listen = async (host: string, port: number): Promise<number> => {
  const server = createServer(serve).listen({ port, host, backlog: 8_192 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};
const port = await listen(first, 0);
await Promise.all(others.map((host) => listen(host, port)));
process.send?.(port);
