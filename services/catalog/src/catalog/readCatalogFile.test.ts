import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aCatalogModel } from '../../test/aCatalogModel.ts';
import { catalogTextOf, catalogTextWith } from '../../test/catalogText.ts';
import { CatalogFileError, readCatalogFile } from './readCatalogFile.ts';

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-catalog-'));
  path = join(folder, 'us.yaml');
});
afterAll(() => rm(folder, { recursive: true }));

/** The mistakes found in a file, each without the file's path. */
async function mistakesIn(text: string, region: 'us' | 'eu' = 'us'): Promise<string[]> {
  await writeFile(path, text);
  const error = await readCatalogFile(path, region).catch((reason: unknown) => reason);
  if (!(error instanceof CatalogFileError)) throw new Error('the file was not refused', { cause: error });
  expect(error.message.split('\n')).toEqual(error.mistakes);
  return error.mistakes.map((mistake) => mistake.replace(path, ''));
}

it('reads a model as the fleet knows it, with what was left out as most models have it', async () => {
  await writeFile(path, catalogTextWith({}));
  expect(await readCatalogFile(path, 'us')).toEqual([aCatalogModel({ aliases: ['small', 'chat'] })]);
});

it('leaves out a model that is not cleared for the region, together with its replacement', async () => {
  const text = catalogTextOf(
    { id: 'eu-only', clearance: '[eu]' },
    { id: 'eu-retired', clearance: '[eu]', more: ['state: retired', 'replacement: eu-only'] },
  );
  await writeFile(path, text);
  expect((await readCatalogFile(path, 'us')).map(({ id }) => id)).toEqual(['small-chat']);
});

const notAPrice = 'is not a price: write USD in plain digits with at most 18 decimals, as in "0.00000025"';

it.each([
  ['a negative price', { 12: '      prompt: "-0.1"' }, `:12: models[0].pricing.prompt: "-0.1" ${notAPrice}`],
  [
    'a price with an exponent',
    { 12: '      prompt: "2.5e-7"' },
    `:12: models[0].pricing.prompt: "2.5e-7" ${notAPrice}`,
  ],
  [
    'a price as a number',
    { 12: '      prompt: 0.1' },
    ':12: models[0].pricing.prompt: must be a text: put it in quotes',
  ],
  ['a missing price', { 14: undefined }, ':11: models[0].pricing.input_cache_read: is missing'],
  ['a missing context length', { 9: undefined }, ':3: models[0].context_length: is missing'],
  ['a window of no tokens', { 9: '    context_length: 0' }, ':9: models[0].context_length: must be at least 1 token'],
  [
    'an unknown feature, which would be one switched off',
    { 20: '    supported_features: [json_mode, tool]' },
    ':20: models[0].supported_features[1]: must be tools, json_mode, json_schema or reasoning',
  ],
  [
    'an unknown key',
    { 7: '    category: text\n    categroy: code' },
    ':8: models[0].categroy: is not a key known here',
  ],
  ['an unknown key with more below it', { 1: 'region: us\nextra:\n  more: 1' }, ':2: extra: is not a key known here'],
  [
    'an id written with capitals',
    { 3: '  - id: Small' },
    ':3: models[0].id: must be lower-case letters, digits, dots and dashes',
  ],
  [
    'an alias twice',
    { 6: '    aliases: [small, small]' },
    ':6: models[0].aliases[1]: "small" is already an alias of models[0]',
  ],
  [
    'an alias that is the own id',
    { 6: '    aliases: [small-chat]' },
    ':6: models[0].aliases[0]: "small-chat" is already the id of models[0]',
  ],
  ['a day that is not', { 25: '    created: 2025-02-30' }, ':25: models[0].created: Invalid ISO date'],
  [
    'a live model with a replacement',
    { 25: '    created: 2025-01-26\n    replacement: small-chat' },
    ':26: models[0].replacement: only a retired model has a replacement',
  ],
  [
    'images without their size in tokens',
    { 8: '    input_modalities: [text, image]' },
    ':3: models[0].max_tokens_per_image: must be at least 1, since the model takes images',
  ],
  ['an anchor that is not there', { 6: '    aliases: *small' }, ':6: *small is no anchor'],
  ['a key twice', { 2: 'region: us\nmodels:' }, ':2: Map keys must be unique'],
])('refuses %s, and nothing else, with its line', async (_what, changes, mistake) => {
  expect(await mistakesIn(catalogTextWith(changes))).toEqual([mistake]);
});

