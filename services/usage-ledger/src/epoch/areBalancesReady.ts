import type { Db } from '../database/createDb.ts';

/** Whether an epoch is in force and its balances are complete: all that ended before it has been recorded. */
export async function areBalancesReady(db: Db, number: number): Promise<boolean> {
  const epoch = await db.redisEpoch.findFirstOrThrow();
  return epoch.number === number && epoch.phase !== 'draining';
}
