import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFaketime } from '@turnpike/local-stack/tools/ensureFaketime';
import { CannotInject } from '../cannotInject.ts';
import type { FaultStack } from './startFaultStack.ts';

/** The clocks of one part. */
export interface FakeClock {
  /** They are so many seconds ahead of the machine's from now on, or behind it. */
  setAhead(seconds: number): Promise<void>;
}

/**
 * Starts a part again with clocks of its own, which are right at first; for a stack that no other cell uses. `monotonic`: its monotonic
 * clock moves with the other one. Throws `CannotInject` where libfaketime is missing.
 */
export async function fakeClock(
  stack: FaultStack,
  { part, monotonic = false }: { part: string; monotonic?: boolean },
): Promise<FakeClock> {
  const library = await ensureFaketime(() => undefined).catch((error: Error) => {
    throw new CannotInject(error.message);
  });
  const file = join(stack.stateDir, `clock-${part}`);
  const setAhead = (seconds: number): Promise<void> =>
    writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`, { mode: 0o644 });
  await setAhead(0);
  await stack.parts.kill(part);
  await stack.parts.restart(part, {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    ...(!monotonic && { FAKETIME_DONT_FAKE_MONOTONIC: '1' }),
  });
  await stack.untilReady();
  return { setAhead };
}
