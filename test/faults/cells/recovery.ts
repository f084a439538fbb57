import type { CellTable } from '../cell.ts';
import type { AllowedMediaOutcomes, AllowedOutcomes } from '../cellContext.ts';
import { disturb, type Fault, freeze, kill } from '../fault.ts';
import { breakMedia, REFUSED } from './media.ts';

/** A part whose trouble has no cell among those of its own group. */
interface TroubledPart {
  part: string;
  ways: readonly ('slow' | 'away' | 'hung')[];
  /** How chats may end meanwhile, beside well. */
  chats?: AllowedOutcomes;
  /** How media calls may end meanwhile, beside well: they are made in place of chats. */
  media?: AllowedMediaOutcomes;
  eventLog: 'kafka' | 'embedded';
  s3?: true;
}

const PARTS: readonly TroubledPart[] = [
  { part: 'auth', ways: ['hung'], eventLog: 'kafka' },
  { part: 'catalog', ways: ['slow', 'hung'], eventLog: 'kafka' },
  { part: 'kafka', ways: ['slow', 'away', 'hung'], eventLog: 'kafka' },
  { part: 'media-jobs', ways: ['slow', 'away', 'hung'], media: REFUSED, eventLog: 'embedded' },
  { part: 's3', ways: ['slow'], media: REFUSED, eventLog: 'embedded', s3: true },
];

/** Each way there and back: longer than deadlines of a second. */
const SLOW_MS = 1_500;
/** Longer than every lease of the stack. */
const FOR_MS = 8_000;
const SERVES_WITHIN_MS = 5_000;

const WAYS: Record<TroubledPart['ways'][number], { breaks: string; of: (part: string) => Fault }> = {
  slow: {
    breaks: `all that goes to and from it takes ${SLOW_MS} ms longer each way`,
    of: (part) => disturb({ to: part as 'auth' }, { delayMs: SLOW_MS }),
  },
  away: { breaks: 'kill -9', of: kill },
  hung: { breaks: 'SIGSTOP', of: freeze },
};

/** Cells `<part>-slow-long`, `-away-long` and `-hung-long`: all else admits again within 5 s once the part is back. */
export const recovery: CellTable = Object.fromEntries(
  PARTS.flatMap((part) => part.ways.map((way) => [`${part.part}-${way}-long`, toCell(part, way)])),
);

function toCell(
  { part, chats, media, eventLog, s3 }: TroubledPart,
  way: TroubledPart['ways'][number],
): CellTable[string] {
  const facts = {
    breaks: `${part}, for ${FOR_MS / 1_000} s: ${WAYS[way].breaks}`,
    holds: `${media ? 'media calls end well or are refused' : 'every chat ends well'}; all is admitted again within 5 s`,
    eventLog,
    ...(s3 && { s3, serviceSettings: {} }),
  };
  const fault = WAYS[way].of(part);
  if (!media)
    return {
      ...facts,
      fault,
      forMs: FOR_MS,
      load: { perSecond: 40 },
      ends: { ok: true, ...chats },
    };
  return {
    ...facts,
    async run(context) {
      await breakMedia(context, { fault, forMs: FOR_MS, perSecond: 5, ends: { ok: true, ...media } });
      context.checkRecovery(SERVES_WITHIN_MS);
    },
  };
}
