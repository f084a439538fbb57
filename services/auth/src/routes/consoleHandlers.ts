import type { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import { listKeyDetails } from '../keys/keyDetails.ts';
import { PAGE_SIZE } from '../wire/page.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';
import { toPage } from './keyHandlers.ts';

/** Makes the handlers of the console's keys. Each reads and changes keys of the caller's workspace alone. */
export function createConsoleHandlers({ db }: HandlerDependencies): ConsoleHandlers<typeof keysConsoleApi> {
  return {
    listKeys: async ({ params: { after }, caller: { workspaceId } }) =>
      toPage(await listKeyDetails(db, { workspaceId }, { after, limit: PAGE_SIZE })),
  };
}
