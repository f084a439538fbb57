import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { aCatalog } from '../../test/aPricedModel.ts';
import { getModel } from './catalog.ts';

const catalog = aCatalog(
  { id: 'large-chat', aliases: ['big', 'Turnpike/Large'] },
  { id: 'small-chat', aliases: ['compact-chatter'] },
  { id: 'small-chat-2' },
  { id: 'old-chat', state: 'retired', replacement: 'small-chat', aliases: ['older-chat'] },
  { id: 'lost-chat', state: 'retired' },
  { id: 'paused-chat', state: 'disabled' },
);

function faultOf(name: string): unknown {
  try {
    getModel(catalog, name);
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error.fault : error;
  }
}

it.each([
  ['its id', 'large-chat', 'large-chat'],
  ['an alias', 'big', 'large-chat'],
  ['an alias with a slash', 'Turnpike/Large', 'large-chat'],
])('finds a model by %s', (_case, name, id) => {
  expect(getModel(catalog, name).id).toBe(id);
});

it('never lets an alias shadow another model’s id', () => {
  const shadowed = aCatalog({ id: 'a-chat' }, { id: 'b-chat', aliases: ['a-chat'] });
  expect(getModel(shadowed, 'a-chat').id).toBe('a-chat');
});

describe('an unknown name', () => {
  it('comes back with the nearest live models first', () => {
    expect(faultOf('smal-chat')).toMatchObject({ kind: 'unknown_model', didYouMean: ['small-chat', 'small-chat-2'] });
  });

  it('is compared without what stands before the slash, and without regard to case', () => {
    expect(faultOf('vendor/LARGE-CHAT')).toMatchObject({ didYouMean: ['large-chat'] });
  });

  it('is told canonical ids, not aliases', () => {
    expect(faultOf('bigg')).toMatchObject({ didYouMean: ['large-chat'] });
  });

  it('is told no model of media, which does not serve text', () => {
    const known = aCatalog({ id: 'whisper', category: 'audio' }, { id: 'whimper' });
    expect(() => getModel(known, 'whispe')).toThrow(
      expect.objectContaining({ fault: { kind: 'unknown_model', didYouMean: ['whimper'] } }),
    );
  });

  it.each(['paused-chatt', 'old-chat'])('is told no model that cannot be called: %s', (name) => {
    const { didYouMean } = faultOf(name) as { didYouMean: string[] };
    expect(didYouMean).not.toEqual(expect.arrayContaining(['paused-chat']));
    expect(didYouMean).not.toEqual(expect.arrayContaining(['old-chat']));
  });

  it('gets no list when nothing is near', () => {
    expect(faultOf('something-entirely-different')).toEqual({ kind: 'unknown_model', didYouMean: [] });
  });

  it.each(['constructor', '__proto__', '', 'x'.repeat(100_000)])('may be anything: %.20s', (name) => {
    expect(faultOf(name)).toMatchObject({ kind: 'unknown_model' });
  });
});

describe('a retired model', () => {
  it.each(['old-chat', 'older-chat'])('is unknown, with its replacement: %s', (name) => {
    expect(faultOf(name)).toMatchObject({ kind: 'unknown_model', suggestedModel: 'small-chat' });
  });

  it('is unknown without one', () => {
    expect(faultOf('lost-chat')).not.toHaveProperty('suggestedModel');
  });
});

it('a disabled model says so', () => {
  expect(faultOf('paused-chat')).toEqual({ kind: 'model_disabled', model: 'paused-chat' });
});
