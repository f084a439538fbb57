import { MUTATIONS } from './mutations.ts';
import { openSimulators, type Simulators } from './openSimulators.ts';
import type { SeedResult } from './runSeed.ts';

/** Most seeds that a mutation has to be noticed in. */
const MUTANT_SEEDS = 600;

/** How a mutation was noticed. */
export interface Finding {
  /** The first run that one of its checks ended; undefined where none did. */
  result: SeedResult | undefined;
  /** Checks that ended the runs before, and are not known to notice it. */
  others: Set<string>;
  seeds: number;
}

/** Lives through seeds with a mutation until one of the checks that it names notices it. `simulators` run what changes no source. */
export async function findMutant(mutation: string, simulators: Simulators): Promise<Finding> {
  const { noticedBy = [], source, seed = 1 } = MUTATIONS[mutation] ?? {};
  const own = source ? openSimulators(1, mutation) : undefined;
  const finding: Finding = { result: undefined, others: new Set(), seeds: 0 };
  try {
    await (own ?? simulators).simulate({
      first: seed,
      count: MUTANT_SEEDS,
      mutation,
      onResult(result) {
        finding.seeds += 1;
        const { check } = result;
        if (check !== undefined && noticedBy.includes(check)) finding.result = result;
        else if (check !== undefined) finding.others.add(check);
        return finding.result === undefined;
      },
    });
  } finally {
    own?.close();
  }
  return finding;
}
