import type { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import type { ConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import type { Response } from 'express';
import type { StatusChange } from '../keys/changeKeyStatus.ts';
import { listKeyDetails } from '../keys/keyDetails.ts';
import { PAGE_SIZE } from '../wire/page.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';
import { createKeyChanges } from './keyChanges.ts';
import { toPage } from './keyHandlers.ts';

/** Makes the handlers of the console's keys. Each reads and changes keys of the caller's workspace alone. */
export function createConsoleHandlers(dependencies: HandlerDependencies): ConsoleHandlers<typeof keysConsoleApi> {
  const changes = createKeyChanges(dependencies);
  const changeStatus =
    (change: StatusChange) =>
    ({ params: { key_id: keyId }, caller: by }: { params: { key_id: string }; caller: ConsoleCaller }, res: Response) =>
      changes.changeStatus({ keyId, by, change }, res);
  return {
    listKeys: async ({ params: { after }, caller: { workspaceId } }) =>
      toPage(await listKeyDetails(dependencies.db, { workspaceId }, { after, limit: PAGE_SIZE })),
    createKey: ({ body, caller: { workspaceId } }, res) =>
      changes.createKey({ body: { ...body, workspace_id: workspaceId } }, res),
    blockKey: changeStatus('block'),
    unblockKey: changeStatus('unblock'),
    revokeKey: changeStatus('revoke'),
  };
}
