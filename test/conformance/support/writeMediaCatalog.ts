import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The models of the media rows, by what each is for. */
export const MODELS = {
  text: 'plain-text',
  image: 'pictures',
  video: 'clips',
  speech: 'voices',
  transcript: 'scribe',
  /** One whose engine times words. */
  timedTranscript: 'scribe-of-words',
  /** Two whose backends a row takes away. */
  awayImage: 'pictures-away',
  awaySpeech: 'voices-away',
  priceless: 'pictures-without-price',
  disabled: 'pictures-switched-off',
  /** Four that are not to be had. */
  retired: 'pictures-retired',
  uncleared: 'pictures-licensed',
  unbacked: 'pictures-without-backend',
  unbackedText: 'text-without-engine',
} as const;

export const IMAGE_ALIAS = 'pictures-latest';
/** Price of a unit, in nano-dollars: an image, a second, a character, and a minute of a recording. */
export const PRICES = { image: 2_500_000n, second: 10_000_000n, character: 800n, minute: 1_500_000n };
export const SIZE = '64x64';
export const FPS = 8;

const text = (id: string) =>
  toEntry(id, {
    category: 'text',
    pricing: {
      ...{ prompt: '0.0000001', completion: '0.0000002', input_cache_read: '0', request: '0', image: '0' },
      ...{ web_search: '0', internal_reasoning: '0' },
    },
  });
const image = (id: string, others: object = {}) =>
  toEntry(id, {
    category: 'image',
    output_modalities: ['image'],
    billing_unit: 'image',
    unit_price: '0.0025',
    capabilities: { sizes: [SIZE, '96x64'], output_formats: ['png', 'jpeg', 'webp'], max_images: 4 },
    ...others,
  });
const speech = (id: string) =>
  toEntry(id, {
    category: 'audio',
    output_modalities: ['audio'],
    billing_unit: 'character',
    unit_price: '0.0000008',
    capabilities: {
      voices: ['ada', 'bob'],
      voice_aliases: { alloy: 'ada' },
      output_formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    },
  });
const transcript = (id: string, capabilities: object = {}) =>
  toEntry(id, {
    category: 'audio',
    input_modalities: ['audio'],
    billing_unit: 'minute',
    unit_price: '0.0015',
    capabilities: { max_minutes: 2, languages: ['de', 'en', 'jw', 'yue'], ...capabilities },
  });

const SERVED = [
  text(MODELS.text),
  image(MODELS.image, { aliases: [IMAGE_ALIAS] }),
  toEntry(MODELS.video, {
    category: 'video',
    input_modalities: ['text', 'image'],
    output_modalities: ['video'],
    billing_unit: 'second',
    unit_price: '0.01',
    capabilities: { sizes: [SIZE], seconds: [1, 2], fps: FPS, steps: 4 },
  }),
  speech(MODELS.speech),
  transcript(MODELS.transcript),
  transcript(MODELS.timedTranscript, { timestamps: ['segment', 'word'] }),
  image(MODELS.awayImage),
  speech(MODELS.awaySpeech),
  image(MODELS.priceless, { unit_price: undefined }),
];
const NOT_SERVED = [
  image(MODELS.disabled, { state: 'disabled' }),
  image(MODELS.retired, { state: 'retired', replacement: MODELS.image }),
  image(MODELS.uncleared, { clearance: ['eu'] }),
];

const UNBACKED = [image(MODELS.unbacked), text(MODELS.unbackedText)];

/**
 * Writes two catalogs of few models into a folder of their own. `served` has the models with backends in the stack. `listed` is the
 * stack's catalog, with two more models.
 */
export async function writeMediaCatalog(): Promise<{ folder: string; served: string; listed: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-catalog-'));
  const [served, listed] = [join(folder, 'served.yaml'), join(folder, 'listed.yaml')];
  const models = [...SERVED, ...NOT_SERVED];
  // All JSON is YAML.
  await writeFile(served, JSON.stringify({ region: 'us', models }));
  await writeFile(listed, JSON.stringify({ region: 'us', models: [...models, ...UNBACKED] }));
  return { folder, served, listed };
}

function toEntry(id: string, entry: object): object {
  return {
    id,
    name: id,
    hugging_face_id: `test/${id}`,
    context_length: 4_096,
    max_output_length: 1_024,
    clearance: ['us'],
    supported_parameters: [],
    supported_sampling_parameters: [],
    template_tokens_per_message: 0,
    template_tokens_per_request: 0,
    created: '2025-01-01',
    ...entry,
  };
}
