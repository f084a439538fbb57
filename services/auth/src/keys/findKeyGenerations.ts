import type { Db } from '../database/openDatabases.ts';
import type { KeyGeneration } from './keyGeneration.ts';

/** The generations of a workspace's keys that may still be used. */
export async function findKeyGenerations(
  db: Db,
  { workspaceId, version }: { workspaceId: string; version: number },
): Promise<KeyGeneration[]> {
  const keys = await db.apiKey.findMany({
    where: { workspaceId, status: { not: 'revoked' } },
    select: { keyId: true, generation: true },
  });
  return keys.map(({ keyId, generation }) => ({ keyId, workspaceId, generation: generation + version }));
}
