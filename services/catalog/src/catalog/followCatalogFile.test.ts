import { rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { catalogTextOf, catalogTextWith } from '../../test/catalogText.ts';
import { listenToLog, type TestLog } from '../../test/listenToLog.ts';
import { openTestCatalog, type TestCatalog } from '../../test/openTestCatalog.ts';
import { type CatalogInForce, followCatalogFile } from './followCatalogFile.ts';
import { listCatalogWarnings } from './listCatalogWarnings.ts';

let postgres: TestPostgres;
let opened: TestCatalog;
let testLog: TestLog;
let followed: CatalogInForce[];
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  opened = await openTestCatalog(postgres);
  testLog = listenToLog();
  followed = [];
});
afterEach(async () => {
  await Promise.all(followed.map((catalog) => catalog.close()));
  await opened.close();
});

const good = catalogTextWith({});
const better = catalogTextOf({ id: 'second' });
const broken = catalogTextWith({ 12: '      prompt: "-1"' });

async function follow(): Promise<CatalogInForce> {
  const { db, path } = opened;
  const catalog = await followCatalogFile({ db, path, region: 'us', log: testLog.log });
  followed.push(catalog);
  return catalog;
}

const idsOf = (catalog: CatalogInForce): string[] => catalog.current().models.map(({ id }) => id);
const untilRefused = () =>
  until('the file to be refused', () => testLog.errors().some(({ mistakes }) => mistakes !== undefined));

it('puts the file in force at start and again whenever it changes', async () => {
  await opened.put(good);
  const catalog = await follow();
  expect(catalog.current()).toMatchObject({ version: 1, region: 'us' });
  expect(idsOf(catalog)).toEqual(['small-chat']);

  // In place: it may be found half written, and is then read again.
  await writeFile(opened.path, better);
  await until('version 2 to be in force', () => catalog.current().version === 2);
  expect(idsOf(catalog)).toEqual(['small-chat', 'second']);
});

it('sees a file that was put in its place, even one that claims to be as old', async () => {
  await opened.put(good);
  const catalog = await follow();
  const { atime, mtime } = await stat(opened.path);
  await writeFile(`${opened.path}.new`, better);
  await utimes(`${opened.path}.new`, atime, mtime);
  await rename(`${opened.path}.new`, opened.path);
  await until('version 2 to be in force', () => catalog.current().version === 2);
  expect(testLog.errors()).toEqual([]);
});

it('keeps the last good version while a change is broken, says every mistake, and takes it once mended', async () => {
  await opened.put(good);
  const catalog = await follow();

  await opened.put(broken);
  await untilRefused();
  expect(catalog.current().version).toBe(1);
  expect(testLog.errors()).toEqual([
    expect.objectContaining({
      version: 1,
      mistakes: [expect.stringContaining(`${opened.path}:12: models[0].pricing.prompt: "-1" is not a price`)],
    }),
  ]);

  expect(catalog.fault()?.mistakes).toHaveLength(1);
  // The last line is the refusal: nothing came into force after it.
  expect(testLog.notices()).toEqual(['catalog version in force']);

  await opened.put(better);
  await until('version 2 to be in force', () => catalog.current().version === 2);
  expect(catalog.fault()).toBeUndefined();
});

it('keeps the last good version while the file is away, and looks again once it is back', async () => {
  await opened.put(good);
  const catalog = await follow();
  await rm(opened.path);
  await untilRefused();
  expect(idsOf(catalog)).toEqual(['small-chat']);

  await opened.put(better);
  await until('version 2 to be in force', () => catalog.current().version === 2);
});

it('starts with the last good version when the file is broken', async () => {
  await opened.put(good);
  const before = await follow();
  await before.close();
  await opened.put(broken);
  const after = await follow();
  expect(after.current()).toEqual(before.current());

  await opened.put(better);
  await until('version 2 to be in force', () => after.current().version === 2);
});

it('starts with a good file even where the last version has a shape that this release cannot read', async () => {
  await opened.db.catalogVersion.create({ data: { version: 7, contentHash: 'of long ago', models: [{ id: 'old' }] } });
  await opened.put(good);
  expect((await follow()).current().version).toBe(8);
});

it.each([
  ['broken', (path: string) => writeFile(path, broken), ':12: models[0].pricing.prompt:'],
  ['missing', async () => {}, ': cannot be read (ENOENT)'],
])('does not start for the first time with a file that is %s', async (_how, prepare, reason) => {
  await prepare(opened.path);
  await expect(follow()).rejects.toThrow(`${opened.path}${reason}`);
  expect(await opened.db.catalogVersion.count()).toBe(0);
});

it('keeps what is in force while the database is away, and applies the change when it is back', async () => {
  await opened.put(good);
  const catalog = await follow();
  await postgres.crash();
  try {
    await opened.put(better);
    await until('the refusal to be logged', () => testLog.errors().length > 0);
    expect(catalog.current().version).toBe(1);
  } finally {
    await postgres.restart();
  }
  await until('version 2 to be in force', () => catalog.current().version === 2);
});

it('warns of a database that is away, and no more once it answers', async () => {
  await opened.put(good);
  const catalog = await follow();
  await postgres.crash();
  try {
    await until('a warning', () => listCatalogWarnings(catalog).length > 0);
    expect(listCatalogWarnings(catalog)).toEqual([
      {
        kind: 'postgres_away',
        subject: 'DATABASE_URL',
        text: expect.stringMatching(/^postgres gives no answer since 20\S+Z: version 1 stays in force$/),
      },
    ]);
  } finally {
    await postgres.restart();
  }
  await until('no warning', () => listCatalogWarnings(catalog).length === 0);
});

it('looks no more once it is closed', async () => {
  await opened.put(good);
  const closed = await follow();
  await closed.close();
  const open = await follow();
  await opened.put(better);
  await until('version 2 to be in force', () => open.current().version === 2);
  expect(closed.current().version).toBe(1);
});
