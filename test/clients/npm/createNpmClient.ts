import type { Access, Client } from '../client.ts';
import type { Order, Refusal, Seen } from '../order.ts';

/** The gateway's address for a client of this process. Its calls must use this `fetch`. */
export interface NpmAccess extends Access {
  fetch: typeof fetch;
}

export type Sight = Omit<Seen, 'calls' | 'refusal'>;

export interface NpmClient extends Omit<Client, 'obey'> {
  answer(order: Order, access: NpmAccess): Promise<Sight>;
  /** Throws what is not an error of the API. */
  toRefusal(error: unknown): Refusal;
}

/** Makes a `fetch` that adds headers to each call, and each answer to `calls`. */
export const watchFetch =
  (calls: Seen['calls'], added: Access['headers'] = {}): typeof fetch =>
  async (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(added)) headers.set(name, value);
    const response = await fetch(input, { ...init, headers });
    // To see whether forms can be sent, one asks for a `data:` address.
    if (!String(input).startsWith('data:'))
      calls.push({ callId: response.headers.get('x-router-call-id'), status: response.status });
    return response;
  };

/** A client that runs in this process. */
export function createNpmClient({ answer, toRefusal, ...client }: NpmClient): Client {
  return {
    ...client,
    async obey(order, access) {
      const calls: Seen['calls'] = [];
      try {
        return { calls, ...(await answer(order, { ...access, fetch: watchFetch(calls, access.headers) })) };
      } catch (error) {
        return { calls, refusal: toRefusal(error) };
      }
    },
  };
}
