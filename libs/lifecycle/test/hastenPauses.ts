import { jest } from '@jest/globals';
import { pause } from '../src/pause.ts';

/** Shortens the pauses of `repeat` by the factor, in modules imported from here on. Deadlines and breakers keep their times. */
export function hastenPauses(factor: number): void {
  jest.unstable_mockModule('../src/pause.ts', () => ({
    pause: (pauseMs: number, signal: AbortSignal) => pause(pauseMs / factor, signal),
  }));
}
