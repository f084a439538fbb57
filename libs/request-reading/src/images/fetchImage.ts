import { findDialledAddresses, followRedirect, parseImageUrl } from './imageAddress.ts';
import { ImageError } from './imageError.ts';
import type { HttpAnswer } from './requestAddresses.ts';
import { requestImage } from './requestImage.ts';
import type { ResolveHost } from './resolveHost.ts';

const MAX_REDIRECTS = 3;
const MAX_IMAGE_BYTES = 20 * 1_048_576;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchImageOptions {
  /** Hosts and ports, `host:port`, that need be neither public nor the scheme's own. */
  privateHosts: ReadonlySet<string>;
  resolve: ResolveHost;
  /** Ends the fetch; what it is aborted with is thrown. */
  signal: AbortSignal;
  /** Makes room for bytes before they are kept; throws if there is none. */
  takeRoom: (bytes: number) => void;
}

/**
 * Fetches what lies at a client's address, with every rule applied again at every redirect.
 * Throws an `ImageError`. Whether the bytes are an image is not looked at.
 */
export async function fetchImage(address: string, options: FetchImageOptions): Promise<Buffer> {
  let url = parseImageUrl(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const addresses = await findDialledAddresses(url, options);
    const answer = await requestImage(url, { addresses, signal: options.signal }, (response) =>
      read(response, options),
    );
    if (Buffer.isBuffer(answer)) return answer;
    url = followRedirect(url, answer.location);
  }
  throw new ImageError('too_many_redirects');
}

async function read(
  { statusCode, headers, body }: HttpAnswer,
  { takeRoom }: FetchImageOptions,
): Promise<Buffer | { location: string }> {
  if (REDIRECTS.has(statusCode) && typeof headers.location === 'string') return { location: headers.location };
  if (statusCode !== 200) throw new ImageError('unexpected_status');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new ImageError('encoded');
  if (Number(headers['content-length'] ?? 0) > MAX_IMAGE_BYTES) throw new ImageError('too_large');

  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_IMAGE_BYTES) throw new ImageError('too_large');
    takeRoom(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
