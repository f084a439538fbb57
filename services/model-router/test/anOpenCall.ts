import type { Ending, OpenCall } from '../src/money/call/openCalls.ts';

/** A call whose endings a test can look at. */
export interface RecordedCall extends Pick<OpenCall, 'callId' | 'end' | 'chargeOf'> {
  /** Every ending it was given, first one first; only the first one counts. */
  endings: Ending[];
  /** The routing target that the last one named. */
  target: string | undefined;
}

/** An open call without a book: `isKept` is what the book would say of its ending. */
export function anOpenCall({
  isKept = true,
  callId = 'call-1',
}: {
  isKept?: boolean;
  callId?: string;
} = {}): RecordedCall {
  return {
    callId,
    chargeOf: ({ completionTokens }) => BigInt(completionTokens),
    target: undefined,
    endings: [],
    async end(ending, target) {
      this.endings.push(ending);
      this.target = target;
      return isKept;
    },
  };
}
