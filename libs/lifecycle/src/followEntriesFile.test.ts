import { renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { z } from 'zod';
import { type EntriesFile, followEntriesFile } from './followEntriesFile.ts';

let file: string;
let changes: number;
let followed: EntriesFile<string> | undefined;
const log = aSilentLogger();
const logged = jest.spyOn(log, 'error');
beforeEach(async () => {
  file = join(await aTemporaryFolder(), 'entries.json');
  [changes, followed] = [0, undefined];
  logged.mockClear();
});
afterEach(() => followed?.close());

/** Puts another file in its place, which nobody finds half written. */
function put(text: string): void {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
}
const write = (...names: string[]) => put(JSON.stringify({ names }));

function follow(): void {
  followed = followEntriesFile(file, {
    setting: 'NAMES_FILE',
    schema: z
      .strictObject({ names: z.array(z.string()), force: z.boolean().optional() })
      .transform(({ names }) => names),
    describeLoss: (latest, before) => (before - latest > 2 ? `leaves ${latest} of ${before} names` : undefined),
    onChange() {
      changes += 1;
    },
    log,
  });
}

it('reads the file again when another one takes its place', async () => {
  write('a');
  follow();
  expect(followed?.entries()).toEqual(['a']);
  write('a', 'b');
  await until('the change to be read', () => changes === 1);
  expect(followed?.entries()).toEqual(['a', 'b']);
  write();
  await until('the other file to be read', () => changes === 2);
  expect(followed?.entries()).toEqual([]);
});

it('keeps the last good entries when the file goes bad or away, and says so once for each', async () => {
  write('a');
  follow();
  put('{"names": [7]}');
  await until('the bad file to be logged', () => logged.mock.calls.length === 1);
  const [fields, line] = logged.mock.calls[0] ?? [];
  expect(String(Object(fields).err)).toContain(`NAMES_FILE ${file} cannot be used: names.0: `);
  expect(line).toBe('NAMES_FILE cannot be used: the last good one stays in force');
  expect(followed?.fault()).toEqual({
    reason: expect.stringMatching(/^NAMES_FILE .+ cannot be used: names\.0: .+ \(line 1\)$/),
    since: expect.any(Date),
  });
  await rm(file);
  await until('the missing file to be logged', () => logged.mock.calls.length === 2);
  expect([followed?.entries(), changes]).toEqual([['a'], 0]);
  expect(followed?.fault()?.reason).toContain('cannot be read');
  write('c');
  await until('the mended file to be read', () => changes === 1);
  expect([followed?.entries(), followed?.fault()]).toEqual([['c'], undefined]);
  expect(logged).toHaveBeenCalledTimes(2);
});

it('keeps the entries where a file takes away too many of them, unless the file says that it is meant', async () => {
  write('a', 'b', 'c');
  follow();
  write();
  await until('the empty file to be refused', () => followed?.fault() !== undefined);
  expect(followed?.fault()?.reason).toBe(`NAMES_FILE ${file} is refused: it leaves 0 of 3 names`);
  expect(followed?.entries()).toEqual(['a', 'b', 'c']);
  put('{"names": [], "force": true}');
  await until('the forced file to be read', () => changes === 1);
  expect([followed?.entries(), followed?.fault()]).toEqual([[], undefined]);
});

it('does not begin without a file', () => {
  expect(follow).toThrow(`NAMES_FILE ${file} cannot be read: Error: ENOENT`);
});

it.each([
  ['no JSON', '{\n"names": [,]}', /"names": \[,/],
  ['no list', '{}', /^\S+ \S+ cannot be used: names: /],
  ['two mistakes', '{"names": [7, 8]}', /: names\.0: .* \(line 1\); names\.1: /],
  ['a mistake of the whole', '{"names": [], "more": 1}', /: the file: .*more/],
])('does not begin with %s, and says why in one line', (_case, text, reason) => {
  put(text);
  expect(follow).toThrow(/^NAMES_FILE \S+ cannot be used: .*$/);
  expect(follow).toThrow(reason);
});
