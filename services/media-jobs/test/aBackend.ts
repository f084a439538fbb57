import { Readable } from 'node:stream';
import type { JobDependencies } from '../src/jobs/dependencies.ts';
import { BackendFault, type BackendJob, type Dialect, type Replica } from '../src/terms/backend.ts';
import type { Transcript } from '../src/terms/transcript.ts';

/** The record of a replica, and its orders. */
export interface TestReplica {
  replica: Replica;
  /** Every image or clip that it began, by its prompt. */
  begun: string[];
  /** Ids that it was told to delete. */
  deleted: string[];
  clips: Map<string, BackendJob & { prompt: string }>;
  /** In place of an image. */
  onImage: (prompt: string, signal: AbortSignal) => Promise<Readable>;
  /** Before a clip is begun, and after it was; may throw a fault. */
  beforeClip: () => void | Promise<void>;
  afterClip: () => void | Promise<void>;
  onContent: () => Promise<Readable>;
  onTranscript: () => Promise<Transcript>;
  isUp: boolean;
  /** Completes every clip as far as it can. */
  completeAll(): void;
}

export const aReplica = (fields: Partial<Replica> = {}): Replica => ({
  id: 'replica-1',
  url: 'http://127.0.0.1:1',
  engine: 'vllm-omni',
  model: 'a-model',
  slots: 1,
  draining: false,
  ...fields,
});

/** Replicas in the test's own process, which do what the test says. */
export function someBackends(...replicas: Replica[]): JobDependencies['backends'] & { of(id: string): TestReplica } {
  const all = new Map<string, TestReplica>(replicas.map((replica) => [replica.id, aTestReplica(replica)]));
  const of = (id: string): TestReplica => {
    const found = all.get(id);
    if (!found) throw new Error(`no replica ${id}`);
    return found;
  };
  const toDialect = ({ id }: Replica): Dialect => {
    const state = of(id);
    return {
      async image(_replica, { prompt }, signal) {
        state.begun.push(prompt);
        return state.onImage(prompt, signal);
      },
      async createVideo(_replica, { prompt }) {
        await state.beforeClip();
        state.begun.push(prompt);
        const clip = {
          id: `clip-${state.begun.length}`,
          status: 'in_progress' as const,
          progress: 0,
          prompt,
        };
        state.clips.set(clip.id, clip);
        await state.afterClip();
        return clip;
      },
      getVideo: async (_replica, clip) => state.clips.get(clip) ?? 'missing',
      async *listVideos() {
        yield* state.clips.values();
      },
      videoContent: () => state.onContent(),
      transcribe: () => state.onTranscript(),
      async deleteVideo(_replica, clip) {
        state.deleted.push(clip);
        state.clips.delete(clip);
      },
    };
  };
  return {
    of,
    list: () => Array.from(all.values(), ({ replica, isUp }) => ({ replica, isUp })),
    dialectOf: toDialect,
  };
}

function aTestReplica(replica: Replica): TestReplica {
  const state: TestReplica = {
    replica,
    begun: [],
    deleted: [],
    clips: new Map(),
    onImage: async () => Readable.from([Buffer.from('an image')]),
    beforeClip: () => {},
    afterClip: () => {},
    onContent: async () => Readable.from([Buffer.from('a clip')]),
    onTranscript: async () => ({ text: 'said', language: 'en', segments: null, words: null }),
    isUp: true,
    completeAll() {
      for (const clip of state.clips.values()) clip.status = 'completed';
    },
  };
  return state;
}

export const aFault = (...given: ConstructorParameters<typeof BackendFault>): BackendFault =>
  new BackendFault(...given);
