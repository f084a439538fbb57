import type { OpenCall } from '../src/money/call/callBook.ts';
import type { Ending } from '../src/money/call/toEvent.ts';

/** A call whose endings a test can look at. */
export interface RecordedCall extends OpenCall {
  /** Every ending it was given, first one first; only the first one counts. */
  endings: Ending[];
}

/** An open call without a book: `isKept` is what the book would say of its hold. */
export function anOpenCall({
  isKept = true,
  callId = 'call-1',
}: {
  isKept?: boolean;
  callId?: string;
} = {}): RecordedCall {
  return {
    callId,
    target: '',
    onLeaseLost: () => {},
    endings: [],
    async end(ending) {
      this.endings.push(ending);
      return isKept;
    },
  };
}
