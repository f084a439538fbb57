import type { Ending, EngineUsage } from '../money/call/toEvent.ts';

const WITHOUT_COUNT = { completed: 'engine_gave_no_count', client_left: 'client_left_before_first_count' };

/**
 * How a call ends whose engine did its part: charged by what the engine counted, and unknown where it did not, which is never
 * guessed (decisions, What is billed).
 */
export function toEnding(reason: 'completed' | 'client_left', usage: EngineUsage | undefined): Ending {
  return usage ? { status: 'success', reason, usage } : { status: 'unknown', reason: WITHOUT_COUNT[reason] };
}
