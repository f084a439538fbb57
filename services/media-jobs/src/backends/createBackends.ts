import { type FileFault, followEntriesFile } from '@turnpike/lifecycle/followEntriesFile';
import type { Logger } from '@turnpike/logging/createLogger';
import { Agent } from 'undici';
import { BackendFault, type BackendFaultKind, type Dialect, type EngineName, type Replica } from '../terms/backend.ts';
import { type Answer, askBackend, type Question } from './exchange/askBackend.ts';
import { readText } from './exchange/readText.ts';
import { type ReplicaState, type ReplicaWatch, watchReplica } from './health/watchReplica.ts';
import {
  CONNECT_TIMEOUT_MS,
  HEAR_HUNG_AFTER_MS,
  HUNG_AFTER_MS,
  IDLE_CONNECTION_MS,
  MAX_CONNECTIONS,
  MAX_ERROR_BYTES,
  SUBMIT_HUNG_AFTER_MS,
} from './limits.ts';
import { replicaEntriesSchema } from './replicaEntries.ts';
import { readEngineError } from './verdict/readEngineError.ts';
import { toBackendFault } from './verdict/toBackendFault.ts';
import { kokoro, sglang, speaches, trtllm, vllmAsr, vllmOmni } from './wires/dialects.ts';
import type { Refusal, Wire } from './wires/wire.ts';

/** This process' current view of the region's media backends. */
export interface Backends {
  /** Returns the replicas of a model that take new work: listed, not draining, in, and not passed over. */
  replicasFor(model: string): Replica[];
  /** Returns whether the file lists a replica for a model, in any state. */
  isConfigured(model: string): boolean;
  /** Returns all replicas of the file. */
  list(): { replica: Replica; state: ReplicaState; hasMissedCheck: boolean; isHung: boolean }[];
  /**
   * Returns all replicas of the file with the slots that new jobs may use. A replica that is passed over because it hangs
   * looks as if it drained.
   */
  listForJobs(): { replica: Replica; isUp: boolean }[];
  /** Returns a replica by its id; undefined if the file does not list it. */
  find(id: string): Replica | undefined;
  /** Why the backends file cannot be used. Undefined while it is in use. */
  fileFault(): FileFault | undefined;
  /** Returns the protocol of a replica. Its failures count for the replica's health. */
  dialectOf(replica: Pick<Replica, 'engine'>): Dialect;
  /** Aborts all requests in progress. */
  close(): Promise<void>;
}

export interface BackendsOptions {
  /** JSON file of the backends, read again when it changes. */
  file: string;
  metrics: { alerted(kind: 'backend_misconfigured'): void };
  log: Logger;
  /** Clock of the watchdogs, `performance.now` by default. */
  nowMs?: () => number;
}

const WIRES: Record<EngineName, (wire: Wire) => Dialect> = {
  'vllm-omni': vllmOmni,
  sglang,
  trtllm,
  'vllm-asr': vllmAsr,
  speaches,
  kokoro,
};

/** Returns the identity of an entry over changes of its other fields. Another address is another replica. */
const keyOf = ({ id, url, engine, model }: Replica): string => [id, url, engine, model].join(' ');

/** Faults of requests. A replica that finds them works. */
const REFUSALS: ReadonlySet<BackendFaultKind> = new Set(['refused_request', 'content_refused']);

