import { RUN_FOLDER, startRunFolder } from '@turnpike/test-support/folders';
import { RUN_POSTGRES_PORT, startPostgres } from '@turnpike/test-support/startPostgres';

/** @type {{path: string, remove: () => Promise<void>} | undefined} */
let folder;
/** @type {import('@turnpike/test-support/startPostgres').TestPostgres | undefined} */
let postgres;

/**
 * Makes the folder in which all files of a run have their temporary folders. Starts one Postgres for all files of a whole run, because
 * its start takes longer than most of the tests that need it. A file that is run by name starts its own.
 * @param {{testPathPatterns: {patterns: string[]}}} config
 */
export default async function startRun({ testPathPatterns }) {
  folder = await startRunFolder();
  process.env[RUN_FOLDER] = folder.path;
  if (testPathPatterns.patterns.length > 0) return;
  postgres = await startPostgres();
  process.env[RUN_POSTGRES_PORT] = String(postgres.port);
}

export async function stopRun() {
  await postgres?.stop();
  await folder?.remove();
}
