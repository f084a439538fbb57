import type { Transaction } from '../database/inTransaction.ts';
import { statements } from '../database/statements.ts';
import type { Partition } from '../event-log/eventOffset.ts';

/** A record that cannot be recorded, and why. */
export interface DeadLetter {
  offset: bigint;
  reason: string;
  payload: Buffer;
}

/** Keeps records that cannot be read, as they are, for people to look at. The same record is kept once. */
export async function recordDeadLetters(tx: Transaction, place: Partition, letters: DeadLetter[]): Promise<void> {
  if (letters.length === 0) return;
  await tx.$executeRaw(statements.recordDeadLetters(place, letters));
}
