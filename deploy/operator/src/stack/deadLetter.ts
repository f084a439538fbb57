import type { DeadLetter } from '@turnpike/internal-api/usageLedger';
import type { Services } from './createServices.ts';
import { readPages } from './readPages.ts';

/** Those that wait to be replayed, or with `isAll` every one there ever was. */
export function readDeadLetters({ ledger }: Services, { isAll }: { isAll: boolean }): Promise<DeadLetter[]> {
  return readPages(async (after) => {
    const params = { after: after || undefined, replayed: isAll ? ('include' as const) : undefined };
    const { dead_letters: entries, next_after: nextAfter } = await ledger.listDeadLetters({ params });
    return { entries, nextAfter };
  });
}
