import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { type Caller, makeCaller } from '../support/makeCaller.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';

/** The one stack of all files here, with settings as they come: to start one takes longer than most of their tests. */
export let stack: TestStack;
/** A client of this test alone. */
export let caller: Caller;

beforeAll(async () => {
  stack = await startTestStack({ kafka: false });
}, 120_000);
afterAll(() => stack?.stop(), 60_000);
beforeEach(async () => {
  caller = await makeCaller(stack);
});
