import { describe, expect, it } from '@jest/globals';
import { createModelFinder, findSimilarModels, pathsOfModel } from './modelNames.ts';

const aModel = (id: string, huggingFaceId = '', aliases: string[] = []) => ({ id, huggingFaceId, aliases });
const MODELS = [
  aModel('small-chat', 'Makers/Small-Chat-Instruct', ['small', 'other/tiny']),
  aModel('small-chat-2', 'makers/SMALL-CHAT-INSTRUCT'),
  aModel('tiny'),
  aModel('embedder', 'BAAI/embedder', ['embedder/latest']),
];
const find = createModelFinder(MODELS);

describe('a model is found by', () => {
  it.each([
    ['its id', 'small-chat', 'small-chat'],
    ['an alias', 'small', 'small-chat'],
    ['an alias with an owner in it, before the id behind the owner', 'other/tiny', 'small-chat'],
    ['its hugging_face_id', 'Makers/Small-Chat-Instruct', 'small-chat'],
    ['its hugging_face_id in another case', 'makers/small-chat-instruct', 'small-chat'],
    ['an owner and its id', 'any-owner/small-chat-2', 'small-chat-2'],
    ['the id of an id that is a hugging_face_id as well', 'baai/embedder', 'embedder'],
    ['an alias that ends in a slash and a word', 'embedder/latest', 'embedder'],
  ])('%s', (_way, name, id) => {
    expect(find(name)?.id).toBe(id);
  });

  it.each(['', '/', 'SMALL-CHAT', 'a/b/tiny', '/tiny', 'tiny/', 'a/TINY', 'a/small', 'Small', ' tiny', 'toString'])(
    'nothing like %j',
    (name) => {
      expect(find(name)).toBeUndefined();
    },
  );
});

it.each([
  ['smal-chat', ['small-chat', 'small-chat-2']],
  ['a/b/tiny/', ['tiny']],
  ['other/tinyy', ['tiny']],
  ['something-entirely-different', []],
])('names like %s are %j', (typed, ids) => {
  expect(findSimilarModels(MODELS, typed)).toEqual(ids);
});

it.each([
  ['reasoning', ['text'], ['/v1/chat/completions', '/v1/completions']],
  ['embeddings', ['embeddings'], ['/v1/embeddings']],
  ['image', ['image'], ['/v1/images/generations']],
  ['video', ['video'], ['/v1/videos']],
  ['audio', ['audio'], ['/v1/audio/speech']],
  ['audio', ['text'], ['/v1/audio/transcriptions', '/v1/audio/translations']],
] as const)('a model of %s that gives %j is called at %j', (category, outputModalities, paths) => {
  expect(pathsOfModel({ category, outputModalities: [...outputModalities] })).toEqual(paths);
});
