import type { CellContext } from '../cellContext.ts';

/** The looks that come by a schedule: at the tables, and at the disputes of the processor. */
const SWEEPS = ['top_up_sweep', 'reversal_sweep', 'dispute_poll', 'document_sweep'];
const SWEPT_WITHIN_MS = 60_000;

/** Runs the sweeps now, as their schedule does, and waits for their end. */
export async function sweepPayments(context: CellContext): Promise<void> {
  const { account } = context.stack;
  const { rows } = await account.query('INSERT INTO pgboss.job (name) SELECT unnest($1::TEXT[]) RETURNING id', [
    SWEEPS,
  ]);
  const ids = rows.map(({ id }) => id);
  const areOver = async (): Promise<boolean> => {
    const { rows: open } = await account.query("SELECT 1 FROM pgboss.job WHERE id = ANY($1) AND state <> 'completed'", [
      ids,
    ]);
    return open.length === 0;
  };
  await context.until('the end of the nightly sweeps', areOver, SWEPT_WITHIN_MS);
}
