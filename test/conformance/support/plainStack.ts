import { afterAll, beforeAll } from '@jest/globals';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { type Client, createClient } from './http.ts';

/** The one stack, with settings as they come, of all rows and client libraries that need no other; to start one takes longer than most of them. */
export let stack: TestStack;
/** Has the key that the stack was seeded with. */
export let client: Client;

beforeAll(async () => {
  stack = await startTestStack({ kafka: false });
  client = createClient(stack.baseUrl, stack.apiKey);
}, 120_000);
afterAll(() => stack?.stop(), 60_000);
