import { seededRandom } from '../../../../bench/seededRandom.ts';

/** Processes of media-jobs on one database. */
export const PROCESSES = 3;

/**
 * Contenders for the end of a job, besides its worker. Its client deletes it or polls it. Another process finds it late, or finds
 * that its worker's lease or its owner is gone. A completed job has its client and, as it expires, the process that settles and
 * removes it.
 */
export type ContenderKind = 'delete' | 'poll' | 'deadline' | 'takeover' | 'heir' | 'expiry';

export interface Contender {
  kind: ContenderKind;
  /** The process that it comes by. */
  process: number;
  /** The position of the contender: before its look at the job, or after that look and before its write. */
  stands: 'before its look' | 'before its step';
}

export interface Meeting {
  index: number;
  operation: 'images.generations' | 'videos';
  /** Rendered, refused by its backend, or completed before the meeting. */
  worker: 'completes' | 'refused' | 'has completed';
  /** The process that makes the job, and owns its money. */
  maker: number;
  /** Whether a job that is taken over may have another attempt. */
  isLastAttempt: boolean;
  /** Whether a client waits for the job's end all the while. */
  isAwaited: boolean;
  contenders: Contender[];
  /** In which order they start, the worker being the last of the list, and how long after the first one each. */
  order: number[];
  offsetsMs: number[];
}

/** In a meeting of many, the last contender starts this much after the first. */
const MOST_OFFSET_MS = 0.6;

/** One meeting after the other, the same for the same seed. `workerOf` says which process the worker is in. */
export function drawMeetings(seed: number, { workerOf }: { workerOf: (index: number) => number }): () => Meeting {
  const share = seededRandom(seed);
  const below = (count: number): number => Math.floor(share() * count);
  const shuffled = <Item>(items: readonly Item[]): Item[] => {
    const left = [...items];
    return items.map(() => left.splice(below(left.length), 1)[0] as Item);
  };
  let index = -1;
  return () => {
    index += 1;
    const working = workerOf(index);
    const others = shuffled(Array.from({ length: PROCESSES }, (_, at) => at).filter((at) => at !== working));
    const lot = share();
    const worker = lot < 0.2 ? 'has completed' : lot < 0.3 ? 'refused' : 'completes';
    // Another process than the worker's, so that no process settles the job before.
    const maker = worker === 'has completed' ? (others[0] as number) : below(PROCESSES);
    const contenders = drawKinds(worker, share, shuffled).map((kind): Contender => {
      const stands = share() < 0.5 ? 'before its look' : 'before its step';
      if (kind === 'deadline') return { kind, process: others[0] as number, stands };
      if (kind === 'takeover') return { kind, process: others[1] as number, stands };
      if (kind === 'expiry') return { kind, process: maker, stands };
      return { kind, process: below(PROCESSES), stands };
    });
    const starters = contenders.length + (worker === 'has completed' ? 0 : 1);
    const isAtOnce = share() < 0.5;
    return {
      index,
      operation: share() < 0.35 ? 'videos' : 'images.generations',
      worker,
      maker,
      isLastAttempt: share() < 0.5,
      isAwaited: share() < 0.25,
      contenders,
      order: shuffled(Array.from({ length: starters }, (_, at) => at)),
      offsetsMs: Array.from({ length: starters }, (_, at) =>
        isAtOnce || at === 0 ? 0 : share() * MOST_OFFSET_MS,
      ).sort((a, b) => a - b),
    };
  };
}

/** One to three besides the worker, at least one of whom would end the job, or have what it made removed. */
function drawKinds(
  worker: Meeting['worker'],
  share: () => number,
  shuffled: <Item>(items: readonly Item[]) => Item[],
): ContenderKind[] {
  if (worker === 'has completed') {
    const all = shuffled<ContenderKind>(['delete', 'delete', 'expiry', 'poll']);
    return all.slice(0, share() < 0.5 ? 2 : 3);
  }
  const [first = 'delete', ...rest] = shuffled<ContenderKind>(['delete', 'deadline', 'takeover']);
  const others = shuffled<ContenderKind>([...rest, 'delete', 'poll', 'heir']);
  return [first, ...others.slice(0, Math.floor(share() * 3))];
}
