import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { aFleet, type Fleet } from '@turnpike/internal-auth/aFleet';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { listInternalRoutes } from '../src/app.ts';
import type { TestAccount } from './startAccount.ts';

export interface OperatorListener {
  url: string;
  /** The services of a region and its operator. */
  region: Fleet;
  /** Signs and verifies the feed. */
  global: Fleet;
  stop(): Promise<void>;
}

/** The internal listener of the control plane, as the region `us` and its operator reach it. */
export async function startOperatorListener({
  db,
  payments,
  reversalQueue,
  outbox,
  balanceWatch,
}: Pick<TestAccount, 'db' | 'payments' | 'reversalQueue' | 'outbox' | 'balanceWatch'>): Promise<OperatorListener> {
  const region = aFleet('us');
  const global = aFleet('global');
  const log = aSilentLogger();
  const internalGuard = createInternalGuard({ audience: 'global/control-plane', keys: region.publicKeys });
  const routes = listInternalRoutes({
    db,
    payments,
    reversalQueue,
    outbox,
    balanceWatch,
    log,
    signingKey: global.keyOf('control-plane'),
    internalGuard,
  });
  const server = createServer(createHttpApp({ ...routes, log, telemetry: noTelemetry }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region,
    global,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
