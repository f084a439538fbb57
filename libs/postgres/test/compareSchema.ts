import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils';
import * as engineGlue from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/**
 * Returns the differences between a migrated database and a Prisma schema, as `prisma migrate diff --exit-code` prints them; undefined if
 * there are none. Leaves out tables without a model, because only statements use them, and expressions, checks and triggers.
 */
export async function compareSchema(databaseUrl: string, schema: string): Promise<string | undefined> {
  await loadEngine();
  const files = [{ path: 'schema.prisma', content: schema }];
  const adapters = bindMigrationAwareSqlAdapterFactory(new CatalogReader({ connectionString: databaseUrl }));
  const engine = await engineGlue.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapters);
  const { exitCode, stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', files, configDir: '.' },
    to: { tag: 'schemaDatamodel', files },
    filters: { externalTables: await listTablesWithoutModel(databaseUrl, schema), externalEnums: [] },
    script: false,
    exitCode: true,
  });
  return exitCode === 0 ? undefined : (stdout ?? '');
}

/** The types of Node leave the global out. */
interface WithWebAssembly {
  WebAssembly: {
    instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
  };
}

let loaded: Promise<void> | undefined;

/** Loads Prisma's schema engine of WebAssembly. Prisma's command line downloads a native one instead. */
function loadEngine(): Promise<void> {
  loaded ??= (async () => {
    const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm');
    const bytes = await readFile(new URL('schema_engine_bg.wasm', `file://${path}`));
    const { instance } = await (globalThis as unknown as WithWebAssembly).WebAssembly.instantiate(bytes, {
      './schema_engine_bg.js': engineGlue,
    });
    engineGlue.__wbg_set_wasm(instance.exports);
    (instance.exports.__wbindgen_start as () => void)();
  })();
  return loaded;
}

async function listTablesWithoutModel(databaseUrl: string, schema: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  await client.end();
  const modelled = new Set([...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, name]) => name));
  return rows.filter(({ name }) => !modelled.has(name)).map(({ name }) => `public.${name}`);
}

const CHAR = 18;
const { TEXT } = pg.types.builtins;

/** An adapter that reads Postgres' type "char" too, which the system catalog has and the adapter of Prisma refuses. */
class CatalogReader extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const { performIO, queryRaw } = adapter as unknown as ReadingAdapter;
    let chars: number[] = [];
    return Object.assign(adapter, {
      async performIO(query: unknown) {
        const result = await performIO.call(adapter, query);
        chars = result.fields.flatMap(({ dataTypeID }, index) => (dataTypeID === CHAR ? [index] : []));
        for (const index of chars) Object.assign(result.fields[index] ?? {}, { dataTypeID: TEXT });
        return result;
      },
      async queryRaw(query: Parameters<SqlDriverAdapter['queryRaw']>[0]) {
        const result = await queryRaw.call(adapter, query);
        for (const index of chars) result.columnTypes[index] = ColumnTypeEnum.Character;
        return result;
      },
    });
  }
}

interface ReadingAdapter extends Pick<SqlDriverAdapter, 'queryRaw'> {
  performIO(query: unknown): Promise<{ fields: { dataTypeID: number }[] }>;
}
