import { BackendFault, type BackendFaultKind, type Dialect, type Replica } from '../terms/backend.ts';
import type { Backends } from './createBackends.ts';

/** Result that a replica has given, or begun to give. */
export interface Given<Answer> {
  answer: Answer;
  /** The replica has nothing more to do for it. */
  done(): void;
}

/** The replicas, for calls that are answered as they run. */
export interface ReplicaTurns {
  /**
   * Asks the replica of a model that this process uses least; one other where that takes nothing now. A key that has its part of the model's
   * calls waits before that. Rejects with the `BackendFault` of the last one that was asked, with `busy` where none takes anything or the key's
   * turn does not come, or with the signal's reason where that fires while the call waits.
   */
  ask<Answer>(
    call: { model: string; keyId: string; signal: AbortSignal },
    question: (replica: Replica, dialect: Dialect) => Promise<Answer>,
  ): Promise<Given<Answer>>;
  /** How much each replica that was asked yet does for this process, by its id. */
  running(): Iterable<readonly [id: string, calls: number]>;
}

export interface TurnMetrics {
  /** A replica has answered, or begun to: `made`. Or it has failed at that: the kind of the fault. */
  attemptEnded(replica: Pick<Replica, 'id'>, result: string): void;
}

/** A key may have so many times the slots of a model that no call of this process has, or one: alone three quarters, and a newcomer always finds some. */
const SHARE_OF_FREE = 3;
/** Calls of one key that wait, and for how long. */
const WAITING = { perKey: 100, maxMs: 60_000, retryAfterMs: 2_000 };

interface Line {
  calls: Map<string, number>;
  waiting: { keyId: string; begin: () => void }[];
}

/** Faults after which one other replica is asked, because nothing was begun, or most likely nothing. */
const MOST_ASKED = 2;
const ASKED_ELSEWHERE: ReadonlySet<BackendFaultKind> = new Set(['busy', 'unreachable', 'cut_off']);

export function createReplicaTurns(
  backends: Pick<Backends, 'replicasFor' | 'dialectOf'>,
  metrics: TurnMetrics,
): ReplicaTurns {
  /** Calls of this process on each replica, and the time of its last one. */
  const uses = new Map<string, { running: number; askedAt: number }>();
  let asks = 0;
  /** The running calls of each key and the waiting calls in order of arrival, by model. */
  const lines = new Map<string, Line>();

  const lineOf = (model: string): Line => {
    const line = lines.get(model) ?? { calls: new Map(), waiting: [] };
    lines.set(model, line);
    return line;
  };

  function mayBegin(model: string, keyId: string): boolean {
    const { calls } = lineOf(model);
    const own = calls.get(keyId) ?? 0;
    const room = backends.replicasFor(model).reduce((sum, { slots }) => sum + slots, 0);
    const running = [...calls.values()].reduce((sum, count) => sum + count, 0);
    return own === 0 || own + 1 <= SHARE_OF_FREE * (room - running - 1);
  }

  function addCall(model: string, keyId: string, change: 1 | -1): void {
    const { calls, waiting } = lineOf(model);
    const count = (calls.get(keyId) ?? 0) + change;
    if (count > 0) calls.set(keyId, count);
    else calls.delete(keyId);
    if (calls.size === 0 && waiting.length === 0) lines.delete(model);
  }

  /** The keys with the least under way first. */
  function serveWaiting(model: string): void {
    const { calls, waiting } = lineOf(model);
    const countOf = ({ keyId }: { keyId: string }): number => calls.get(keyId) ?? 0;
    for (;;) {
      const [next] = waiting.filter(({ keyId }) => mayBegin(model, keyId)).sort((a, b) => countOf(a) - countOf(b));
      if (!next) return;
      waiting.splice(waiting.indexOf(next), 1);
      next.begin();
    }
  }

  /** Resolves once the key may have one call more of the model, which the function ends. */
  async function takeTurn(model: string, keyId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { waiting } = lineOf(model);
    const begin = (): void => addCall(model, keyId, 1);
    if (mayBegin(model, keyId)) begin();
    else if (waiting.filter((call) => call.keyId === keyId).length >= WAITING.perKey) throw tooMany();
    else {
      const over = AbortSignal.any([signal, AbortSignal.timeout(WAITING.maxMs)]);
      await new Promise<void>((resolve, reject) => {
        const call = {
          keyId,
          begin() {
            over.removeEventListener('abort', leave);
            begin();
            resolve();
          },
        };
        const leave = (): void => {
          waiting.splice(waiting.indexOf(call), 1);
          reject(signal.aborted ? signal.reason : tooMany());
        };
        waiting.push(call);
        over.addEventListener('abort', leave, { once: true });
      });
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      addCall(model, keyId, -1);
      serveWaiting(model);
    };
  }

  /** Picks the replica with the smallest share of its slots in use. Of equals, picks the one whose last turn is longest ago. */
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
    async ask({ model, keyId, signal }, question) {
      const endTurn = await takeTurn(model, keyId, signal);
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
          return {
            answer,
            done() {
              done();
              endTurn();
            },
          };
        } catch (error) {
          done();
          if (error instanceof BackendFault) metrics.attemptEnded(replica, error.kind);
          if (!(error instanceof BackendFault) || !ASKED_ELSEWHERE.has(error.kind)) {
            endTurn();
            throw error;
          }
          fault = error;
        }
      }
      endTurn();
      throw fault;
    },
  };
}

const tooMany = (): BackendFault => new BackendFault('busy', { retryAfterMs: WAITING.retryAfterMs });
