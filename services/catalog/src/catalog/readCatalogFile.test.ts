import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Region } from '@turnpike/config/region';
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
async function mistakesIn(text: string, region: Region = 'us'): Promise<string[]> {
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

describe('a media model', () => {
  const image = [
    'category: image',
    'output_modalities: [image]',
    'billing_unit: image',
    'unit_price: "0.0028"',
    'capabilities: { sizes: [512x512], output_formats: [png, webp], max_images: 4 }',
  ];
  const speech = [
    'category: audio',
    'output_modalities: [audio]',
    'billing_unit: character',
    'unit_price: "0.0000008"',
    'capabilities: { voices: [emma], output_formats: [mp3, pcm] }',
  ];
  const clip = [
    'category: video',
    'output_modalities: [video]',
    'billing_unit: second',
    'unit_price: "0.01"',
    'capabilities: { sizes: [832x480], seconds: [3, 5], fps: 16, steps: 40 }',
  ];
  const ear = [
    'category: audio',
    'input_modalities: [audio]',
    'billing_unit: minute',
    'unit_price: "0.0015"',
    'capabilities: { max_minutes: 120 }',
  ];
  /** The catalog's one model, and one of media after it: its id stands on line 26, its lines from 29 on. */
  const textOf = (lines: string[]): string => {
    const common = ['name: A', 'hugging_face_id: ""'];
    const rest = [
      'clearance: [us]',
      'context_length: 512',
      'max_output_length: 1',
      'supported_parameters: []',
      'supported_sampling_parameters: []',
      'template_tokens_per_message: 0',
      'template_tokens_per_request: 0',
      'created: 2025-01-26',
    ];
    return `${catalogTextWith({})}  - id: maker\n${[...common, ...lines, ...rest].map((line) => `    ${line}\n`).join('')}`;
  };
  const changed = (lines: string[], change: string, to: string | undefined): string[] =>
    lines.flatMap((line) => (line.startsWith(change) ? (to === undefined ? [] : [to]) : [line]));
  const mediaOf = async (lines: string[]) => {
    await writeFile(path, textOf(lines));
    const [, model] = await readCatalogFile(path, 'us');
    return model && { media: model.media, pricing: model.pricing };
  };
  const none = {
    prompt: '0',
    completion: '0',
    input_cache_read: '0',
    request: '0',
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
  };

  it('has one price, and says what it can do', async () => {
    expect(await mediaOf(image)).toEqual({
      media: {
        billingUnit: 'image',
        unitPrice: '0.0028',
        capabilities: { sizes: ['512x512'], outputFormats: ['png', 'webp'], maxImages: 4 },
      },
      pricing: { ...none, image: '0.0028' },
    });
    expect(await mediaOf(speech)).toMatchObject({ media: { billingUnit: 'character' }, pricing: none });
    expect(await mediaOf(clip)).toMatchObject({
      media: { capabilities: { sizes: ['832x480'], seconds: [3, 5], fps: 16, steps: 40 } },
    });
  });

  it.each<[string, string[] | undefined]>([
    ['max_minutes: 120', ['segment']],
    ['max_minutes: 120, timestamps: []', []],
    ['max_minutes: 120, timestamps: [segment]', ['segment']],
    ['max_minutes: 120, timestamps: [segment, word]', ['segment', 'word']],
  ])('that listens and can { %s } times %j', async (capabilities, timestamps) => {
    const media = await mediaOf(changed(ear, 'capabilities', `capabilities: { ${capabilities} }`));
    expect(media?.media?.capabilities.timestamps).toEqual(timestamps);
    expect((await mediaOf(speech))?.media?.capabilities.timestamps).toBeUndefined();
  });

  it('that takes images says nothing of tokens', async () => {
    const reference = ['input_modalities: [text, image]'];
    expect(await mediaOf([...clip, ...reference])).toMatchObject({ media: { billingUnit: 'second' } });
    expect(await mediaOf([...image, ...reference])).toMatchObject({ media: { billingUnit: 'image' } });
  });

  it('without a price has none, which is not 0', async () => {
    const unpriced = await mediaOf(changed(image, 'unit_price', undefined));
    expect(unpriced).toMatchObject({ media: { unitPrice: null }, pricing: none });
    expect(await mediaOf(changed(image, 'unit_price', 'unit_price: "0"'))).toMatchObject({ media: { unitPrice: '0' } });
  });

  it.each<[string, string[], string]>([
    ['no unit', changed(image, 'billing_unit', undefined), ':26: models[1].billing_unit: is missing'],
    [
      'a unit that nobody knows',
      changed(image, 'billing_unit', 'billing_unit: token'),
      ':31: models[1].billing_unit: must be image, second, character or minute',
    ],
    [
      'a unit that cannot be measured of it',
      changed(image, 'billing_unit', 'billing_unit: second'),
      ':31: models[1].billing_unit: must be image for category image',
    ],
    [
      'a unit of the other kind',
      changed(speech, 'billing_unit', 'billing_unit: image'),
      ':31: models[1].billing_unit: must be second, character or minute for category audio',
    ],
    [
      'a unit that is not measured of what it makes',
      changed(speech, 'billing_unit', 'billing_unit: minute'),
      ':31: models[1].billing_unit: must be character for speech',
    ],
    [
      'a price as a number',
      changed(image, 'unit_price', 'unit_price: 0.1'),
      ':32: models[1].unit_price: must be a text: put it in quotes',
    ],
    [
      'a price with an exponent',
      changed(image, 'unit_price', 'unit_price: "1e-3"'),
      `:32: models[1].unit_price: "1e-3" ${notAPrice}`,
    ],
    [
      'prices of tokens',
      [
        ...image,
        'pricing: { prompt: "0", completion: "0", input_cache_read: "0", request: "0", image: "0", web_search: "0", internal_reasoning: "0" }',
      ],
      ':34: models[1].pricing: is for tokens: media have billing_unit and unit_price',
    ],
    [
      'a size that is none',
      changed(image, 'capabilities', 'capabilities: { sizes: [512], output_formats: [png], max_images: 4 }'),
      ':33: models[1].capabilities.sizes[0]: must be a text: put it in quotes',
    ],
    [
      'a size of no width',
      changed(image, 'capabilities', 'capabilities: { sizes: [512x], output_formats: [png], max_images: 4 }'),
      ':33: models[1].capabilities.sizes[0]: must be a width and a height in pixels, as in 1024x1024',
    ],
    [
      'no sizes',
      changed(image, 'capabilities', 'capabilities: { sizes: [], output_formats: [png], max_images: 4 }'),
      ':33: models[1].capabilities.sizes: must not be empty',
    ],
    [
      'more images than a request may ask for',
      changed(image, 'capabilities', 'capabilities: { sizes: [8x8], output_formats: [png], max_images: 11 }'),
      ':33: models[1].capabilities.max_images: must be at most 10',
    ],
    [
      'a format of another kind',
      changed(image, 'capabilities', 'capabilities: { sizes: [8x8], output_formats: [png, mp3], max_images: 1 }'),
      ':33: models[1].capabilities.output_formats[1]: must be png, jpeg or webp for image',
    ],
    [
      'a format that is none',
      changed(speech, 'capabilities', 'capabilities: { voices: [emma], output_formats: [midi] }'),
      ':33: models[1].capabilities.output_formats[0]: must be png, jpeg, webp, mp3, opus, aac, flac, wav or pcm',
    ],
    [
      'a capability missing',
      changed(speech, 'capabilities', 'capabilities: { output_formats: [mp3] }'),
      ':33: models[1].capabilities.voices: is missing',
    ],
    [
      'a clip of nobody knows how many frames',
      changed(clip, 'capabilities', 'capabilities: { sizes: [832x480], seconds: [3], steps: 40 }'),
      ':33: models[1].capabilities.fps: is missing',
    ],
    [
      'a capability of another kind',
      changed(speech, 'capabilities', 'capabilities: { voices: [emma], output_formats: [mp3], max_minutes: 3 }'),
      ':33: models[1].capabilities.max_minutes: is not for speech, which has voices, output_formats and voice_aliases',
    ],
    [
      'an alias of no voice',
      changed(
        speech,
        'capabilities',
        'capabilities: { voices: [emma], output_formats: [mp3], voice_aliases: { alloy: adam } }',
      ),
      ':33: models[1].capabilities.voice_aliases.alloy: "adam" is not one of the voices',
    ],
    [
      'an alias that is a voice',
      changed(
        speech,
        'capabilities',
        'capabilities: { voices: [emma], output_formats: [mp3], voice_aliases: { emma: emma } }',
      ),
      ':33: models[1].capabilities.voice_aliases.emma: is the name of a voice already',
    ],
    [
      'a language by its name',
      changed(ear, 'capabilities', 'capabilities: { max_minutes: 3, languages: [english] }'),
      ':33: models[1].capabilities.languages[0]: must be a code of two or three letters, as in en',
    ],
    [
      'times of words alone',
      changed(ear, 'capabilities', 'capabilities: { max_minutes: 3, timestamps: [word] }'),
      ':33: models[1].capabilities.timestamps: must be [], [segment] or [segment, word]',
    ],
    [
      'times of what it says',
      changed(speech, 'capabilities', 'capabilities: { voices: [emma], output_formats: [mp3], timestamps: [] }'),
      ':33: models[1].capabilities.timestamps: is not for speech, which has voices, output_formats and voice_aliases',
    ],
    [
      'a capability that nobody knows',
      changed(speech, 'capabilities', 'capabilities: { voices: [emma], output_formats: [mp3], moods: [glad] }'),
      ':33: models[1].capabilities.moods: is not a key known here',
    ],
    [
      'nothing that it makes',
      changed(image, 'output', undefined),
      ':26: models[1].output_modalities: must name image, as the category does',
    ],
    [
      'audio neither in nor out',
      changed(speech, 'output', undefined),
      ':29: models[1].category: an audio model takes audio (input_modalities) or makes it (output_modalities), one of the two',
    ],
  ])('is refused with %s, with its line', async (_what, lines, mistake) => {
    expect(await mistakesIn(textOf(lines))).toEqual([mistake]);
  });

  it('is what its category says: a model of text has prices of tokens, and nothing of media', async () => {
    expect(await mistakesIn(textOf(changed(image, 'category', 'category: text')))).toEqual([
      ':26: models[1].pricing: is missing',
      ...[31, 32, 33].map((line, nth) => {
        const key = ['billing_unit', 'unit_price', 'capabilities'][nth];
        return `:${line}: models[1].${key}: is for categories image, audio and video alone`;
      }),
    ]);
  });
});
