import type { Plot } from './plot.ts';
import type { GrowthStack } from './startGrowthStack.ts';

/** Something of which there is more and more, and what that costs. */
export interface Curve {
  name: string;
  measure(context: CurveContext): Promise<Plot[]>;
}

export interface CurveContext {
  rounds: number;
  isLong: boolean;
  progress: (text: string) => void;
  /** Starts the stack that the curves share, if a later curve needs it and no measurement runs meanwhile. */
  startMeanwhile(): Promise<void>;
  /**
   * A stack, over Kafka where that is said. With `isLong` no curve but this one has changed it; else those without Kafka share one, which
   * each leaves with one model and one engine.
   */
  startStack(options?: { kafka?: boolean }): Promise<GrowthStack>;
}
