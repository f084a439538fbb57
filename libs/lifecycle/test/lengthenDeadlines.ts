import { jest } from '@jest/globals';
import { startDeadline } from '../src/startDeadline.ts';

/** Multiplies the deadlines of `startDeadline` by the factor, in modules imported from here on. Pauses and timers keep their times. */
export function lengthenDeadlines(factor: number): void {
  jest.unstable_mockModule('../src/startDeadline.ts', () => ({
    startDeadline: (afterMs: number, onPassed: () => void) => startDeadline(factor * afterMs, onPassed),
  }));
}