/** Follows the backends file and watches each replica in it. Throws a one-line error if the file cannot be used. */
export function createBackends({ file, metrics, log, nowMs = () => performance.now() }: BackendsOptions): Backends {
  const agent = new Agent({
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  const watches = new Map<string, ReplicaWatch>();
  const backendsFile = followEntriesFile(file, {
    setting: 'MEDIA_BACKENDS_FILE',
    schema: replicaEntriesSchema,
    onChange: reconcile,
    log,
  });

  const watchOf = (replica: Replica): ReplicaWatch | undefined => watches.get(keyOf(replica));
  const stateOf = (replica: Replica): ReplicaState => watchOf(replica)?.state ?? 'starting';

  /** Starts watching new replicas of the file, and stops watching removed ones. */
  function reconcile(): void {
    const wanted = new Set(backendsFile.entries().map(keyOf));
    for (const [key, watch] of watches) {
      if (wanted.has(key)) continue;
      watches.delete(key);
      void watch.close();
    }
    for (const replica of backendsFile.entries()) {
      if (watchOf(replica)) continue;
      const watch = watchReplica(replica, {
        ask: (question) => ask(replica, question),
        onMisconfigured: () => metrics.alerted('backend_misconfigured'),
        nowMs,
        log,
      });
      watches.set(keyOf(replica), watch);
    }
  }

  /**
   * Sends a request to a replica. A replica that takes no connection, or no work, is out at once, so that no other
   * request has to find out.
   */
  async function ask(replica: Replica, question: Question): Promise<Answer> {
    try {
      return await askBackend(agent, replica, question);
    } catch (error) {
      if (error instanceof BackendFault && isGone(error, question)) watchOf(replica)?.leaveOut('unreachable');
      throw error;
    }
  }

  async function refusalOf(replica: Replica, { answer, begins, text }: Refusal): Promise<BackendFault> {
    const { status, retryAfterMs } = answer;
    // Without its text the status alone decides.
    const sentence = text ?? (await readText(answer, MAX_ERROR_BYTES).catch(() => ''));
    const fault = toBackendFault(status, readEngineError(sentence), { begins, retryAfterMs });
    if (fault.kind === 'misconfigured') watchOf(replica)?.leaveOut('misconfigured');
    return fault;
  }

  /** Runs work of a replica under its watchdog. */
  const watched =
    <Rest extends unknown[], Output>(
      work: (replica: Replica, ...rest: Rest) => Promise<Output>,
      hungAfterMs: number,
    ): typeof work =>
    async (replica, ...rest) => {
      const watchdog = watchOf(replica)?.work;
      watchdog?.begin(hungAfterMs);
      let hasAnswer = false;
      try {
        const output = await work(replica, ...rest);
        hasAnswer = true;
        return output;
      } catch (error) {
        hasAnswer = error instanceof BackendFault && REFUSALS.has(error.kind);
        throw error;
      } finally {
        watchdog?.end({ hasAnswer });
        if (watchdog?.isHung)
          log.warn({ backend: replica.id }, 'media backend gives nothing for its work: it hangs or is slow');
      }
    };

  const watchDialect = (dialect: Dialect): Dialect => ({
    ...dialect,
    ...(dialect.image && { image: watched(dialect.image, HUNG_AFTER_MS) }),
    ...(dialect.speech && { speech: watched(dialect.speech, HUNG_AFTER_MS) }),
    ...(dialect.transcribe && { transcribe: watched(dialect.transcribe, HEAR_HUNG_AFTER_MS) }),
    ...(dialect.createVideo && { createVideo: watched(dialect.createVideo, SUBMIT_HUNG_AFTER_MS) }),
  });

  const isHung = (replica: Replica): boolean => watchOf(replica)?.work.isHung ?? false;
  const isIn = (replica: Replica): boolean => !replica.draining && stateOf(replica) === 'ready';

  /**
   * Returns the slots of a replica for new work. A replica that hangs has none for a pause, and then one, while another
   * replica of its model works. The last one keeps its slots.
   */
  function slotsOf(replica: Replica): number {
    if (!isIn(replica)) return 0;
    const hasOther = () =>
      backendsFile.entries().some((other) => other.model === replica.model && isIn(other) && !isHung(other));
    if (!isHung(replica) || !hasOther()) return replica.slots;
    return watchOf(replica)?.work.isDue ? 1 : 0;
  }

  const wire: Wire = { ask, refusalOf, servedNameOf: (replica) => watchOf(replica)?.servedName ?? replica.model };
  const dialects = new Map(Object.entries(WIRES).map(([engine, open]) => [engine, watchDialect(open(wire))]));
  reconcile();

  return {
    replicasFor: (model) => backendsFile.entries().filter((replica) => replica.model === model && slotsOf(replica) > 0),
    isConfigured: (model) => backendsFile.entries().some((replica) => replica.model === model),
    list: () =>
      backendsFile.entries().map((replica) => ({
        replica,
        state: stateOf(replica),
        hasMissedCheck: watchOf(replica)?.hasMissedCheck ?? false,
        isHung: isHung(replica),
      })),
    listForJobs: () =>
      backendsFile.entries().map((replica) => {
        const slots = slotsOf(replica);
        return { replica: { ...replica, slots, draining: slots === 0 }, isUp: stateOf(replica) === 'ready' };
      }),
    find: (id) => backendsFile.entries().find((replica) => replica.id === id),
    fileFault: backendsFile.fault,
    dialectOf: ({ engine }) => dialects.get(engine) ?? {},
    async close() {
      await backendsFile.close();
      const watching = Array.from(watches.values(), (watch) => watch.close());
      await agent.destroy();
      await Promise.all(watching);
    },
  };
}

function isGone({ kind, cause }: BackendFault, { begins }: Question): boolean {
  if (kind === 'cut_off') return true;
  return kind === 'unreachable' && (begins === 'work' || isRefusal(cause));
}

const isRefusal = (cause: unknown): boolean => (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';
