import pg from 'pg';

/** An `INSERT` that names the columns of its `ON CONFLICT`. */
const INSERT =
  /INSERT INTO\s+(?<table>\w+)(?:\s+AS\s+\w+)?\s*\((?<columns>[^)]*)\)(?:(?!INSERT INTO)[^`;])*?ON CONFLICT\s*\((?<target>[^)]*)\)/g;

/**
 * Finds statements that name one unique index in `ON CONFLICT` and write the columns of another one. Postgres takes care of the named
 * index alone. So of two such statements with the same row at once, one may fail with a unique violation.
 */
export function findRacyInserts(indexes: readonly UniqueIndex[], source: string): string[] {
  return [...source.matchAll(INSERT)].flatMap(({ groups }) => {
    const { table, columns = '', target = '' } = groups ?? {};
    const written = new Set(splitNames(columns));
    const named = splitNames(target).sort().join();
    return indexes
      .filter((index) => index.table === table && index.columns.every((column) => written.has(column)))
      .filter((index) => index.columns.toSorted().join() !== named)
      .map((index) => `INSERT INTO ${table} … ON CONFLICT (${target}): ${index.name} is unique too`);
  });
}

const splitNames = (list: string): string[] => list.split(',').map((name) => name.trim());

interface UniqueIndex {
  name: string;
  table: string;
  columns: string[];
}

/** Lists the unique indexes of a database, also those of primary keys. */
export async function listUniqueIndexes(databaseUrl: string): Promise<UniqueIndex[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<UniqueIndex>(`
    SELECT indexrelid::REGCLASS::TEXT AS name, indrelid::REGCLASS::TEXT AS table,
      array_agg(attname::TEXT) AS columns
    FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
    WHERE indisunique GROUP BY 1, 2 ORDER BY 1`);
  await client.end();
  return rows;
}
