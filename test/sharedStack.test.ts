// One file, as these share one stack. The first finds nothing that wants a look. sharedStack.deep.test.ts has the others.
import { afterAll } from '@jest/globals';
import './shared-stack/operator.ts';
import './shared-stack/accounts.ts';
import './shared-stack/console.ts';
import { stopStack } from './shared-stack/stack.ts';

// The last to be closed, behind what the tests opened to look into it.
afterAll(stopStack);
