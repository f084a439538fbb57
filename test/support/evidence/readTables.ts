import pg from 'pg';
import type { Evidence } from './evidence.ts';

const TABLES = `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
  WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`;

/** Every row of every table of a server's databases, as text; bytes stand there in hexadecimal. */
export async function* readTables(serverUrl: string, databases: string[]): AsyncGenerator<Evidence> {
  for (const database of databases) {
    const url = new URL(serverUrl);
    url.pathname = `/${database}`;
    const client = new pg.Client({ connectionString: url.href, query_timeout: 60_000 });
    await client.connect();
    try {
      const tables = await client.query<{ name: string }>(TABLES);
      if (tables.rows.length === 0) throw new Error(`database ${database} has no tables`);
      for (const { name } of tables.rows) {
        const { rows } = await client.query<{ text: string }>(`SELECT stored::text AS text FROM ${name} AS stored`);
        yield { place: `table ${database} ${name}`, bytes: Buffer.from(rows.map(({ text }) => text).join('\n')) };
      }
    } finally {
      await client.end();
    }
  }
}
