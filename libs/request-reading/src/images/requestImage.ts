import { type HttpAnswer, requestAddresses } from './requestAddresses.ts';

const HEADERS = {
  accept: 'image/png, image/jpeg, image/webp, image/gif',
  // A few compressed bytes can stand for gigabytes.
  'accept-encoding': 'identity',
  'user-agent': 'Turnpike',
};

/** Asks for an image at one of these addresses and no other. Throws as `requestAddresses` does. */
export const requestImage = <Result>(
  url: URL,
  options: { addresses: string[]; signal: AbortSignal },
  read: (answer: HttpAnswer) => Promise<Result>,
): Promise<Result> => requestAddresses(url, { ...options, request: { method: 'GET', headers: HEADERS } }, read);
