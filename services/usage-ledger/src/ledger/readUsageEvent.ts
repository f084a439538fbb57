import { parseUsageRecorded, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { LARGEST_EVENT_BYTES } from '@turnpike/internal-api/usageLedger';

/** Why a record is not an event that can be recorded, in words for operators. Quotes nothing of the record. */
export class UnreadableRecord extends Error {
  override name = 'UnreadableRecord';
}

/** An instant is further ahead than two clocks may differ. */
export class AheadOfTime extends UnreadableRecord {
  override name = 'AheadOfTime';
}

export interface ReadContext {
  /** Region of this stack. Calls of another region are refused. */
  region: UsageRecorded['region'];
  /** Time by the database's clock, which all replicas share. */
  now: Date;
}

const EARLIEST_MS = Date.UTC(2025, 0, 1);
/** Most time that another machine's clock may be ahead. */
const CLOCK_TOLERANCE_MS = 60 * 60 * 1000;
const LONGEST_REASON = 500;

/** Reads a record's bytes. Throws `UnreadableRecord` for any record that the ledger must not store. */
export function readUsageEvent(value: Buffer, { region, now }: ReadContext): UsageRecorded {
  if (value.length > LARGEST_EVENT_BYTES) throw new UnreadableRecord('larger than any event');
  const event = parse(decode(value));
  const texts = [event.keyId, event.workspaceId, event.model, event.canonicalModel, event.reason ?? ''];
  const instants = [callInstantMs(event.callId), event.startedAtMs, event.endedAtMs];
  const latestMs = now.getTime() + CLOCK_TOLERANCE_MS;
  if (texts.some((text) => text.includes('\0') || !text.isWellFormed())) {
    throw new UnreadableRecord('a text holds a NUL or half a surrogate pair');
  }
  if (event.region !== region) throw new UnreadableRecord('the call belongs to another region');
  if (event.chargeNanoUsd > event.holdNanoUsd) throw new UnreadableRecord('the charge exceeds the hold');
  if (event.status !== 'success' && event.chargeNanoUsd > 0n) {
    throw new UnreadableRecord('a call that did not succeed is charged');
  }
  if (event.status !== 'success' && (event.units ?? 0) > 0) {
    throw new UnreadableRecord('a call that did not succeed has consumed units');
  }
  if (event.cachedPromptTokens > event.promptTokens) {
    throw new UnreadableRecord('more prompt tokens are cached than there are');
  }
  if (instants.some((instantMs) => instantMs < EARLIEST_MS)) throw new UnreadableRecord('an instant lies before 2025');
  // This check is the last, because every other fault of a record is permanent.
  if (instants.some((instantMs) => instantMs > latestMs)) {
    throw new AheadOfTime('an instant lies more than an hour ahead');
  }
  return event;
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

function decode(value: Buffer): string {
  try {
    return strictUtf8.decode(value);
  } catch (error) {
    throw new UnreadableRecord('not UTF-8', { cause: error });
  }
}

function parse(text: string): UsageRecorded {
  try {
    return parseUsageRecorded(text);
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'SyntaxError')
      throw new UnreadableRecord('not JSON', { cause: error });
    throw new UnreadableRecord(error.message.slice(0, LONGEST_REASON), { cause: error });
  }
}

/** The instant inside a call id, a UUIDv7: when the call was admitted, in milliseconds. It decides on the row's partition. */
export function callInstantMs(callId: string): number {
  return Number.parseInt(callId.slice(0, 8) + callId.slice(9, 13), 16);
}
