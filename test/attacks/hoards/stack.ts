import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { setKnobs } from '../../support/setKnobs.ts';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';

/** Streams of a model that its two engines run at once. */
const ROOM = 64;
/** Calls of one key that may wait. */
export const WAITING = 100;
const PNG = aPng();

/** The one stack of those who take all that there is for as long as they can. */
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
  stack = await startTestStack({
    kafka: false,
    serviceSettings: {
      'model-router': {
        ENGINE_CALLS: String(ROOM / 2),
        QUEUE_KEY_SHARE: String(WAITING / 1_000),
        // What waits goes on doing so while a test looks, and nothing comes free by itself.
        QUEUE_TIMEOUT_MS: '300000',
        IMAGES_TIMEOUT_MS: '300000',
        IMAGE_PRIVATE_HOSTS: new URL(host.url).host,
      },
    },
  });
  // As many as the router is told.
  await setKnobs(stack, { maxNumSeqs: ROOM / 2 });
}, 120_000);
afterAll(async () => {
  await stack?.stop();
  await host?.close();
}, 60_000);
