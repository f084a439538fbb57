import { until } from '@turnpike/test-support/until';
import { listRunning } from './listRunning.ts';
import type { Account } from './makeAccount.ts';
import type { TestStack } from './startTestStack.ts';

/** Leaves a stream as soon as an engine has it and before it says anything. The headers are those that would have come. */
export async function leaveUnheard(
  stack: TestStack,
  { account: { apiKey }, body }: { account: Account; body: object },
): Promise<Headers> {
  const before = new Set((await listRunning(stack)).flat());
  const leaving = new AbortController();
  const hasBegun = fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
    signal: leaving.signal,
  }).then(
    () => true,
    () => false,
  );
  const callId = await until('an engine to be at it', async () =>
    (await listRunning(stack)).flat().find((id) => !before.has(id)),
  );
  leaving.abort();
  if (await hasBegun) throw new Error('the stream had begun already');
  return new Headers({ 'x-router-call-id': callId });
}
