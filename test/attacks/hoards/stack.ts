import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { setKnobs } from '../../support/setKnobs.ts';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';

/** Streams of a model that its two engines run at once. */
const ROOM = 64;
/** Calls of one key that may wait. */
export const WAITING = 100;
/** So few that hundreds are too many on any machine; twice as many at once are enough for other keys. */
const LOOK_UPS_PER_SECOND = 10;
/** Jobs of one key in a queue: more than 80 s of pictures. */
const QUEUED_JOBS = 110;
const MIB = 1_048_576;
/** Memory for the bodies of all calls: the least that may be set. */
const BODY_MEMORY_BYTES = 64 * MIB;
/** The allowance of refused bytes of a key, as in production. */
const REFUSED_BYTES_PER_SECOND = 4 * MIB;
const PNG = aPng();

/** The one stack of those who take all that there is: for as long as they can, or as often. */
export let stack: TestStack;
/** Whence images are fetched. */
export let host: HttpStandIn;
/** Requests that the host leaves open. */
export const open = new Set<ServerResponse>();

beforeAll(async () => {
  host = await serveHttp((req, res) => {
    if (req.url === '/cat.png') {
      res.end(PNG);
      return;
    }
    open.add(res);
    const drip = req.url?.startsWith('/drip') ? setInterval(() => res.write(PNG.subarray(0, 1)), 100) : undefined;
    res.on('close', () => {
      clearInterval(drip);
      open.delete(res);
    });
  });
  const lookUps = { LIMITS: { LOOK_UPS_PER_SECOND } };
  stack = await startTestStack({
    kafka: false,
    serviceSettings: {
      auth: lookUps,
      catalog: lookUps,
      'usage-ledger': lookUps,
      'media-jobs': { LIMITS: { LOOK_UPS_PER_SECOND: 50, QUEUED_JOBS_PER_KEY: QUEUED_JOBS } },
      'model-router': {
        LIMITS: {
          ENGINE_CALLS: ROOM / 2,
          QUEUE_KEY_SHARE: WAITING / 1_000,
          // Calls keep waiting while a test checks, and no timeout frees capacity.
          QUEUE_TIMEOUT_MS: 300_000,
          // On a busy machine turns come so seldom that a wait of 3 s is expected for calls that have theirs at once.
          QUEUE_EXPECTED_WAIT_MS: 300_000,
          IMAGES_TIMEOUT_MS: 300_000,
          BODIES_MAX_BYTES: BODY_MEMORY_BYTES,
          REFUSED_BODIES_BYTES_PER_SECOND: REFUSED_BYTES_PER_SECOND,
        },
        IMAGE_PRIVATE_HOSTS: new URL(host.url).host,
      },
    },
  });
  // The same number as the router's limit.
  await setKnobs(stack, { maxNumSeqs: ROOM / 2 });
});
afterAll(async () => {
  await stack?.stop();
  await host?.close();
});

/** The keys that ran into a bound of a service. */
export async function findBound(service: 'model-router' | 'media-jobs', bound: string): Promise<string[]> {
  const { internal_url: url } = stack.running.stack.regions.us.services[service];
  const names = [...(await scrapeMetrics(`${url}/metrics`)).keys()];
  const sample = new RegExp(`^turnpike_key_bounds_total\\{bound="${bound}",key="(key_\\w+)"\\}$`);
  return names.flatMap((name) => sample.exec(name)?.[1] ?? []);
}
