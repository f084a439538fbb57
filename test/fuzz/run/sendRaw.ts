import { connect } from 'node:net';
import type { Answer } from '../oracle/answer.ts';

/** Asked for after the first answer: whatever comes before its own is an answer to the bytes. */
const LAST_REQUEST = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** Sends bytes as they stand and reads all that comes back until the server closes. Rejects if it does not, or says nothing. */
export function sendRaw(origin: string, bytes: Buffer, { timeoutMs }: { timeoutMs: number }): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port) });
    socket.setTimeout(timeoutMs, () =>
      socket.destroy(new Error(`the connection was still open after ${timeoutMs} ms`)),
    );
    socket.on('connect', () => socket.write(bytes));
    let isLastAsked = false;
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (isLastAsked || !splitAnswers(Buffer.concat(chunks))[0]?.isWhole) return;
      isLastAsked = true;
      socket.write(LAST_REQUEST);
    });
    let failure: Error | undefined;
    socket.on('error', (error) => {
      failure = error;
    });
    // A server that refuses before it has read all may reset the connection after its answer: what came still counts.
    socket.on('close', () => {
      const answers = splitAnswers(Buffer.concat(chunks));
      const [first] = answers;
      const isLast = answers.length > 1 && isLastAsked && answers.at(-1)?.status === 404;
      if (first === undefined) reject(failure ?? new Error('the connection closed without an answer'));
      else resolve({ ...first, answers: answers.length - (isLast ? 1 : 0) });
    });
  });
}

interface RawAnswer extends Omit<Answer, 'answers'> {
  /** Whether it came to the end that it announced. */
  isWhole: boolean;
}

/** The final answers in what a connection gave; one that is cut is one. */
function splitAnswers(bytes: Buffer): RawAnswer[] {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return [];
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim());
  const rest = bytes.subarray(end + 4);
  if (status === 100) return splitAnswers(rest);
  const length = headers.get('content-length');
  const { body, isWhole, size } = length === null ? readChunks(rest) : readLength(rest, Number(length));
  return [{ status, headers, body, isWhole }, ...splitAnswers(rest.subarray(size))];
}

interface RawBody {
  body: Buffer;
  isWhole: boolean;
  /** Bytes that it takes on the wire. */
  size: number;
}

function readLength(bytes: Buffer, length: number): RawBody {
  const body = bytes.subarray(0, length);
  return { body, isWhole: body.length === length, size: body.length };
}

function readChunks(bytes: Buffer): RawBody {
  const chunks: Buffer[] = [];
  for (let position = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', position);
    const size = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (lineEnd === -1 || next > bytes.length)
      return { body: Buffer.concat(chunks), isWhole: false, size: bytes.length };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    if (size === 0) return { body: Buffer.concat(chunks), isWhole: true, size: next };
    position = next;
  }
}
