import type { Transaction } from '../database/inTransaction.ts';
import type { Partition } from '../event-log/eventOffset.ts';

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
  if (letters.length === 0) return;
  // As base64, since what cannot be read may hold what a text in Postgres may not.
  await tx.$executeRaw`
    INSERT INTO dead_letter (topic, partition, "offset", reason, payload)
    SELECT ${topic}, ${partition}::INT, letter."offset", letter.reason, decode(letter.payload, 'base64')
    FROM unnest(
      ${letters.map(({ offset }) => String(offset))}::BIGINT[],
      ${letters.map(({ reason }) => reason)}::TEXT[],
      ${letters.map(({ payload }) => payload.toString('base64'))}::TEXT[]
    ) AS letter ("offset", reason, payload)
    ON CONFLICT DO NOTHING`;
}
