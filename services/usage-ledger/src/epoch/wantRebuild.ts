import type { Transaction } from '../database/inTransaction.ts';

/**
 * Notes that the balances which the gate counts with have to be built anew, where they were built without the call of a dead
 * letter, which has its row only now (decision page: when Redis is lost). Of a letter that came later they have the call, from
 * when it was settled. To be called after the row is written, as the last thing of its transaction: until that commits, the
 * epoch stays in its phase.
 */
export async function wantRebuild(tx: Transaction, deadLetterId: bigint): Promise<void> {
  // Whatever the phase, or it could move on before the row can be seen. What drains will be built with the row.
  await tx.$queryRaw`SELECT phase FROM redis_epoch FOR UPDATE`;
  // A letter's instant is rounded to milliseconds; balances are rather built once too often.
  await tx.$executeRaw`
    UPDATE redis_epoch
    SET rebuild_wanted_since = coalesce(rebuild_wanted_since, clock_timestamp()), rebuild_wanted_at = clock_timestamp()
    WHERE phase = 'asserting'
      OR phase = 'open' AND balances_since + interval '1 ms' > (
        SELECT recorded_at FROM dead_letter WHERE dead_letter_id = ${deadLetterId})`;
}
