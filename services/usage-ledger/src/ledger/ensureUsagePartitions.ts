import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** Makes the partitions of the UTC months that some instants lie in, unless they exist. */
export async function ensureUsagePartitions(db: Db, instants: Date[]): Promise<void> {
  const months = [...new Set(instants.map((instant) => `${instant.toISOString().slice(0, 7)}-01`))];
  if (months.length === 0) return;
  await db.$executeRaw(statements.ensureUsagePartitions(months));
}
