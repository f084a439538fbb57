import type { RequestHandler } from 'express';
import type { CatalogInForce } from '../catalog/followCatalogFile.ts';

/** GET /internal/catalog: the snapshot in force, for the router. `If-None-Match` with its version gets 304. */
export function getCatalog({ catalog }: { catalog: CatalogInForce }): RequestHandler {
  return (req, res) => {
    const snapshot = catalog.current();
    const tag = `"${snapshot.version}"`;
    res.setHeader('etag', tag);
    if (req.headers['if-none-match'] === tag) res.status(304).end();
    else res.json(snapshot);
  };
}
