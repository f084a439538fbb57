import type { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import type { ConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Response } from 'express';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import { getKeyDetails, listKeyDetails } from '../keys/keyDetails.ts';
import { PAGE_SIZE } from '../wire/page.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';
import { createKeyHandlers, toPage } from './keyHandlers.ts';

type OfKey = { params: { key_id: string } };

/** Makes the handlers of the console's keys. Each reads and changes keys of the caller's workspace alone. */
export function createConsoleHandlers(dependencies: HandlerDependencies): ConsoleHandlers<typeof keysConsoleApi> {
  const { db } = dependencies;
  const keys = createKeyHandlers(dependencies);
  /** Applies a change of the operator's. Throws `unknown_key` for a key of another workspace. */
  const changeOwn =
    <Answer>(change: (asked: OfKey & { body: undefined }, res: Response) => Answer) =>
    async ({ params, caller }: OfKey & { caller: ConsoleCaller }, res: Response): Promise<Awaited<Answer>> => {
      const { workspaceId } = await getKeyDetails(db, params.key_id);
      if (workspaceId !== caller.workspaceId) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
      return await change({ params, body: undefined }, res);
    };
  return {
    listKeys: async ({ params: { after }, caller: { workspaceId } }) =>
      toPage(await listKeyDetails(db, { workspaceId }, { after, limit: PAGE_SIZE })),
    createKey: async ({ body, caller: { workspaceId } }, res) =>
      keys.createKey({ params: undefined, body: { ...body, workspace_id: workspaceId } }, res),
    // No block and no unblock: a member could undo the operator's block, since a key does not say who blocked it.
    revokeKey: changeOwn(keys.revokeKey),
  };
}
