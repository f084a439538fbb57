import { connect } from 'node:net';

const TIMEOUT_MS = 30_000;

export interface RawAnswer {
  status: number;
  /** Names in lower case. */
  headers: Map<string, string>;
  body: string;
}

export interface RawSending {
  /** The client's own address, one of 127.0.0.0/8: a source IP that no other test has. */
  localAddress?: string;
}

/** Sends the bytes of a request as they stand, which no HTTP client would, and reads the answer to the connection's end. */
export function sendRaw(
  baseUrl: string,
  bytes: string | Buffer,
  { localAddress }: RawSending = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port), ...(localAddress !== undefined && { localAddress }) });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(parseAnswer(Buffer.concat(chunks).toString('utf8'))));
  });
}

/** A request without a body, for a raw target. */
export const aRawRequest = (method: string, target: string, headers: Record<string, string> = {}): string =>
  [
    `${method} ${target} HTTP/1.1`,
    'Host: test',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(statusLine.split(' ')[1]), headers: new Map(headers), body: rest.join('\r\n\r\n') };
}
