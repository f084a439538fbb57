import type { Db } from '../database/createDb.ts';
import type { Transaction } from '../database/inTransaction.ts';
import { statements } from '../database/statements.ts';

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
  place: Partition,
  range: { from: bigint; to: bigint },
): Promise<void> {
  await tx.$executeRaw(statements.beginOffset(place));
  const moved = await tx.$executeRaw(statements.moveOffset(place, range));
  if (moved === 0)
    throw new OffsetMoved(`partition ${place.partition} of ${place.topic} does not stand at ${range.from} any more`);
}
