import { expect, it } from '@jest/globals';
import { loadConfig } from '@turnpike/config/loadConfig';
import { toLongestCallMs, toLongestSilenceMs } from '@turnpike/config/longestAnswers';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { configSchema } from './config.ts';
import { UPSTREAMS } from './paths/upstream.ts';

const fleet = aFleet();
const REQUIRED = {
  REGION: 'us',
  PORT: '1',
  INTERNAL_PORT: '2',
  INTERNAL_SIGNING_KEY: fleet.signingKeys.edge,
  INTERNAL_PUBLIC_KEYS: fleet.publicKeysText,
  CONSOLE_PORT: '3',
  CONSOLE_ALLOWED_ORIGIN: 'https://console.example',
  AUTH_URL: 'http://auth',
  AUTH_INTERNAL_URL: 'http://auth',
  CATALOG_INTERNAL_URL: 'http://catalog',
  LEDGER_INTERNAL_URL: 'http://ledger',
  MEDIA_INTERNAL_URL: 'http://media',
  CATALOG_URL: 'http://catalog',
  ROUTER_URL: 'http://router',
  LEDGER_URL: 'http://ledger',
  MEDIA_URL: 'http://media',
  REDIS_URL: 'redis://redis',
  TRUSTED_HOPS: '0',
};

it('waits for the router for as long as the variables let it that the router itself reads', () => {
  const raised = { WHOLE_TIMEOUT_MS: 1_200_000, STREAM_TIMEOUT_MS: 900_000, IMAGES_TIMEOUT_MS: 60_000 };
  const config = loadConfig('edge', configSchema, { ...REQUIRED, LIMITS: JSON.stringify(raised) });
  expect(toLongestSilenceMs(config)).toBeGreaterThan(1_260_000);
  expect(toLongestCallMs(config)).toBeGreaterThan(1_260_000);
});

it('waits for a service that asks auth longer by as much as that one waits for auth', () => {
  const config = loadConfig('edge', configSchema, { ...REQUIRED, AUTH_TIMEOUT_MS: '5000' });
  for (const upstream of ['auth', 'catalog', 'usage-ledger'] as const) {
    const { silenceMs } = UPSTREAMS[upstream];
    expect(silenceMs(config) - silenceMs({ ...config, AUTH_TIMEOUT_MS: 500 })).toBe(4_500);
  }
});

it('refuses an address of a service that it cannot speak to', () => {
  const { error } = configSchema.safeParse({ ...REQUIRED, ROUTER_URL: 'https://router' });
  expect(error?.issues).toMatchObject([{ path: ['ROUTER_URL'], message: 'must be an http:// address' }]);
});
