import { stat } from 'node:fs/promises';
import type { Region } from '@turnpike/config/region';
import type { CatalogModel, CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Db } from '../database/createDb.ts';
import { applyCatalog, findLastCatalog } from './applyCatalog.ts';
import { compareCatalogs, isLargeChange } from './compareCatalogs.ts';
import { enableModels, findDisabledModels } from './disabledModels.ts';
import { CatalogFileError, readCatalogFile } from './readCatalogFile.ts';

const LOOK_MS = 1_000;
/** Time without an answer of the database after which it is away. */
const AWAY_MS = 5_000;
/** Changes of a version that one line names. */
const MAX_LOGGED = 50;

/** Why the catalog file cannot be used while the last good version stays in force. */
export interface CatalogFault {
  /** Each mistake with the file, its line and the reason. */
  mistakes: string[];
  since: Date;
}

export interface CatalogInForce {
  current(): CatalogSnapshot;
  /** Undefined while the file is in force. */
  fault(): CatalogFault | undefined;
  /** The time of the database's last answer, once it has given none for 5 s. Undefined while it answers. */
  databaseAwaySince(): Date | undefined;
  /** Looks at once instead of within a second, and resolves with what is in force then. Rejects without a database. */
  refresh(): Promise<CatalogSnapshot>;
  /** Looks no more; resolves when a look in progress has ended. */
  close(): Promise<void>;
}

/**
 * Keeps the file's catalog in force, less what an administrator switched off: applied at start and whenever either changes.
 * A file with a mistake changes nothing, the last good one stays; only where there never was one does this throw a
 * `CatalogFileError`.
 */
export async function followCatalogFile({
  db,
  path,
  region,
  log,
}: {
  db: Db;
  path: string;
  region: Region;
  log: Logger;
}): Promise<CatalogInForce> {
  // Taken before the file is read, so that a change in between is seen at the next look.
  let seenFile = await changeMarkOf(path);
  let seenDisabled = await findDisabledModels(db);
  let answeredAt = new Date();
  let fault: CatalogFault | undefined;
  let { fileModels, catalog } = await start();

  async function start(): Promise<{ fileModels: CatalogModel[]; catalog: CatalogSnapshot }> {
    try {
      const models = await readCatalogFile(path, region);
      return { fileModels: models, catalog: await apply(models) };
    } catch (error) {
      if (!(error instanceof CatalogFileError)) throw error;
      const last = await findLastCatalog(db, region);
      if (!last) throw error;
      refuse(error, last);
      return { fileModels: enableModels(last.models, seenDisabled), catalog: last };
    }
  }

  async function apply(models: CatalogModel[]): Promise<CatalogSnapshot> {
    const applied = await applyCatalog(db, models, region);
    log.info({ version: applied.version, models: applied.models.length }, 'catalog version in force');
    return applied;
  }

  function refuse({ mistakes }: CatalogFileError, { version }: CatalogSnapshot): void {
    fault = { mistakes, since: fault?.since ?? new Date() };
    log.error({ mistakes, version }, 'catalog file is refused; the last good version stays in force');
  }

  async function look(): Promise<void> {
    const file = await changeMarkOf(path);
    const disabled = await findDisabledModels(db);
    answeredAt = new Date();
    if (file === seenFile && disabled.join() === seenDisabled.join()) return;
    const latest = file === seenFile ? fileModels : await readModels();
    // A refused file puts nothing in force. A switch of a model does, also beside one.
    if (latest || disabled.join() !== seenDisabled.join()) {
      const before = catalog;
      catalog = await apply(latest ?? fileModels);
      logChanges(before, catalog);
    }
    if (latest && file !== seenFile) [fileModels, fault] = [latest, undefined];
    [seenFile, seenDisabled] = [file, disabled];
  }

  function logChanges(before: CatalogSnapshot, after: CatalogSnapshot): void {
    const changes = compareCatalogs(before.models, after.models);
    const large = changes.filter(isLargeChange);
    const version = after.version;
    if (changes.length > 0)
      log.info({ version, count: changes.length, changes: changes.slice(0, MAX_LOGGED) }, 'catalog changed');
    if (large.length > 0)
      log.warn({ version, changes: large.slice(0, MAX_LOGGED) }, 'prices changed by more than a factor of 10');
  }

  /** Reads the file. Undefined if it is refused. */
  async function readModels(): Promise<CatalogModel[] | undefined> {
    try {
      return await readCatalogFile(path, region);
    } catch (error) {
      if (!(error instanceof CatalogFileError)) throw error;
      refuse(error, catalog);
      return undefined;
    }
  }

  // One look at a time, or an older one could put back what a newer one has seen.
  const looking = repeat(look, {
    pauseMs: LOOK_MS,
    pausesFirst: true,
    log,
    failing: 'catalog cannot be looked after, trying on: the last good version stays in force',
    level: 'error',
  });
  return {
    current: () => catalog,
    fault: () => fault,
    databaseAwaySince: () => (Date.now() - answeredAt.getTime() > AWAY_MS ? answeredAt : undefined),
    async refresh() {
      await looking.now();
      return catalog;
    },
    close: looking.close,
  };
}

/** Differs when a file's content or the right to read it may have: it was written, replaced, removed or given away. */
const changeMarkOf = (path: string): Promise<string> =>
  stat(path, { bigint: true }).then(
    ({ ino, size, ctimeNs }) => `${ino} ${size} ${ctimeNs}`,
    () => 'absent',
  );
