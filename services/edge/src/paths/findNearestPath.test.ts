import { expect, it } from '@jest/globals';
import { createNearestPathFinder } from './findNearestPath.ts';

const findNearestPath = createNearestPathFinder('svc');

it.each([
  ['/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/api/v1/chat/completions', '/v1/chat/completions'],
  ['/openai/v1/embeddings', '/v1/embeddings'],
  ['//v1//completions', '/v1/completions'],
  ['/v1/models/', '/v1/models'],
  ['/V1/Models', '/v1/models'],
  ['/v1/chat/completion', '/v1/chat/completions'],
  ['/v1/embedding', '/v1/embeddings'],
  ['/models/Some/Name', '/v1/models/Some/Name'],
  ['/v1/image/generations', '/v1/images/generations'],
  ['/v1/audio/transcription', '/v1/audio/transcriptions'],
  ['/svc/usages', '/v1/svc/usage'],
])('for %s it is %s', (path, nearest) => {
  expect(findNearestPath(path)).toBe(nearest);
});

it.each([
  '/',
  '/v1',
  '/v1/',
  '/api/v1',
  '/no-such-path',
  '/index.html',
  '/internal/keys/verify',
  `/${'a'.repeat(10_000)}`,
])('for %s there is none', (path) => {
  expect(findNearestPath(path)).toBeUndefined();
});
