import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { ApiError } from '@turnpike/public-api/apiError';
import { createLookUpGate, type LookUpGate } from './createLookUpGate.ts';

const PATIENT_MS = 30_000;

/** A query that runs until it is told to end, or to fail. */
function aQuery() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const query = { hasBegun: false, end: () => resolve('found'), fail: () => reject(new Error('no such table')) };
  const run = () => {
    query.hasBegun = true;
    return promise;
  };
  return { query, run };
}

/** Sends a key's queries through a gate, and gives them in that order. */
function lookUpAll(lookUp: LookUpGate, keyIds: string[]) {
  return keyIds.map((keyId) => {
    const { query, run } = aQuery();
    return Object.assign(query, { answer: lookUp(keyId, run) });
  });
}

const begun = (queries: { hasBegun: boolean }[]) => queries.map(({ hasBegun }) => hasBegun);
const kindOf = (answer: Promise<unknown>) => answer.catch((error: ApiError<{ kind: string }>) => error.fault?.kind);

it('runs as many queries at once as there are slots, and of one key no more than are its own', async () => {
  const lookUp = createLookUpGate({ slots: 3, slotsPerKey: 2, timeoutMs: PATIENT_MS });
  const queries = lookUpAll(lookUp, ['a', 'a', 'a', 'b', 'c']);
  await nextTurn();
  expect(begun(queries)).toEqual([true, true, false, true, false]);

  queries[3]?.end();
  await nextTurn();
  expect(begun(queries)).toEqual([true, true, false, true, true]);

  for (const query of queries) query.end();
  expect(await Promise.all(queries.map(({ answer }) => answer))).toEqual(Array(5).fill('found'));
});

it('gives the slot of a query that failed to the next one', async () => {
  const lookUp = createLookUpGate({ slots: 1, slotsPerKey: 1, timeoutMs: PATIENT_MS });
  const [first, second] = lookUpAll(lookUp, ['a', 'a']);
  first?.fail();
  await expect(first?.answer).rejects.toThrow('no such table');
  second?.end();
  expect(await second?.answer).toBe('found');
});

it('gives up a look-up that waits past its allowance, and never runs its query', async () => {
  const lookUp = createLookUpGate({ slots: 1, slotsPerKey: 1, timeoutMs: 50 });
  const [running, waiting] = lookUpAll(lookUp, ['a', 'b']);
  expect(await Promise.all([running, waiting].map((query) => query && kindOf(query.answer)))).toEqual([
    'usage_timeout',
    'usage_timeout',
  ]);

  running?.end();
  await nextTurn();
  expect(waiting?.hasBegun).toBe(false);
});

it('keeps a slot until its query is over, though its look-up was given up', async () => {
  const lookUp = createLookUpGate({ slots: 1, slotsPerKey: 1, timeoutMs: 50 });
  const [slow] = lookUpAll(lookUp, ['a']);
  expect(await (slow && kindOf(slow.answer))).toBe('usage_timeout');
  const [next] = lookUpAll(lookUp, ['a']);
  await nextTurn();
  expect(next?.hasBegun).toBe(false);

  const [last] = lookUpAll(lookUp, ['a']);
  for (const query of [slow, next, last]) query?.end();
  expect(await last?.answer).toBe('found');
  await next?.answer.catch(() => undefined);
});

it('lets 250 of a key wait and 1,000 in all, and refuses the next at once', async () => {
  const lookUp = createLookUpGate({ slots: 1, slotsPerKey: 1, timeoutMs: PATIENT_MS });
  const of = (keyId: string, count: number) => lookUpAll(lookUp, Array(count).fill(keyId));
  const queries = of('a', 251);
  const [another] = of('a', 1);
  expect(await (another && kindOf(another.answer))).toBe('ledger_unavailable');

  queries.push(...['b', 'c', 'd'].flatMap((keyId) => of(keyId, 250)));
  const [oneTooMany] = of('e', 1);
  expect(await (oneTooMany && kindOf(oneTooMany.answer))).toBe('ledger_unavailable');

  for (const query of queries) query.end();
  await Promise.all(queries.map(({ answer }) => answer));
});
