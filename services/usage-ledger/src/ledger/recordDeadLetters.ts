import type { Transaction } from '../database/inTransaction.ts';
import type { Partition } from './eventOffset.ts';

/** A record that cannot be recorded, and why. */
export interface DeadLetter {
  offset: bigint;
  reason: string;
  payload: Buffer;
}

/** Keeps records that cannot be read, as they are, for people to look at. The same record is kept once. */
export async function recordDeadLetters(
  tx: Transaction,
  { topic, partition }: Partition,
  letters: DeadLetter[],
): Promise<void> {
  const data = letters.map(({ offset, reason, payload }) => ({
    topic,
    partition,
    offset,
    reason,
    payload: new Uint8Array(payload),
  }));
  if (data.length > 0) await tx.deadLetter.createMany({ data, skipDuplicates: true });
}
