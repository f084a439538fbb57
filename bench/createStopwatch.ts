import type { Figure } from './figure.ts';
import { NoFigure } from './figure.ts';

export interface Stopwatch {
  /** Runs a step, and keeps the seconds that it took. */
  timed<T>(step: string, run: () => Promise<T>): Promise<T>;
  /** The same for a part with figures. One that fails is a figure that is missing, and the others go on. */
  measure(part: string, run: () => Promise<Figure[]>): Promise<Figure[]>;
}

/** Writes down in `seconds` how long each step takes, under its name behind that of its bench. */
export function createStopwatch(bench: string, seconds: Record<string, number>): Stopwatch {
  async function timed<T>(step: string, run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await run();
    } finally {
      seconds[`${bench}/${step}`] = Number(((performance.now() - startedAt) / 1_000).toFixed(1));
    }
  }
  return {
    timed,
    async measure(part, run) {
      try {
        return await timed(part, run);
      } catch (error) {
        const { message, stack } = error as Error;
        if (!(error instanceof NoFigure)) process.stdout.write(`  ${bench}/${part} FAILED: ${stack}\n\n`);
        return [{ name: part, rounds: [], refusal: message.split('\n')[0] ?? '' }];
      }
    },
  };
}
