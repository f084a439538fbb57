import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { commonConfig } from './commonConfig.ts';
import { ConfigError, loadConfig } from './loadConfig.ts';

const schema = z.object(commonConfig);
const secret = 'a secret that is long enough for us';
const right = { REGION: 'us', PORT: '8080', INTERNAL_PORT: '8081', INTERNAL_TOKEN_KEYS: `k2:${secret},k1:${secret}` };

it('reads a right environment, and ignores what is not its own', () => {
  expect(loadConfig('edge', schema, { ...right, PATH: '/bin' })).toMatchObject({
    REGION: 'us',
    PORT: 8080,
    INTERNAL_TOKEN_KEYS: [
      { id: 'k2', secret },
      { id: 'k1', secret },
    ],
  });
});

it('names every wrong variable at once, and no value of any', () => {
  const wrong = { REGION: 'mars', PORT: '99999', INTERNAL_TOKEN_KEYS: 'k1:short' };
  let error: unknown;
  try {
    loadConfig('edge', schema, wrong);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ConfigError);
  const { message } = error as ConfigError;
  expect(message).toMatch(/^edge cannot start, its environment is wrong:\n/);
  for (const name of ['REGION', 'PORT', 'INTERNAL_PORT: is not set', 'INTERNAL_TOKEN_KEYS'])
    expect(message).toContain(`  ${name}`);
  expect(message).not.toContain('short');
});
