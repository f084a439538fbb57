import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** Makes the partitions of the UTC months that some instants lie in, unless they exist; `known` is a month that has one. */
export async function ensureUsagePartitions(db: Db, instants: Date[], known?: Date): Promise<void> {
  const months = new Set(instants.map(firstDayOf));
  if (known) months.delete(firstDayOf(known));
  if (months.size === 0) return;
  await db.query(statements.ensureUsagePartitions([...months]));
}

const firstDayOf = (instant: Date): string =>
  `${instant.getUTCFullYear()}-${String(instant.getUTCMonth() + 1).padStart(2, '0')}-01`;
