import { expect, it } from '@jest/globals';
import { resolveHost } from './resolveHost.ts';

it('ends with what it is aborted with, before the question and while it waits for answers', async () => {
  const reason = new Error('enough');
  await expect(resolveHost('no-such-host.invalid', AbortSignal.abort(reason))).rejects.toBe(reason);
  const aborting = new AbortController();
  const resolving = resolveHost('no-such-host.invalid', aborting.signal);
  aborting.abort(reason);
  await expect(resolving).rejects.toBe(reason);
});
