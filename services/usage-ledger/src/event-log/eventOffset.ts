import type { Queryable } from '@turnpike/postgres/database';
import { type Partition, statements } from '../database/statements.ts';

/** Another consumer has recorded this batch: it owns the partition now. */
export class OffsetMoved extends Error {
  override name = 'OffsetMoved';
}

/** The offset to read next; 0 before anything was read. */
export async function getNextOffset(db: Queryable, place: Partition): Promise<bigint> {
  const [position] = await db.query(statements.readPosition(place));
  return position?.nextOffset ?? 0n;
}
