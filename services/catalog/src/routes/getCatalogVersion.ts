import { ApiError } from '@turnpike/api-errors/apiError';
import type { CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { CatalogFault } from '../api/catalogFault.ts';

/** A catalog that was ever in force, as it was then. */
export type FindVersion = (version: number) => Promise<CatalogSnapshot | undefined>;

const LARGEST_VERSION = 2 ** 31 - 1;
const versionSchema = z.coerce.number().int().min(1).max(LARGEST_VERSION);

/** GET /internal/catalog/versions/{version}: a catalog as it was in force, to price a call again by the version it names. */
export function getCatalogVersion({ findVersion }: { findVersion: FindVersion }): RequestHandler {
  return async (req, res) => {
    const version = versionSchema.safeParse(req.params.version);
    const snapshot = version.success ? await findVersion(version.data) : undefined;
    if (!snapshot) throw new ApiError<CatalogFault>({ kind: 'version_not_found' });
    res.json(snapshot);
  };
}
