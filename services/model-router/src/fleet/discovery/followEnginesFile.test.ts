import { renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import { aTemporaryFolder } from '@turnpike/test-support/aTemporaryFolder';
import { until } from '@turnpike/test-support/until';
import { type EnginesFile, followEnginesFile } from './followEnginesFile.ts';

let file: string;
let followed: EnginesFile | undefined;
const log = aSilentLogger();
const logged = jest.spyOn(log, 'error');
beforeEach(async () => {
  file = join(await aTemporaryFolder(), 'engines.json');
  logged.mockClear();
});
afterEach(() => followed?.close());

/** Puts another file in its place, which nobody finds half written. */
function put(text: string): void {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
}
const write = (...ids: string[]) => put(JSON.stringify({ engines: ids.map((id) => ({ id, url: `http://${id}` })) }));

function follow(): { ids: () => string[]; changes: () => number } {
  let changes = 0;
  const onChange = () => {
    changes += 1;
  };
  followed = followEnginesFile(file, { onChange, log });
  return { ids: () => followed?.entries().map(({ id }) => id) ?? [], changes: () => changes };
}

it('reads the file again when another one takes its place', async () => {
  write('a');
  const { ids, changes } = follow();
  expect(ids()).toEqual(['a']);
  write('a', 'b');
  await until('the change to be read', () => changes() === 1);
  expect(ids()).toEqual(['a', 'b']);
  put('{"engines": []}');
  await until('the other file to be read', () => changes() === 2);
  expect(ids()).toEqual([]);
});

it('keeps the last good entries when the file goes bad or away, and says so once for each', async () => {
  write('a');
  const { ids, changes } = follow();
  put('{"engines": [{"id": "b"}]}');
  await until('the bad file to be logged', () => logged.mock.calls.length === 1);
  expect(String(Object(logged.mock.calls[0]?.[0]).err)).toContain('engines.0: must have either url or discover');
  await rm(file);
  await until('the missing file to be logged', () => logged.mock.calls.length === 2);
  expect([ids(), changes()]).toEqual([['a'], 0]);
  write('c');
  await until('the mended file to be read', () => changes() === 1);
  expect(ids()).toEqual(['c']);
  expect(logged).toHaveBeenCalledTimes(2);
});

it('does not begin with a file that cannot be used', () => {
  expect(() => followEnginesFile(file, { onChange() {}, log })).toThrow(
    `ENGINES_FILE ${file} cannot be read: Error: ENOENT`,
  );
  writeFileSync(file, '{}');
  expect(() => followEnginesFile(file, { onChange() {}, log })).toThrow(
    `ENGINES_FILE ${file} cannot be used: engines: `,
  );
});
