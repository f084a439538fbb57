import type { Db } from '../database/openDatabases.ts';

/** Which state of a key and its workspace is the latest. Rises with every change of either. */
export interface KeyGeneration {
  keyId: string;
  workspaceId: string;
  generation: number;
  /** New status, after a change of the key's status. */
  status?: 'active' | 'blocked' | 'revoked';
}

/** Returns the generations of a workspace's keys that may still be used. */
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
