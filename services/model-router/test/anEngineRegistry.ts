import type { Engine } from '../src/fleet/engine.ts';
import type { EngineRegistry } from '../src/fleet/engineRegistry.ts';
import { RetryBudget } from '../src/fleet/health/retryBudget.ts';

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
  retries: new RetryBudget(() => performance.now()),
  close: async () => {},
  ...fields,
});