// The second model starts on line 26: its aliases stand on line 29, what is added to it on line 49.
it.each([
  ['an id twice', { id: 'small-chat' }, ':26: models[1].id: "small-chat" is already the id of models[0]'],
  [
    'another model’s alias',
    { id: 'b', aliases: ['x', 'chat'] },
    ':29: models[1].aliases[1]: "chat" is already an alias of models[0]',
  ],
  [
    'an alias that is another’s id',
    { id: 'b', aliases: ['small-chat'] },
    ':29: models[1].aliases[0]: "small-chat" is already the id of models[0]',
  ],
  [
    'an id that is another’s alias',
    { id: 'small' },
    ':6: models[0].aliases[0]: "small" is already the id of models[1]',
  ],
  [
    'an unknown replacement',
    { id: 'b', more: ['state: retired', 'replacement: gone'] },
    ':50: models[1].replacement: "gone" is not a live model cleared for this region',
  ],
])('refuses %s', async (_what, other, mistake) => {
  expect(await mistakesIn(catalogTextOf(other))).toEqual([mistake]);
});

it.each([
  ['retired itself', ['state: retired'], '[us, eu]'],
  ['disabled', ['state: disabled'], '[us, eu]'],
  ['not cleared for the region, so that its name would give it away', [], '[eu]'],
])('refuses a replacement that is %s', async (_what, more, clearance) => {
  const retired = { id: 'old', more: ['state: retired', 'replacement: new'] };
  expect(await mistakesIn(catalogTextOf(retired, { id: 'new', clearance, more }))).toEqual([
    ':50: models[1].replacement: "new" is not a live model cleared for this region',
  ]);
});

it('names every mistake at once, in the order of their lines, whatever kind they are of', async () => {
  const text = catalogTextWith({
    3: '  - id: small',
    9: '    context_lenth: 8192',
    12: '      prompt: "-1"',
    15: undefined,
    25: '    created: yesterday',
  });
  expect(await mistakesIn(text)).toEqual([
    ':3: models[0].context_length: is missing',
    ':6: models[0].aliases[0]: "small" is already the id of models[0]',
    ':9: models[0].context_lenth: is not a key known here',
    ':11: models[0].pricing.request: is missing',
    `:12: models[0].pricing.prompt: "-1" ${notAPrice}`,
    ':24: models[0].created: Invalid ISO date',
  ]);
});

it.each([
  [
    'two mistakes in the YAML',
    'region: us\nregion: us\nmodels: [\n',
    [':2: Map keys must be unique', expect.stringMatching(/^:4: Flow sequence /)],
  ],
  ['an empty file', '', [':1: file: must be an object']],
  ['a model that is only a word', 'region: us\nmodels: [small-chat]\n', [':2: models[0]: must be an object']],
  ['a region nobody knows', catalogTextWith({ 1: 'region: mars' }), [':1: region: must be us or eu']],
])('refuses %s', async (_what, text, mistakes) => {
  expect(await mistakesIn(text)).toEqual(mistakes);
});

it('refuses anchors that name each other a thousandfold instead of spelling them out', async () => {
  const tenOf = (name: string): string => `[${new Array(10).fill(name).join(', ')}]`;
  const text = `a: &a ${tenOf('x')}\nb: &b ${tenOf('*a')}\nc: &c ${tenOf('*b')}\nd: ${tenOf('*c')}\n`;
  expect(await mistakesIn(text)).toEqual([expect.stringContaining('Excessive alias count')]);
});

it('refuses the catalog of another region', async () => {
  expect(await mistakesIn(catalogTextWith({}), 'eu')).toEqual([':1: region: is us, but this stack is of region eu']);
});

it('says that a file is missing', async () => {
  const missing = join(folder, 'nowhere.yaml');
  await expect(readCatalogFile(missing, 'us')).rejects.toMatchObject({
    name: 'CatalogFileError',
    message: `${missing}: cannot be read (ENOENT)`,
  });
});
