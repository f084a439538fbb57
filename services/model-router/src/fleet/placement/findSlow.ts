import { type EnginePace, FIXED_TOKENS } from './enginePace.ts';
import { lowerMedian } from './lowerMedian.ts';

/** An engine is slow that takes this many times as long as the others, for a first event or for a token of a stream … */
const SLOW_FACTOR = 4;
/** … and this much longer for the first event of the shortest call: what nobody feels is no reason. */
const SLOW_MS = 100;

interface Paced {
  readonly weight: number;
  readonly book: { readonly pace: EnginePace };
}

/**
 * The engines that are much slower than the others, as a throttled one is. What they took of late is compared with what is
 * usual in the long run: a moment of much work makes no engine look quick beside the others, nor does one stream that was held
 * up on its way and came all at once. A lighter engine may be slower in proportion.
 */
export function findSlow<Engine extends Paced>(engines: readonly Engine[]): ReadonlySet<Engine> {
  const usualFirst = usualFirstEvent(engines) ?? Number.POSITIVE_INFINITY;
  const usualStream = middleOf(engines, ({ streams }) => streams.usual) ?? Number.POSITIVE_INFINITY;
  const isSlow = ({ weight, book: { pace } }: Engine): boolean => {
    const first = (pace.firstEvents.now ?? 0) * weight;
    const isSlowToBegin = first > SLOW_FACTOR * usualFirst && (first - usualFirst) * FIXED_TOKENS > SLOW_MS;
    return isSlowToBegin || (pace.streams.now ?? 0) * weight > SLOW_FACTOR * usualStream;
  };
  return new Set(engines.filter(isSlow));
}

/**
 * Milliseconds that a token of a prompt usually takes up to the first event, on an engine of weight 1; undefined until it
 * is known.
 */
export const usualFirstEvent = (engines: readonly Paced[]): number | undefined =>
  middleOf(engines, ({ firstEvents }) => firstEvents.usual);

/** Of two engines it is the quicker one. */
function middleOf(engines: readonly Paced[], measure: (pace: EnginePace) => number | undefined): number | undefined {
  const known = engines.flatMap(({ weight, book }) => {
    const msPerToken = measure(book.pace);
    return msPerToken === undefined ? [] : [msPerToken * weight];
  });
  return lowerMedian(known);
}
