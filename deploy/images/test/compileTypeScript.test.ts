import { expect, it } from '@jest/globals';
import { compilePackageFile, compileTypeScript } from '../src/app/copyApp.ts';

it('leaves every line and column where it was, so that a stack trace leads to the source', () => {
  const source = [
    "import type { Model } from './model.ts';",
    'interface Caller {',
    '  id: string;',
    '}',
    'const find = (caller: Caller, models: Model[]): Model | undefined => models[0]; throw new Error(caller.id);',
  ].join('\n');
  const lines = compileTypeScript(source).split('\n');
  expect(lines).toHaveLength(5);
  expect(lines[4]?.indexOf('throw')).toBe(source.split('\n')[4]?.indexOf('throw'));
  expect(lines.slice(0, 4).join('').trim()).toBe('');
});

it.each([
  ["import { a } from './a.ts';", "import { a } from './a.js';"],
  ["import '../b/c.ts';", "import '../b/c.js';"],
  ["export * from '#own/d.ts';", "export * from '#own/d.js';"],
  ["const e = await import('./e.ts');", "const e = await import('./e.js');"],
  ["new Worker(new URL('./f.ts', import.meta.url));", "new Worker(new URL('./f.js', import.meta.url));"],
])('names modules as they are called in an image: %s', (source, compiled) => {
  expect(compileTypeScript(source)).toBe(compiled);
});

it.each([
  "import { a } from '@turnpike/config/services';",
  "const text = readFileSync(new URL('./g.lua', import.meta.url));",
  "const told = 'see config.ts';",
])('leaves all other names alone: %s', (source) => {
  expect(compileTypeScript(source)).toBe(source);
});

it('refuses what is more than types, which would not run from source either', () => {
  expect(() => compileTypeScript('enum Region { us }')).toThrow();
});

it('leads the exports of a package to what was compiled, and keeps its other fields', () => {
  const text = JSON.stringify({
    name: '@turnpike/x',
    exports: { './*': './src/*.ts' },
    imports: { '#a': './src/a.ts' },
  });
  expect(JSON.parse(compilePackageFile(text))).toEqual({
    name: '@turnpike/x',
    exports: { './*': './src/*.js' },
    imports: { '#a': './src/a.js' },
  });
});
