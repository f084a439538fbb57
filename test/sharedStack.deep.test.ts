// One file, as these share one stack. The last holds the books of them all together.
import { afterAll } from '@jest/globals';
import './shared-stack/vision.ts';
import './shared-stack/prefixCache.ts';
import './shared-stack/severalRouters.ts';
import './shared-stack/hostileClients.ts';
import './shared-stack/mediaJobs.ts';
import './shared-stack/reconcile.ts';
import { stopStack } from './shared-stack/stack.ts';

// The last to be closed, behind what the tests opened to look into it.
afterAll(stopStack);
