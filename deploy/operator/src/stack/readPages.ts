import type { DeadLetter } from '@turnpike/internal-api/usageLedger';
import type { Services } from './createServices.ts';
/** Reads a list to its end: `readPage` is given the id to go on after and answers with the one to ask with next. */
export async function readPages<Entry>(
  readPage: (after: string) => Promise<{ entries: Entry[]; nextAfter: string | null }>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  let after: string | null = '';
  while (after !== null) {
    const page: { entries: Entry[]; nextAfter: string | null } = await readPage(after);
    all.push(...page.entries);
    after = page.nextAfter;
  }
  return all;
}

/** Those that wait to be replayed, or with `isAll` every one there ever was. */
export function readDeadLetters({ ledger }: Services, { isAll }: { isAll: boolean }): Promise<DeadLetter[]> {
  return readPages(async (after) => {
    const params = { after: after || undefined, replayed: isAll ? ('include' as const) : undefined };
    const { dead_letters: entries, next_after: nextAfter } = await ledger.listDeadLetters({ params });
    return { entries, nextAfter };
  });
}
