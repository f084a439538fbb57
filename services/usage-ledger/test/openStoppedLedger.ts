import type { Db } from '../src/database/createDb.ts';
import { openTestLedger, type TestLedger } from './openTestLedger.ts';

/** A ledger's database with a stopped clock, so that a busy machine's delays do not count. */
export interface StoppedLedger extends TestLedger {
  /** Moves the clock on. */
  pass(seconds: number): Promise<void>;
}

/**
 * Replaces `clock_timestamp()`, for statements and for the defaults of columns. Each call returns a microsecond more
 * than the one before, so that the order of events is visible. `now()` is unchanged.
 */
export async function openStoppedLedger(): Promise<StoppedLedger> {
  // A connection keeps the search path that it began with.
  const ledger = await openTestLedger(undefined, stopClock);
  return {
    ...ledger,
    async pass(seconds) {
      await ledger.ownerDb.$executeRaw`
        SELECT setval('stopped.microseconds', nextval('stopped.microseconds') + (${seconds}::FLOAT * 1000000)::BIGINT)`;
    },
  };
}

async function stopClock(ownerDb: Db): Promise<void> {
  for (const statement of [
    'CREATE SCHEMA stopped',
    'CREATE SEQUENCE stopped.microseconds',
    `SELECT setval('stopped.microseconds', (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)`,
    `CREATE FUNCTION stopped.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE SECURITY DEFINER
      RETURN TIMESTAMPTZ 'epoch' + nextval('stopped.microseconds') * INTERVAL '1 microsecond'`,
    'GRANT USAGE ON SCHEMA stopped TO PUBLIC',
    `DO $$ DECLARE defaulted RECORD; BEGIN
      EXECUTE format('ALTER DATABASE %I SET search_path = public, stopped, pg_catalog', current_database());
      FOR defaulted IN SELECT table_name, column_name FROM information_schema.columns WHERE column_default = 'clock_timestamp()' LOOP
        EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT stopped.clock_timestamp()', defaulted.table_name, defaulted.column_name);
      END LOOP;
    END $$`,
  ])
    await ownerDb.$executeRawUnsafe(statement);
}
