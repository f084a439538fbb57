import { expect, it } from '@jest/globals';
import { keysPageUrlSchema } from './sharedSettings.ts';

it.each(['https://dashboard.example/keys', 'http://localhost:3000/keys?tab=1'])(
  'takes %s for the page of API keys',
  (url) => {
    expect(keysPageUrlSchema.parse(url)).toBe(url);
  },
);

it.each(['', 'dashboard.example/keys', '/keys', 'javascript:alert(1)'])(
  'takes "%s" for no page: callers are sent there',
  (text) => {
    expect(keysPageUrlSchema.safeParse(text).success).toBe(false);
  },
);

it('has a default that is itself such a page', () => {
  const page = keysPageUrlSchema.parse(undefined);
  expect(keysPageUrlSchema.parse(page)).toBe(page);
});
