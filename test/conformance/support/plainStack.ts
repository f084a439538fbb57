import { afterAll, beforeAll } from '@jest/globals';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { type Client, createClient } from './http.ts';

/** The time that a call waits for a busy engine: a quarter of the default, as tests wait for its end. */
const QUEUE_TIMEOUT_MS = 5_000;

/** The one stack of all rows and client libraries that need no other; to start one takes longer than most of them. */
export let stack: TestStack;
/** A client with the key that the stack was seeded with. */
export let client: Client;

beforeAll(async () => {
  stack = await startTestStack({ kafka: false, serviceSettings: { 'model-router': { LIMITS: { QUEUE_TIMEOUT_MS } } } });
  client = createClient(stack.baseUrl, stack.apiKey);
});
afterAll(() => stack?.stop(), 60_000);
