import { createHash } from 'node:crypto';
import type { Region } from '@turnpike/config/region';
import { type CatalogModel, type CatalogSnapshot, catalogModelSchema } from '@turnpike/internal-api/catalogSnapshot';
import { sql } from '@turnpike/postgres/sql';
import { z } from 'zod';
import type { Db } from '../database/createDb.ts';
import { type CatalogChange, compareCatalogs } from './compareCatalogs.ts';
import { disableModels, findDisabledModels } from './disabledModels.ts';

/** Any number, the same for all: replicas that apply the same file at once add one version between them. */
const APPLY_LOCK = 7_041_917;

/**
 * Puts the models of a file in force, and returns them with their version. Models that an administrator switched off are disabled.
 * Unchanged content keeps the newest version. Changed content gets the next version.
 */
export async function applyCatalog(db: Db, fileModels: CatalogModel[], region: Region): Promise<CatalogSnapshot> {
  return db.$transaction(async (tx) => {
    await tx.$executeRaw(sql`SELECT pg_advisory_xact_lock(${APPLY_LOCK}::BIGINT)`);
    // Read under the lock, so that the newest version always has every switch that was set before it.
    const disabled = await findDisabledModels({ query: (statement) => tx.$queryRaw(statement) });
    const models = disableModels(fileModels, disabled);
    const content = JSON.stringify(models);
    const contentHash = createHash('sha256').update(content).digest('hex');
    const newest = await tx.catalogVersion.findFirst({ orderBy: { version: 'desc' } });
    if (newest?.contentHash === contentHash) return { version: newest.version, region, models };
    const next = (newest?.version ?? 0) + 1;
    await tx.catalogVersion.create({ data: { version: next, contentHash, models: JSON.parse(content) } });
    return { version: next, region, models };
  });
}

/** A version, and its differences to the one before. The first version has all models as added. */
export interface CatalogVersion {
  version: number;
  appliedAt: Date;
  models: number;
  changes: CatalogChange[];
}

/** Lists the versions below `before`, the newest first. `isLast` says that there is none below them. */
export async function listVersions(
  db: Db,
  { before, limit }: { before: number; limit: number },
): Promise<{ versions: CatalogVersion[]; isLast: boolean }> {
  const rows = await db.catalogVersion.findMany({
    where: { version: { lt: before } },
    orderBy: { version: 'desc' },
    take: limit + 1,
  });
  const read = rows.map((row) => ({ ...row, models: z.array(catalogModelSchema).parse(row.models) }));
  const versions = read.slice(0, limit).map(({ version, appliedAt, models }, index) => ({
    version,
    appliedAt,
    models: models.length,
    changes: compareCatalogs(read[index + 1]?.models ?? [], models),
  }));
  return { versions, isLast: rows.length <= limit };
}

/** A version that was ever in force, as it was then. */
export async function findCatalogVersion(
  db: Db,
  version: number,
  region: Region,
): Promise<CatalogSnapshot | undefined> {
  const found = await db.catalogVersion.findUnique({ where: { version } });
  return found ? { version, region, models: z.array(catalogModelSchema).parse(found.models) } : undefined;
}

/** The newest version that was ever in force, if there is one. */
export async function findLastCatalog(db: Db, region: Region): Promise<CatalogSnapshot | undefined> {
  const newest = await db.catalogVersion.findFirst({ orderBy: { version: 'desc' } });
  return newest
    ? { version: newest.version, region, models: z.array(catalogModelSchema).parse(newest.models) }
    : undefined;
}
