import { runTurnpikeHere } from '../../support/runTurnpike.ts';
import type { CellContext } from '../cellContext.ts';
import { comparePayments, type PaymentFindings } from './comparePayments.ts';
import type { PaymentDesk } from './paymentDesk.ts';

/** From the repair until every payment is credited and has its document, at most: jobs are tried again less and less often. */
const WHOLE_WITHIN_MS = 120_000;
const toUsd = (nanoUsd: bigint): string => (Number(nanoUsd) / 1e9).toFixed(2);

/**
 * Waits until each payment of the desk is credited once and has its document. Then holds all books against each other, also by the
 * operator's own comparisons.
 */
export async function closePayments(context: CellContext, desk: PaymentDesk): Promise<void> {
  const { stack } = context;
  const since = performance.now();
  let found: PaymentFindings | undefined;
  const areWhole = async (): Promise<boolean> => {
    found = await comparePayments(stack);
    return found.problems.length === 0;
  };
  await context.until('the books of all payments to be whole', areWhole, WHOLE_WITHIN_MS);
  const wholeMs = performance.now() - since;
  for (const problem of found?.problems ?? []) context.check(false, problem);

  const { rows } = await stack.account.query(
    "SELECT count(*)::INTEGER AS count FROM top_up WHERE state = 'invoiced' AND top_up_id = ANY($1)",
    [[...desk.paid]],
  );
  context.check(rows[0].count === desk.paid.size, `${rows[0].count} of ${desk.paid.size} payments are credited`);
  // The region reports what was spent once a minute.
  await agree(context, ['wallets', 'compare', '--wait', '120']);
  await agree(context, ['payments', 'compare', '--grace', '0']);
  context.notes.push(
    `${desk.paid.size} payments credited once, ${desk.declined.size} declined, whole after ${(wholeMs / 1_000).toFixed(1)} s; the stack has ` +
      `${found?.payments} payments and ${found?.documents} documents, paid less refunded less lost $${toUsd(found?.paidNanoUsd ?? 0n)} in each book`,
  );
}

async function agree(context: CellContext, words: string[]): Promise<void> {
  const { code, stdout, stderr } = await runTurnpikeHere(words, { stackFile: context.stack.stackFile });
  context.check(code === 0, `turnpike ${words.join(' ')}: ${(stdout + stderr).trim()}`);
}
