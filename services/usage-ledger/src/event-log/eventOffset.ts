import type { Db } from '../database/createDb.ts';
import type { Transaction } from '../database/inTransaction.ts';

export interface Partition {
  topic: string;
  partition: number;
}

/** Another consumer has recorded this batch: it owns the partition now. */
export class OffsetMoved extends Error {
  override name = 'OffsetMoved';
}

/** The offset to read next; 0 before anything was read. */
export async function getNextOffset(db: Db, { topic, partition }: Partition): Promise<bigint> {
  const row = await db.eventOffset.findUnique({ where: { topic_partition: { topic, partition } } });
  return row?.nextOffset ?? 0n;
}

/**
 * Moves a partition's offset by compare-and-set, inside the transaction that records what was read. Throws `OffsetMoved`
 * when it does not stand at `from`, and the transaction has to be rolled back.
 */
export async function moveOffset(
  tx: Transaction,
  { topic, partition }: Partition,
  { from, to }: { from: bigint; to: bigint },
): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO event_offset (topic, partition, next_offset) VALUES (${topic}, ${partition}, 0) ON CONFLICT DO NOTHING`;
  const moved = await tx.$executeRaw`
    UPDATE event_offset SET next_offset = ${to}
    WHERE topic = ${topic} AND partition = ${partition} AND next_offset = ${from}`;
  if (moved === 0) throw new OffsetMoved(`partition ${partition} of ${topic} does not stand at ${from} any more`);
}
