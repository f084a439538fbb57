import { replayDeadLetter } from '../../../services/usage-ledger/src/dead-letters/replayDeadLetter.ts';
import { asItIs, type Stack } from './stack.ts';

/** The start of a record's text that is cut off, so that it cannot be parsed. */
const CUT_OFF = '{';

/** From now on the log spoils some of the events that are written to it. */
export function spoilEvents({ log, world }: Stack): void {
  log.write = (text) => {
    if (!world.random.chance(0.4)) return text;
    world.note(`the event of call ${(JSON.parse(text) as { callId: string }).callId.slice(-4)} is spoilt`);
    return text.slice(CUT_OFF.length);
  };
}

/** Spoils no more, and replays each dead letter as it should have been, however often it has to be tried. */
export async function replayLetters({ log, world, database, truth }: Stack): Promise<void> {
  log.write = asItIs;
  const waiting = () => database.tables.deadLetters.find(({ isReplayed }) => !isReplayed);
  for (let letter = waiting(); letter; letter = waiting()) {
    const { id, payload } = letter;
    const repaired = Buffer.from(CUT_OFF + payload);
    world.note(`dead letter ${id} is replayed`);
    truth.replayed.add((JSON.parse(String(repaired)) as { callId: string }).callId);
    await replayDeadLetter(database.asDb(), { id, repaired, region: 'us' }).catch(() => world.sleep(200));
  }
}
