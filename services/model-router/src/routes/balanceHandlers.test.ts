import { expect, it } from '@jest/globals';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createFaultWording } from '@turnpike/internal-api/transport/serveApi';
import type { Response } from 'express';
import { createReloadBalances } from './balanceHandlers.ts';

// The ledger goes by this answer when it says that a credit which takes holds from the next call on.
it.each<[number, string, { fails: boolean }]>([
  [200, 'once Redis has the credits of now', { fails: false }],
  [503, 'where the ledger or Redis does not answer, or this router has no session', { fails: true }],
])('answers %i %s', async (status, _when, { fails }) => {
  const asked: string[] = [];
  const absorber = {
    async reload(workspaceId: string) {
      asked.push(workspaceId);
      if (fails) throw new Error('usage-ledger answered 409 to a question for balances');
      return true;
    },
  };
  const reloadBalances = createReloadBalances({ absorber });
  const answered = await Promise.resolve(
    reloadBalances({ params: { workspace_id: 'ws_a' }, body: undefined }, {} as Response),
  ).then(
    () => 200,
    (error: unknown) => createFaultWording(modelRouterApi)(error)?.status,
  );
  expect(answered).toBe(status);
  expect(asked).toEqual(['ws_a']);
});
