import { expect, it } from '@jest/globals';
import { aCatalogModel } from '@turnpike/internal-api/aCatalogModel';
import { aMediaCatalog, anEarModel, anImageModel, aSpeechModel, aVideoModel } from '../../test/aMediaModel.ts';
import { clipSettingsOf, getMediaModel, priceOf, pricesFor } from './mediaCatalog.ts';

const catalog = aMediaCatalog(
  aCatalogModel({ id: 'small-chat', aliases: ['chatter'] }),
  anImageModel({ id: 'painter', aliases: ['brush', 'Turnpike/Painter', 'small-chat', 'talker'] }),
  aSpeechModel({ id: 'talker' }),
  anEarModel({ id: 'old-ear', state: 'retired', replacement: 'talker', aliases: ['ear'] }),
  anImageModel({ id: 'paused', state: 'disabled' }),
  anImageModel({ id: 'homeless' }),
);
const find = (name: string) => getMediaModel(catalog, name, { isConfigured: (id) => id !== 'homeless' });
const CHAT = { textModel: { id: 'small-chat', paths: ['/v1/chat/completions', '/v1/completions'] } };
const fault = (kind: string, fields: object = {}) => expect.objectContaining({ fault: { kind, ...fields } });

it.each(['painter', 'brush', 'Turnpike/Painter'])('finds a model by its id and its aliases: %s', (name) => {
  expect(find(name)).toMatchObject({ model: { id: 'painter' }, priceVersion: 7 });
});

it('never lets an alias shadow the id of another model, be that one of text', () => {
  expect(find('talker').model.id).toBe('talker');
  expect(() => find('small-chat')).toThrow(fault('model_not_found', CHAT));
});

it.each(['small-chat', 'chatter', 'owner/small-chat'])('says of %s where a model of text is called', (name) => {
  expect(() => find(name)).toThrow(fault('model_not_found', CHAT));
});

it.each(['nobody', '', 'constructor', '__proto__', 'old-ear', 'ear', 'homeless'])(
  'does not know %p, which is unknown, retired, or without a backend here',
  (name) => {
    expect(() => find(name)).toThrow(fault('model_not_found'));
  },
);

it('says of a model that it is switched off, and which are', () => {
  expect(() => find('paused')).toThrow(fault('model_disabled', { model: 'paused' }));
  expect(catalog.disabled).toEqual(['paused']);
});

it('serves nothing before there is a catalog', () => {
  expect(() => getMediaModel(undefined, 'painter', { isConfigured: () => true })).toThrow(fault('catalog_unavailable'));
});

it('has a price for a model, or says that it has none: never 0 by being forgotten', () => {
  const priceOfEar = (media: object = {}) => priceOf(anEarModel({ media }), 'audio.transcriptions');
  expect(priceOfEar()).toEqual({ billingUnit: 'minute', unitPrice: '0.0015' });
  expect(priceOfEar({ unitPrice: '0' })).toEqual({ billingUnit: 'minute', unitPrice: '0' });
  for (const media of [{ unitPrice: null }, { billingUnit: 'character' }])
    expect(() => priceOfEar(media)).toThrow(fault('pricing_unavailable', { model: 'small-ear' }));
});

it('knows what the models of an operation cost that can be called', () => {
  const priced = aMediaCatalog(
    anEarModel({ aliases: ['ear'] }),
    anEarModel({ id: 'dear', media: { billingUnit: 'second', unitPrice: '0.1' } }),
    anEarModel({ id: 'unpriced', media: { unitPrice: null } }),
    anEarModel({ id: 'old', state: 'retired' }),
    aSpeechModel(),
    aVideoModel(),
  );
  expect(pricesFor(priced, 'audio.translations')).toEqual([
    { billingUnit: 'minute', unitPrice: '0.0015' },
    { billingUnit: 'second', unitPrice: '0.1' },
  ]);
});

it('fixes frames a second and steps of a clip', () => {
  expect(clipSettingsOf(aMediaCatalog(aVideoModel()), 'small-video')).toEqual({ fps: 16, steps: 40 });
  expect(clipSettingsOf(undefined, 'small-video')).toEqual({});
});
