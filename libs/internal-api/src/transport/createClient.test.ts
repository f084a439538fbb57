import { expect, it } from '@jest/globals';
import { Agent } from 'undici';
import { usageLedgerApi } from '../usageLedger.ts';
import { createClient, InternalCallError } from './createClient.ts';

it('ends a call at its deadline where no connection comes about, as where packets are lost', async () => {
  const dispatcher = new Agent({ connect: () => undefined });
  const ledger = createClient(usageLedgerApi, {
    url: 'http://ledger.invalid',
    internalHeaders: () => ({}),
    timeoutMs: 50,
    dispatcher,
  });
  const error = await ledger.removeRouter({ params: { router_id: 'a' } }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InternalCallError);
  expect(error).toMatchObject({ failure: { kind: 'late', timeoutMs: 50 } });
  await dispatcher.destroy();
});
