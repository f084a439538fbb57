import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { openGuard } from '@turnpike/http-service/guard';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import { createToWireError } from '../api/chatError.ts';
import { reloadBalances } from './reloadBalances.ts';

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
  const path = '/internal/workspaces/:workspace_id/balances/reload';
  const app = createHttpApp({
    log: aSilentLogger(),
    telemetry: noTelemetry,
    toWireError: createToWireError({ keysPageUrl: 'https://dashboard.example/keys' }),
    routes: [{ method: 'post', path, guard: openGuard, handler: reloadBalances({ balances, epoch: { isOpen } }) }],
  });
  const server = createServer(app);
  const url = await listenAnywhere(server);
  const answer = await fetch(`${url}/internal/workspaces/ws_a/balances/reload`, { method: 'POST' });
  await answer.text();
  server.closeAllConnections();
  server.close();
  expect(answer.status).toBe(status);
  expect(asked).toEqual(reloaded);
});
