import type { RunningStack } from '@turnpike/local-stack/startStack';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import type { Observation } from '@turnpike/local-stack/toPartEnvironment';
import type { Operator } from '../../test/support/operator.ts';
import { operatorOf, storePid } from '../region.ts';
import { untilIdle } from './untilIdle.ts';

/** A whole stack with its defaults, but for what would stop a single client. */
export interface OpenStack {
  running: RunningStack;
  /** The processes behind the edge; the broker where there is one. Whoever starts one again writes its new id here. */
  behind: Record<'router' | 'auth' | 'ledger' | 'redis' | 'postgres', number> & { broker?: number };
  operator: Operator;
  /** Resolves when what calls left behind is done. */
  settled(): Promise<void>;
}

const PLENTY = 100_000_000;
/** The limits of a key that no limit stops. */
export const OPEN_LIMITS = { rpm: 1_000_000, tpm: 1_000_000_000 };

/** Starts a stack in front of the raw engine. */
export async function startOpenStack({
  stateDir,
  catalogFile,
  enginePort,
  kafka = false,
  observation = {},
}: {
  stateDir: string;
  catalogFile: string;
  enginePort: number;
  kafka?: boolean;
  observation?: Observation;
}): Promise<OpenStack> {
  const running = await startStackSomewhere({
    stateDir,
    kafka,
    engines: [`http://127.0.0.1:${enginePort}`],
    observation,
    serviceSettings: {
      edge: { LIMITS: { FLOOD_REQUESTS_PER_MINUTE: PLENTY, FLOOD_BURST: PLENTY } },
      catalog: {
        CATALOG_FILE: catalogFile,
        LIMITS: { MODEL_LIST_PER_IP_PER_MINUTE: PLENTY, MODEL_LIST_PER_MINUTE: PLENTY, LOOK_UPS_PER_SECOND: 100_000 },
      },
      'model-router': {
        LIMITS: { ENGINE_CALLS: 20_000, ENGINE_TOKENS: 1_000_000_000, REFUSED_BODIES_BYTES_PER_SECOND: PLENTY },
      },
    },
  });
  const { services } = running.stack.regions.us;
  const behind = {
    router: services['model-router'].pid,
    auth: services.auth.pid,
    ledger: services['usage-ledger'].pid,
    redis: storePid(running, 'redis'),
    postgres: storePid(running, 'postgres'),
    ...(kafka && { broker: storePid(running, 'kafka') }),
  };
  return {
    running,
    behind,
    operator: await operatorOf(running),
    settled: () => untilIdle([behind.router, behind.ledger, behind.postgres]),
  };
}
