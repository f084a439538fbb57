import type { Db } from '../database/createDb.ts';

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
