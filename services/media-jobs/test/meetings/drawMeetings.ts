import { seededRandom } from '../../../../bench/seededRandom.ts';

/** Processes of media-jobs on one database. */
export const PROCESSES = 3;

/**
 * Who comes to the end of a job besides the worker that has it: its client, who deletes it, or looks at it; another process that finds it
 * late, or finds that its worker's lease has passed, or that the owner of its money is gone. To one that is completed already come its
 * client and, as it expires, whoever settles and removes it.
 */
export type ContenderKind = 'delete' | 'poll' | 'deadline' | 'takeover' | 'heir' | 'expiry';

export interface Contender {
  kind: ContenderKind;
  /** The process that it comes by. */
  process: number;
  /** Where it stands: before it looks at the job, or having looked, before it writes. */
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

/** Of a meeting of many, who starts last does so by so much after the first. */
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
    // Who is not the worker's process, so that nobody settles it before.
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
