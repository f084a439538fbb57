import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { catalogTextOf, catalogTextWith } from '../../test/catalogText.ts';
import { listenToLog, type TestLog } from '../../test/listenToLog.ts';
import { openTestCatalog, type TestCatalog } from '../../test/openTestCatalog.ts';
import { type CatalogInForce, followCatalogFile } from './followCatalogFile.ts';
import { createModelSwitch, type ModelChange } from './switchModel.ts';

let postgres: TestDatabases;
let opened: TestCatalog;
let testLog: TestLog;
let followed: CatalogInForce[];
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  opened = await openTestCatalog(postgres);
  testLog = listenToLog();
  followed = [];
  await writeFile(opened.path, catalogTextOf({ id: 'second' }));
});
afterEach(async () => {
  await Promise.all(followed.map((catalog) => catalog.close()));
  await opened.close();
});

/** A replica of the service, on the test's one database and file. */
async function aReplica() {
  const { db, path } = opened;
  const { log } = testLog;
  const catalog = await followCatalogFile({ db, path, region: 'us', log });
  followed.push(catalog);
  const switchOf = createModelSwitch({ db, catalog });
  const switchModel = (modelId: string, change: ModelChange) => switchOf(modelId, change, log);
  return { catalog, switchModel };
}

const statesOf = ({ current }: CatalogInForce) =>
  Object.fromEntries(current().models.map(({ id, state }) => [id, state]));

it('disables a model at once, as a version of its own that leaves the others as they were', async () => {
  const { catalog, switchModel } = await aReplica();
  expect((await switchModel('second', 'disable')).version).toBe(2);
  expect(statesOf(catalog)).toEqual({ 'small-chat': 'live', second: 'disabled' });
});

it('enables it again, and doing either twice adds no version', async () => {
  const { catalog, switchModel } = await aReplica();
  const versions = [];
  for (const change of ['disable', 'disable', 'enable', 'enable'] as const)
    versions.push((await switchModel('second', change)).version);
  expect(versions).toEqual([2, 2, 3, 3]);
  expect(statesOf(catalog)).toMatchObject({ second: 'live' });
});

it('keeps a model disabled when the file is read again and when the service starts again', async () => {
  const { catalog, switchModel } = await aReplica();
  await switchModel('second', 'disable');
  await writeFile(opened.path, catalogTextOf({ id: 'second' }, { id: 'third' }));
  await until('version 3 to be in force', () => catalog.current().version === 3);
  expect(statesOf(catalog)).toEqual({ 'small-chat': 'live', second: 'disabled', third: 'live' });
  expect(statesOf((await aReplica()).catalog)).toEqual(statesOf(catalog));
});

it('reaches every other replica, under the same version', async () => {
  const [one, other] = [await aReplica(), await aReplica()];
  await one.switchModel('second', 'disable');
  await until('the other process to have the switch', () => statesOf(other.catalog).second === 'disabled');
  expect(other.catalog.current()).toEqual(one.catalog.current());
});

it('works both ways while the file is broken', async () => {
  await (await aReplica()).switchModel('second', 'disable');
  await writeFile(opened.path, catalogTextWith({ 12: '      prompt: "-1"' }));
  const { catalog, switchModel } = await aReplica();
  expect(statesOf(catalog)).toEqual({ 'small-chat': 'live', second: 'disabled' });
  await switchModel('second', 'enable');
  await switchModel('small-chat', 'disable');
  expect(statesOf(catalog)).toEqual({ 'small-chat': 'disabled', second: 'live' });
});

it.each([
  ['an id that is not in the catalog', 'nowhere', 'model_not_found'],
  ['an alias, since a switch names its model exactly', 'small', 'model_not_found'],
  ['a retired model', 'old', 'model_retired'],
])('refuses to switch %s', async (_what, modelId, kind) => {
  await writeFile(opened.path, catalogTextOf({ id: 'old', more: ['state: retired', 'replacement: small-chat'] }));
  const { catalog, switchModel } = await aReplica();
  for (const change of ['disable', 'enable'] as const)
    await expect(switchModel(modelId, change)).rejects.toMatchObject({ fault: { kind } });
  expect(catalog.current().version).toBe(1);
});

it('says that a model stays disabled when the file disables it as well', async () => {
  await writeFile(opened.path, catalogTextOf({ id: 'second', more: ['state: disabled'] }));
  const { catalog, switchModel } = await aReplica();
  await switchModel('second', 'disable');
  await expect(switchModel('second', 'enable')).rejects.toMatchObject({ fault: { kind: 'model_disabled_in_file' } });
  expect(statesOf(catalog).second).toBe('disabled');
  expect(await opened.db.disabledModel.count()).toBe(0);
});
