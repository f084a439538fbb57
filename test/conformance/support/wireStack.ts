import { afterAll, beforeAll } from '@jest/globals';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { type Client, createClient } from './http.ts';

/** The requests that an address may send at once. More than the rows send from their own address. */
export const FLOOD_BURST = 1_000;
export const LISTS_PER_MINUTE = 120;

const SETTINGS = {
  edge: { LIMITS: { FLOOD_BURST, FLOOD_REQUESTS_PER_MINUTE: 60 } },
  catalog: { LIMITS: { MODEL_LIST_PER_IP_PER_MINUTE: LISTS_PER_MINUTE } },
  // A refusal of the engine has its own status only before the headers go out, however busy the machine is.
  'model-router': { LIMITS: { HEADERS_AFTER_MS: 3_000, KEEP_ALIVE_MS: 150, BETWEEN_EVENTS_TIMEOUT_MS: 3_000 } },
};

/** The one stack of all rows of streams and of HTTP. */
export let stack: TestStack;
/** A client with the key that the stack was seeded with. */
export let client: Client;

beforeAll(async () => {
  stack = await startTestStack({ kafka: false, serviceSettings: SETTINGS });
  client = createClient(stack.baseUrl, stack.apiKey);
});
afterAll(() => stack?.stop(), 60_000);
