import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Guard } from '@turnpike/http-service/guard';
import type { ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createFaultWording, serveApi } from '@turnpike/internal-api/transport/serveApi';
import { OPERATIONS } from './answer/operations/operations.ts';
import { createToWireError } from './api/inferenceError.ts';
import { listFleetWarnings } from './engines/listFleetWarnings.ts';
import type { Money } from './money/openMoney.ts';
import type { OpenFleet } from './placement/openFleet.ts';
import { COUNTED_MESSAGES } from './request/messagesRequest.ts';
import { createBalanceHandlers } from './routes/balanceHandlers.ts';
import { createInference, type InferenceDependencies } from './routes/createInference.ts';
import { createTokenCount } from './routes/createTokenCount.ts';
import { createEngineHandlers } from './routes/engineHandlers.ts';

export interface AppDependencies extends InferenceDependencies {
  money: Money;
  fleet: OpenFleet;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: PublicKey[];
  internalGuard: Guard;
  /** The page where people manage their API keys. */
  keysPageUrl: string | undefined;
}

/** Lists the public routes, for the edge, and the internal ones, for the fleet. */
export function listRoutes(dependencies: AppDependencies): ServiceRoutes {
  const { money, fleet, catalog, log, internalGuard } = dependencies;
  const keyGuard = createKeyGuard(dependencies);
  const toWireError = createToWireError(dependencies);
  const wordFault = createFaultWording(modelRouterApi);
  return {
    public: {
      toWireError,
      routes: [
        ...OPERATIONS.map((operation) => ({
          method: 'post' as const,
          path: operation.clientPath,
          guard: keyGuard,
          handler: createInference(operation, dependencies),
        })),
        {
          method: 'post',
          path: COUNTED_MESSAGES.clientPath,
          guard: keyGuard,
          handler: createTokenCount(dependencies),
        },
      ],
    },
    internal: {
      toWireError: (error) => wordFault(error) ?? toWireError(error),
      routes: serveApi(modelRouterApi, {
        guard: internalGuard,
        handlers: { ...createEngineHandlers({ ...fleet, catalog, log }), ...createBalanceHandlers(money) },
      }),
    },
    readinessChecks: {
      catalog: () => catalog.current !== undefined,
      'balances in Redis': () => money.isOpen() || money.describeClosedReason(),
      "the spool's disk": () => money.spool.diskFault ?? true,
    },
    listWarnings: () => listFleetWarnings({ engines: fleet.engines, catalog }),
  };
}
