import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { regionConfig } from './commonConfig.ts';
import { generateSigningKey, toPublicKey } from './internalKeys.ts';
import { countSchema, limitsSchema } from './limits.ts';
import { ConfigError, loadConfig } from './loadConfig.ts';

const schema = z.object(regionConfig);
const signingKey = generateSigningKey('us/edge');
const publicKey = toPublicKey(signingKey);
const right = {
  REGION: 'us',
  PORT: '8080',
  INTERNAL_PORT: '8081',
  INTERNAL_SIGNING_KEY: signingKey,
  INTERNAL_PUBLIC_KEYS: `${publicKey},${publicKey.replace(':k1:', ':k2:')}`,
};

it('reads a right environment, and ignores what is not its own', () => {
  expect(loadConfig('edge', schema, { ...right, PATH: '/bin' })).toMatchObject({
    REGION: 'us',
    PORT: 8080,
    INTERNAL_SIGNING_KEY: { issuer: 'us/edge', id: 'us/edge:k1' },
    INTERNAL_PUBLIC_KEYS: [{ id: 'us/edge:k1' }, { id: 'us/edge:k2' }],
  });
});

const limited = z.object({
  LIMITS: limitsSchema({ WAIT_MS: countSchema.default(500), CALLS: countSchema.default(8) }),
});

it('reads limits from the one setting, each with its default', () => {
  expect(loadConfig('edge', limited, {})).toMatchObject({ WAIT_MS: 500, CALLS: 8 });
  expect(loadConfig('edge', limited, { LIMITS: '{"CALLS":2}' })).toMatchObject({ WAIT_MS: 500, CALLS: 2 });
});

it.each([
  ['a number that is none', { LIMITS: '{"CALLS":"2"}' }, 'LIMITS.CALLS: must be a number'],
  ['an unknown limit', { LIMITS: '{"CALL":2}' }, 'LIMITS: '],
  ['no JSON', { LIMITS: 'CALLS=2' }, 'LIMITS: must be JSON'],
  ['a limit that is a variable of its own', { CALLS: '2' }, 'CALLS: must be an entry of LIMITS'],
])('refuses limits with %s', (_case, environment, line) => {
  expect(() => loadConfig('edge', limited, environment)).toThrow(`\n  ${line}`);
});

it('names every wrong variable at once, and no value of any', () => {
  const wrong = {
    REGION: 'mars',
    PORT: '99999',
    INTERNAL_SIGNING_KEY: 'us/edge:k1:short',
    INTERNAL_PUBLIC_KEYS: `${publicKey},${publicKey}`,
    DRAIN_SETTLE_MS: '',
    LISTEN_HOST: '',
  };
  let error: unknown;
  try {
    loadConfig('edge', schema, wrong);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ConfigError);
  const { message } = error as ConfigError;
  expect(message).toMatch(/^edge cannot start, its environment is wrong:\n/);
  for (const line of [
    'REGION: must be us or eu',
    'PORT: must be a port from 1 to 65535',
    'INTERNAL_PORT: is not set',
    'INTERNAL_SIGNING_KEY: must be scope/service:id:key',
    'INTERNAL_PUBLIC_KEYS: names a key twice',
    // An empty number would be 0, and an empty address every address of the machine.
    'DRAIN_SETTLE_MS: is empty',
    'LISTEN_HOST: is empty',
  ])
    expect(message).toContain(`\n  ${line}`);
  expect(message).not.toContain('short');
});
