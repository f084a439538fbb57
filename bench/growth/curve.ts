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
  /** A stack that no curve but this one has changed, started when it is first asked for; over Kafka where that is said. */
  startStack(options?: { kafka?: boolean }): Promise<GrowthStack>;
}
