import { BackendFault, type BackendFaultKind, type Dialect, type Replica } from '../terms/backend.ts';
import type { Backends } from './createBackends.ts';

/** What a replica has given, or begun to give. */
export interface Given<Answer> {
  answer: Answer;
  /** The replica has nothing more to do for it. */
  done(): void;
}

/** The replicas, for calls that are answered as they run. */
export interface ReplicaTurns {
  /**
   * Asks the replica of a model that this process uses least; one other where that takes nothing now. Rejects with the `BackendFault` of
   * the last one that was asked, or with `busy` where none takes anything.
   */
  ask<Answer>(model: string, question: (replica: Replica, dialect: Dialect) => Promise<Answer>): Promise<Given<Answer>>;
  /** How much each replica that was asked yet does for this process, by its id. */
  running(): Iterable<readonly [id: string, calls: number]>;
}

export interface TurnMetrics {
  /** A replica has answered, or begun to: `made`. Or it has failed at that: the kind of the fault. */
  attemptEnded(replica: Pick<Replica, 'id'>, result: string): void;
}

/** What was not begun, or most likely not, is asked of one other: whoever has two in trouble has more. */
const MOST_ASKED = 2;
const ASKED_ELSEWHERE: ReadonlySet<BackendFaultKind> = new Set(['busy', 'unreachable', 'cut_off']);

export function createReplicaTurns(
  backends: Pick<Backends, 'replicasFor' | 'dialectOf'>,
  metrics: TurnMetrics,
): ReplicaTurns {
  /** By replica: what it is doing for this process, and when it was asked last. */
  const uses = new Map<string, { running: number; askedAt: number }>();
  let asks = 0;

  /** By its slots; of two that are used alike, the one whose last turn is longest ago. */
  function findLeastUsed(replicas: readonly Replica[]): Replica | undefined {
    const used = ({ id, slots }: Replica): number => (uses.get(id)?.running ?? 0) / slots;
    const askedAt = ({ id }: Replica): number => uses.get(id)?.askedAt ?? 0;
    return [...replicas].sort((a, b) => used(a) - used(b) || askedAt(a) - askedAt(b))[0];
  }

  function take({ id }: Replica): () => void {
    const use = uses.get(id) ?? { running: 0, askedAt: 0 };
    uses.set(id, use);
    asks += 1;
    use.running += 1;
    use.askedAt = asks;
    let isDone = false;
    return () => {
      if (!isDone) use.running -= 1;
      isDone = true;
    };
  }

  return {
    running: () => Array.from(uses, ([id, { running }]) => [id, running] as const),
    async ask(model, question) {
      const asked = new Set<string>();
      let fault = new BackendFault('busy');
      while (asked.size < MOST_ASKED) {
        const replica = findLeastUsed(backends.replicasFor(model).filter(({ id }) => !asked.has(id)));
        if (!replica) break;
        asked.add(replica.id);
        const done = take(replica);
        try {
          const answer = await question(replica, backends.dialectOf(replica));
          metrics.attemptEnded(replica, 'made');
          return { answer, done };
        } catch (error) {
          done();
          if (error instanceof BackendFault) metrics.attemptEnded(replica, error.kind);
          if (!(error instanceof BackendFault) || !ASKED_ELSEWHERE.has(error.kind)) throw error;
          fault = error;
        }
      }
      throw fault;
    },
  };
}
