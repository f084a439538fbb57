import { expect, it } from '@jest/globals';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createFaultWording } from '@turnpike/internal-api/serveApi';
import type { Response } from 'express';
import { createReloadBalances } from './balanceHandlers.ts';

// The ledger goes by this answer when it says that a credit which takes holds from the next call on.
it.each<[number, string[], string, { isOpen: boolean; fails: boolean }]>([
  [200, ['ws_a'], 'once Redis has the credits of now', { isOpen: true, fails: false }],
  [503, ['ws_a'], 'where the ledger or Redis does not answer', { isOpen: true, fails: true }],
  [503, [], 'while balances are built', { isOpen: false, fails: false }],
])('answers %i, having reloaded %j, %s', async (status, reloaded, _when, { isOpen, fails }) => {
  const asked: string[] = [];
  const balances = {
    async reload(workspaceId: string) {
      asked.push(workspaceId);
      if (fails) throw new Error('usage-ledger answered 409 to a question for balances');
      return true;
    },
  };
  const reloadBalances = createReloadBalances({ balances, epoch: { isOpen } });
  const answered = await Promise.resolve(
    reloadBalances({ params: { workspace_id: 'ws_a' }, body: undefined }, {} as Response),
  ).then(
    () => 200,
    (error: unknown) => createFaultWording(modelRouterApi)(error)?.status,
  );
  expect(answered).toBe(status);
  expect(asked).toEqual(reloaded);
});
