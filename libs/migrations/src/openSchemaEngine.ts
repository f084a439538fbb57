import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, DriverAdapterError } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/** The engine wants a schema to know its connector by; the tables come from the migrations. */
const DATAMODEL = 'datasource db {\n  provider = "postgresql"\n}\n';

let instantiating: Promise<void> | undefined;

/** Prisma's schema engine as WebAssembly, so no binary to download, on a database. The caller frees it and ends the pool. */
export async function openSchemaEngine(pool: pg.Pool): Promise<bindings.SchemaEngine> {
  instantiating ??= instantiate();
  await instantiating;
  return bindings.SchemaEngine.new(
    { datamodels: [['schema.prisma', DATAMODEL]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(new WholeScriptPg(pool)),
  );
}

/** By hand, since Node warns of an experimental feature wherever a `.wasm` file is imported. */
async function instantiate(): Promise<void> {
  const bindingsFile = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const module = await WebAssembly.compile(await readFile(join(dirname(bindingsFile), 'schema_engine_bg.wasm')));
  const instance = await WebAssembly.instantiate(module, { './schema_engine_bg.js': toImports() });
  bindings.__wbg_set_wasm(instance.exports);
  const { __wbindgen_start: start } = instance.exports;
  if (typeof start === 'function') start();
}

/** What the engine calls. Its own 10 s timer for a lock is never cleared and must not keep the process alive. */
function toImports(): Record<string, unknown> {
  const imports: Record<string, unknown> = { ...bindings };
  for (const name of Object.keys(imports)) {
    if (name.startsWith('__wbg_setTimeout_')) {
      imports[name] = (callback: () => void, delayMs: number) => setTimeout(callback, delayMs).unref();
    }
  }
  return imports;
}

/**
 * The adapter as it is would cut a script at every semicolon, even inside a function body, and run the pieces one by one.
 * Here a script goes to the server whole, which also makes it one transaction.
 */
class WholeScriptPg extends PrismaPg {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    super(pool);
    this.#pool = pool;
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      try {
        await this.#pool.query(script);
      } catch (error) {
        throw error instanceof pg.DatabaseError ? toAdapterError(error) : error;
      }
    };
    return adapter;
  }
}

function toAdapterError(error: pg.DatabaseError): DriverAdapterError {
  const { code = 'XX000', severity = 'ERROR', message, detail, column, hint } = error;
  return new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint });
}
