import { expect, it } from '@jest/globals';
import { isOfAnotherCall } from './answerFields.ts';

const CALL_ID = '01923f6a-7b3c-7def-8123-456789abcdef';
const OTHER_ID = '01923f6a-7b3c-7def-8123-456789abcdee';

it.each<[unknown, boolean]>([
  [`chatcmpl-${CALL_ID}`, false],
  [`chatcmpl-${CALL_ID}-2`, false],
  [`cmpl-${CALL_ID}-0`, false],
  [`embd-${CALL_ID}`, false],
  [`chatcmpl-${OTHER_ID}`, true],
  [`cmpl-${OTHER_ID}-2`, true],
  [OTHER_ID, true],
  ['chatcmpl-1', false],
  ['chatcmpl-123', false],
  // A UUIDv4, and one without hyphens: of an engine's own making.
  ['chatcmpl-8f14e45f-ceea-467f-a0e6-0a3f7c1d2b9e', false],
  ['chatcmpl-01923f6a7b3c7def8123456789abcdee', false],
  ['', false],
  [7, false],
  [undefined, false],
])('tells from the id %j whether an answer is of another call: %s', (id, isOther) => {
  expect(isOfAnotherCall({ id }, { callId: CALL_ID, engine: { repeatsCallIds: true } })).toBe(isOther);
});

it('takes no id for that of another call before the engine has repeated one', () => {
  const call = { callId: CALL_ID, engine: { repeatsCallIds: false } };
  expect(isOfAnotherCall({ id: `chatcmpl-${OTHER_ID}` }, call)).toBe(false);
  expect(isOfAnotherCall({ id: `chatcmpl-${CALL_ID}` }, call)).toBe(false);
  expect(isOfAnotherCall({ id: `chatcmpl-${OTHER_ID}` }, call)).toBe(true);
});
