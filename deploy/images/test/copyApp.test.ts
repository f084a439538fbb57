import { execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { copyApp } from '../src/app/copyApp.ts';

async function aDeployedApp(files: Record<string, string>): Promise<string> {
  const folder = await aTemporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const FILES = {
  'package.json': '{"name":"@turnpike/app","type":"module"}',
  'README.md': 'prose',
  'src/main.ts': "import { say } from '@turnpike/lib/say'; const who: string = 'all'; console.log(say(who));",
  'src/main.test.ts': 'a test',
  'test/whole.test.ts': 'a test',
  'sql/1.sql': 'SELECT 1',
  'node_modules/@turnpike/lib/package.json': '{"name":"@turnpike/lib","type":"module","exports":{"./*":"./src/*.ts"}}',
  'node_modules/@turnpike/lib/src/say.ts':
    "import { readFileSync } from 'node:fs'; import { up } from 'shout'; " +
    "const greeting = String(readFileSync(new URL('../texts/greeting.txt', import.meta.url))); " +
    'export const say = (who: string): string => up(greeting + who);',
  'node_modules/@turnpike/lib/texts/greeting.txt': 'hello ',
  'node_modules/@turnpike/lib/node_modules/shout/package.json': '{"name":"shout","main":"index.js"}',
  'node_modules/@turnpike/lib/node_modules/shout/index.js': 'exports.up = (text) => text.toUpperCase();',
  'node_modules/@turnpike/lib/node_modules/shout/index.d.ts': 'export declare const up: unknown;',
  'node_modules/.pnpm/lock.yaml': 'of pnpm',
};

it('makes an app that Node runs from below node_modules, with the files it reads', async () => {
  const [from, to] = [await aDeployedApp(FILES), join(await aTemporaryFolder(), 'app')];
  await copyApp(from, to);
  expect(execFileSync(process.execPath, [join(to, 'src/main.js')], { encoding: 'utf8' })).toBe('HELLO ALL\n');
});

it('leaves out tests, prose, declarations, sources and what is of pnpm', async () => {
  const [from, to] = [await aDeployedApp(FILES), join(await aTemporaryFolder(), 'app')];
  await copyApp(from, to);
  const entries = await readdir(to, { recursive: true, withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  expect(names.map((name) => name.slice(to.length + 1)).sort()).toEqual([
    'node_modules/@turnpike/lib/node_modules/shout/index.js',
    'node_modules/@turnpike/lib/node_modules/shout/package.json',
    'node_modules/@turnpike/lib/package.json',
    'node_modules/@turnpike/lib/src/say.js',
    'node_modules/@turnpike/lib/texts/greeting.txt',
    'package.json',
    'sql/1.sql',
    'src/main.js',
  ]);
});
