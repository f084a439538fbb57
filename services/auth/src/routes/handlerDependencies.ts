import type { Region } from '@turnpike/config/region';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Response } from 'express';
import type { Db } from '../database/openDatabases.ts';
import type { RouterClient } from '../router/routerClient.ts';

/** The dependencies of the internal listener's handlers. */
export interface HandlerDependencies {
  log: Logger;
  /** The pool for verdicts alone. */
  verdictDb: Db;
  /** The pool for everything else: no call and no look-up takes its connections. */
  db: Db;
  /** The stack's region, in which every workspace made here lives for good. */
  region: Region;
  /** The first stores new keys, all are looked up. */
  peppers: NamedSecret[];
  router: Pick<RouterClient, 'announceGenerations'>;
  /** Makes a handler of a change: once it is answered, no look-up answers here from before it. */
  changing<Asked, Answer>(
    change: (asked: Asked, res: Response) => Promise<Answer>,
  ): (asked: Asked, res: Response) => Promise<Answer>;
}
