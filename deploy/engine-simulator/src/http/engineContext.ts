import type { RequestLog } from '../admin/requestLog.ts';
import type { Clock } from '../engine/clock.ts';
import type { Engine } from '../engine/engine.ts';
import type { FaultRules } from '../faults/faultRules.ts';

/** What the process of an engine does with its public: `draining` refuses what is new, `dead` answers nobody well. */
export type ServingState = 'serving' | 'draining' | 'dead';

/** What the routes of one engine work with; the log and the rules belong to the whole process. */
export interface EngineContext {
  engine: Engine;
  clock: Clock;
  log: RequestLog;
  faultRules: FaultRules;
  servingState: () => ServingState;
  /** Kills the engine, as when it runs out of memory. */
  die: () => void;
}
