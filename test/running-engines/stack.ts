import { afterAll, beforeAll } from '@jest/globals';
import { type FloodingEngine, startFloodingEngine } from '../support/startFloodingEngine.ts';
import { type PlainEngine, startPlainEngine } from '../support/startPlainEngine.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import { type CountingEngine, startCountingEngine } from './startCountingEngine.ts';

/** The model's name at a plain engine, and its id in the catalog. */
export const ODD_NAME = 'Org/Odd Model:1B';
export const ODD_ID = 'odd-model-1b';
export const PLAIN_MODEL = 'plain-model';
export const FLOODING_MODEL = 'flooding-model';

/** The one stack of all tests in front of engines that it did not start. */
export let stack: TestStack;
export let plain: PlainEngine;
export let flooding: FloodingEngine;

/** Two engines of one model, which count prompts. */
export let counting: CountingEngine[];

let odd: PlainEngine;
beforeAll(async () => {
  odd = await startPlainEngine(ODD_NAME);
  plain = await startPlainEngine(PLAIN_MODEL);
  flooding = await startFloodingEngine(FLOODING_MODEL);
  counting = await Promise.all([startCountingEngine(), startCountingEngine()]);
  const engines = [odd, plain, flooding, ...counting].map(({ url }) => url);
  stack = await startTestStack({ kafka: false, engines });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([odd, plain, flooding, ...(counting ?? [])].map((engine) => engine?.stop()));
});
