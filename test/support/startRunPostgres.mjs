import { RUN_POSTGRES_PORT, startPostgres } from '@turnpike/test-support/startPostgres';

/** @type {import('@turnpike/test-support/startPostgres').TestPostgres | undefined} */
let postgres;

/**
 * Starts one Postgres for all files of a whole run: to start one takes longer than most of the tests that need it. A file that
 * is run by name starts its own.
 * @param {{testPathPatterns: {patterns: string[]}}} config
 */
export default async function startRunPostgres({ testPathPatterns }) {
  if (testPathPatterns.patterns.length > 0) return;
  postgres = await startPostgres();
  process.env[RUN_POSTGRES_PORT] = String(postgres.port);
}

export const stopRunPostgres = () => postgres?.stop();
