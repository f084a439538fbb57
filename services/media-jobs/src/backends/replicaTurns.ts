import { BackendFault, type BackendFaultKind, type Dialect, type Replica } from '../terms/backend.ts';
import type { Backends } from './createBackends.ts';

/** A result that a replica has given or begun to give. */
export interface Given<Answer> {
  answer: Answer;
  /** Notes that the replica has no more work with the result. */
  done(): void;
}

/** Turns at the replicas, for calls that are answered as they run. */
export interface ReplicaTurns {
  /**
   * Sends a question to the replica of a model that this process uses least, and to one other if that takes nothing
   * now. A key at its share of the model's calls waits before that. Rejects with the `BackendFault` of the last
   * replica. Rejects with `busy` if no replica takes anything or the key's turn does not come. Rejects with the
   * signal's reason if it fires while the call waits.
   */
  ask<Answer>(
    call: { model: string; keyId: string; signal: AbortSignal },
    question: (replica: Replica, dialect: Dialect) => Promise<Answer>,
  ): Promise<Given<Answer>>;
  /** Returns the running calls of this process on each replica that was used, by its id. */
  running(): Iterable<readonly [id: string, calls: number]>;
}

export interface TurnMetrics {
  /** Counts an attempt: `made` if the replica has answered or begun to, else the kind of its fault. */
  attemptEnded(replica: Pick<Replica, 'id'>, result: string): void;
}

/**
 * Bound on a key's calls of a model: three times the slots free of this process' calls, but at least one. A single key
 * gets three quarters of the slots, and a new key always finds some.
 */
const SHARE_OF_FREE = 3;
/** Most waiting calls of one key, and their longest wait. */
const WAITING = { perKey: 100, maxMs: 60_000, retryAfterMs: 2_000 };

interface Line {
  calls: Map<string, number>;
  waiting: { keyId: string; begin: () => void }[];
}

/** Faults after which one other replica is tried, because nothing was begun, or very probably nothing. */
const MOST_ASKED = 2;
const ASKED_ELSEWHERE: ReadonlySet<BackendFaultKind> = new Set(['busy', 'unreachable', 'cut_off']);

export function createReplicaTurns(
  backends: Pick<Backends, 'replicasFor' | 'dialectOf'>,
  metrics: TurnMetrics,
): ReplicaTurns {
  /** Calls of this process on each replica, and the number of its last turn. */
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

  /** Begins waiting calls that may run, those of the keys with the fewest running calls first. */
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

  /** Resolves once the key may have one more call of the model. The returned function ends the call. */
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
