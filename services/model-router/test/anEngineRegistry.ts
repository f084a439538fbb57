import type { Engine } from '../src/engines/engine.ts';
import type { EngineRegistry } from '../src/engines/engineRegistry.ts';
import { RetryBudget } from '../src/health/engineHealth.ts';

/** A registry of these engines that lets everything happen and looks after none of them. */
export const anEngineRegistry = (
  findEngines: () => Engine[] = () => [],
  fields: Partial<EngineRegistry> = {},
): EngineRegistry => ({
  findEngines,
  isConfigured: () => false,
  fitWindow: (model) => model,
  list: () => [],
  report: () => {},
  listTargetFaults: () => [],
  fileFault: () => undefined,
  retries: new RetryBudget(() => performance.now()),
  close: async () => {},
  ...fields,
});
