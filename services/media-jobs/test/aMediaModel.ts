import { aCatalogModel } from '@turnpike/internal-api/aCatalogModel';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { type MediaCatalog, type MediaModel, toMediaCatalog } from '../src/catalog/mediaCatalog.ts';

type ModelFields = Partial<Omit<CatalogModel, 'media'>> & { media?: Partial<MediaModel['media']> };

const aModel =
  (own: Pick<CatalogModel, 'id' | 'category' | 'inputModalities' | 'outputModalities'>, media: MediaModel['media']) =>
  ({ media: changes, ...fields }: ModelFields = {}): MediaModel => ({
    ...aCatalogModel({ ...own, supportedFeatures: [], ...fields }),
    media: { ...media, ...changes },
  });

/** A live model of each kind; what a test is about it passes. */
export const anImageModel = aModel(
  { id: 'small-image', category: 'image', inputModalities: ['text'], outputModalities: ['image'] },
  {
    billingUnit: 'image',
    unitPrice: '0.0028',
    capabilities: { sizes: ['512x512', '1024x1024'], outputFormats: ['png', 'jpeg', 'webp'], maxImages: 4 },
  },
);
export const aVideoModel = aModel(
  { id: 'small-video', category: 'video', inputModalities: ['text'], outputModalities: ['video'] },
  {
    billingUnit: 'second',
    unitPrice: '0.01',
    capabilities: { sizes: ['832x480'], seconds: [3, 5], fps: 16, steps: 40 },
  },
);
export const aSpeechModel = aModel(
  { id: 'small-voice', category: 'audio', inputModalities: ['text'], outputModalities: ['audio'] },
  {
    billingUnit: 'character',
    unitPrice: '0.0000008',
    capabilities: { voices: ['emma', 'adam'], outputFormats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] },
  },
);
export const anEarModel = aModel(
  { id: 'small-ear', category: 'audio', inputModalities: ['audio'], outputModalities: ['text'] },
  { billingUnit: 'minute', unitPrice: '0.0015', capabilities: { maxMinutes: 120 } },
);

export const aMediaCatalog = (...models: CatalogModel[]): MediaCatalog =>
  toMediaCatalog({ version: 7, region: 'us', models });
