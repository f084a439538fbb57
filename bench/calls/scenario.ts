import type { Figure } from '../figure.ts';
import type { Targets } from './targets.ts';

/** A request, and how its response is read. */
export interface Scenario {
  name: string;
  /** Whether other gateways are measured in it. */
  hasPeers?: boolean;
  run(targets: Targets, options: ScenarioOptions): Promise<Figure[]>;
}

export interface ScenarioOptions {
  /** Equal seeds draw the same. */
  seed: number;
  rounds: number;
  /** Whether what nobody wants to know each time is measured too. */
  isLong: boolean;
  progress: (text: string) => void;
}
