import { UNREAD_MS } from './limits.ts';

/** A stream that its client does not read. */
export interface UnreadStream {
  readonly keyId: string;
  /** Ends it as if its client had left. */
  cutUnread(): void;
}

/** The streams of one model that nobody reads, and that keep their engines' room all the same. */
export class UnreadStreams {
  /** Since when, longest first. */
  readonly #since = new Map<UnreadStream, number>();

  add(stream: UnreadStream, nowMs: number): void {
    this.#since.set(stream, nowMs);
  }

  remove(stream: UnreadStream): void {
    this.#since.delete(stream);
  }

  /** The one to cut so that others have its room: of the key with most that were unread for 5 s, the one unread longest. */
  find(isWaitedFor: (keyId: string) => boolean, nowMs: number): UnreadStream | undefined {
    const byKey = new Map<string, { first: UnreadStream; count: number }>();
    for (const [stream, sinceMs] of this.#since) {
      if (nowMs - sinceMs < UNREAD_MS) break;
      const known = byKey.get(stream.keyId);
      if (known) known.count += 1;
      else byKey.set(stream.keyId, { first: stream, count: 1 });
    }
    const most = [...byKey.values()].sort((a, b) => b.count - a.count);
    return most.find(({ first }) => isWaitedFor(first.keyId))?.first;
  }
}
