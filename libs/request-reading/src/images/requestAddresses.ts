import { isIP, type LookupFunction } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { ImageError } from './imageError.ts';

const MAX_HEADER_BYTES = 16_384;

/** A request without its URL. */
export interface HttpRequest {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
}

/** An answer whose body has not been read yet. */
export interface HttpAnswer {
  statusCode: number;
  headers: Dispatcher.ResponseData['headers'];
  body: AsyncIterable<Buffer>;
}

/**
 * Asks for a URL at one of these addresses and no other; the name stays in `Host` and in what the certificate is checked
 * against. `read` sees the answer while the connection is open; it is dropped afterwards. Throws `connection_failed` where
 * the network or the other side failed, and whatever `signal` was aborted with.
 */
export async function requestAddresses<Result>(
  url: URL,
  { addresses, signal, request }: { addresses: string[]; signal: AbortSignal; request: HttpRequest },
  read: (answer: HttpAnswer) => Promise<Result>,
): Promise<Result> {
  const client = new Client(url.origin, {
    connect: { lookup: toLookup(addresses), autoSelectFamily: true, maxCachedSessions: 0 },
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  try {
    const path = `${url.pathname}${url.search}`;
    const answer = client.request({ ...request, path, signal });
    const { statusCode, headers, body } = await answer.catch((error: unknown) => fail(error, signal));
    return await read({ statusCode, headers, body: toChunks(body, signal) });
  } finally {
    // A connection that was cut off reports so; nobody waits for it any more.
    client.destroy().catch(() => {});
  }
}

function fail(cause: unknown, signal: AbortSignal): never {
  signal.throwIfAborted();
  throw new ImageError('connection_failed', { cause });
}

/** The body as it comes. What breaks while it is read is the network's fault; what its reader throws is not caught here. */
async function* toChunks(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    fail(error, signal);
  }
}

/** Answers with what was checked, so that no second look-up can come to another result. */
const toLookup =
  (addresses: string[]): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) {
      callback(
        null,
        addresses.map((address) => ({ address, family: isIP(address) })),
      );
    } else if (first !== undefined) callback(null, first, isIP(first));
  };
