import type { Transaction } from '../database/inTransaction.ts';
import { statements } from '../database/statements.ts';

/**
 * Notes that the balances which the gate counts with have to be built anew, where they were built without the call of a dead
 * letter, which has its row only now (decision page: when Redis is lost). Of a letter that came later they have the call, from
 * when it was settled. To be called after the row is written, as the last thing of its transaction: until that commits, the
 * epoch stays in its phase.
 */
export async function wantRebuild(tx: Transaction, deadLetterId: bigint): Promise<void> {
  // Whatever the phase, or it could move on before the row can be seen. What drains will be built with the row.
  await tx.$queryRaw(statements.lockEpoch());
  await tx.$executeRaw(statements.wantRebuild(deadLetterId));
}
