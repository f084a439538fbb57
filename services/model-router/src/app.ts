import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { Guard } from '@turnpike/http-service/guard';
import type { ServiceRoutes } from '@turnpike/http-service/serviceApps';
import type { RequestHandler } from 'express';
import { OPERATIONS } from './answer/operations/operations.ts';
import { createToWireError } from './api/chatError.ts';
import type { Fleet } from './fleet/openFleet.ts';
import type { Money } from './money/openMoney.ts';
import { createInference, type InferenceDependencies } from './routes/createInference.ts';
import { drainEngine } from './routes/drainEngine.ts';
import { getEngines } from './routes/getEngines.ts';
import { getKeySpend } from './routes/getKeySpend.ts';
import { getLiveModels } from './routes/getLiveModels.ts';
import { getWorkspaceBooks } from './routes/getWorkspaceBooks.ts';
import { reloadBalances } from './routes/reloadBalances.ts';
import { setKeyGeneration } from './routes/setKeyGeneration.ts';

export interface AppDependencies extends InferenceDependencies {
  money: Money;
  fleet: Fleet;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: NamedSecret[];
  internalGuard: Guard;
  /** The page where people manage their API keys. */
  keysPageUrl: string;
}

/** What the edge proxies to, and what the fleet alone reaches. */
export function listRoutes(dependencies: AppDependencies): ServiceRoutes {
  const { money, fleet, catalog, log, internalGuard } = dependencies;
  const keyGuard = createKeyGuard(dependencies);
  const toWireError = createToWireError(dependencies);
  const internal = (method: 'get' | 'post' | 'put', path: string, handler: RequestHandler) => ({
    method,
    path: `/internal/${path}`,
    guard: internalGuard,
    handler,
  });
  return {
    public: {
      toWireError,
      routes: OPERATIONS.map((operation) => ({
        method: 'post',
        path: operation.path,
        guard: keyGuard,
        handler: createInference(operation, dependencies),
      })),
    },
    internal: {
      toWireError,
      routes: [
        internal('get', 'engines', getEngines({ ...fleet, catalog })),
        internal('post', 'engines/:engine_id/drain', drainEngine({ ...fleet, log, isDraining: true })),
        internal('post', 'engines/:engine_id/undrain', drainEngine({ ...fleet, log, isDraining: false })),
        internal('get', 'models/live', getLiveModels({ ...fleet, catalog })),
        internal('get', 'workspaces/:workspace_id/books', getWorkspaceBooks(money)),
        internal('post', 'workspaces/:workspace_id/balances/reload', reloadBalances(money)),
        internal('get', 'workspaces/:workspace_id/keys/:key_id/spend', getKeySpend(money)),
        internal('put', 'workspaces/:workspace_id/keys/:key_id/generation', setKeyGeneration(money)),
      ],
    },
    isReady: () => catalog.current() !== undefined && money.epoch.isOpen,
  };
}
