import type { Warning } from '@turnpike/http-service/healthRoutes';
import type { CatalogInForce } from './followCatalogFile.ts';

/** Lists what keeps a change of the catalog from coming into force. */
export function listCatalogWarnings(
  catalog: Pick<CatalogInForce, 'current' | 'fault' | 'databaseAwaySince'>,
): Warning[] {
  const { version } = catalog.current();
  const warnings: Warning[] = [];
  const fault = catalog.fault();
  if (fault) {
    const [first = '', ...others] = fault.mistakes;
    const more = others.length > 0 ? `, and ${others.length} more` : '';
    const since = fault.since.toISOString();
    const text = `the catalog file is refused: ${first}${more}; since ${since} version ${version} stays in force`;
    warnings.push({ kind: 'file_refused', subject: 'CATALOG_FILE', text });
  }
  const awaySince = catalog.databaseAwaySince();
  if (awaySince) {
    const text = `postgres gives no answer since ${awaySince.toISOString()}: version ${version} stays in force`;
    warnings.push({ kind: 'postgres_away', subject: 'DATABASE_URL', text });
  }
  return warnings;
}
