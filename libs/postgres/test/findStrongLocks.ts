import pg from 'pg';

/** A lock of rows that a transaction takes before it changes them. */
const LOCK = /FROM\s+(?<table>\w+)(?:(?!\bFROM\b)[^`;])*?\bFOR UPDATE\b/g;

/**
 * Finds statements that lock rows by `FOR UPDATE` in a table that foreign keys reference. The lock waits for each transaction that has
 * inserted a referencing row, and such an insert waits for the lock. So two transactions that do both may deadlock. `FOR NO KEY UPDATE`
 * waits for neither.
 */
export function findStrongLocks(referenced: ReadonlySet<string>, source: string): string[] {
  return [...source.matchAll(LOCK)]
    .map(({ groups }) => groups?.table ?? '')
    .filter((table) => referenced.has(table))
    .map((table) => `${table} FOR UPDATE: foreign keys reference the table, so lock its rows FOR NO KEY UPDATE`);
}

/** Lists the tables that foreign keys reference. */
export async function listReferencedTables(databaseUrl: string): Promise<Set<string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ table: string }>(`
    SELECT DISTINCT confrelid::REGCLASS::TEXT AS table FROM pg_constraint WHERE contype = 'f'`);
  await client.end();
  return new Set(rows.map(({ table }) => table));
}
