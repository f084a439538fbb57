/** The behaviour of a link towards all that passes. With no field set it passes everything on as it comes. */
export interface LinkBehaviour {
  /** Every byte arrives this much later, both ways. */
  delayMs?: number;
  /** The most that passes, each way of each connection. */
  bytesPerSecond?: number;
  /** Bytes arrive in pieces of this size, each its own write. */
  sliceBytes?: number;
  /** Each connection is reset once this many bytes of replies have passed, counted from when this was set. */
  resetAfterBytes?: number;
  /** The end of one side reaches the other this much later. */
  closeDelayMs?: number;
  /** Requests arrive; replies are kept until this ends. */
  holdReplies?: boolean;
  /** Requests are kept until this ends; replies arrive. */
  holdRequests?: boolean;
  /** Connections are accepted and nothing passes either way, not even an end: a network that lost its packets. */
  blackHole?: boolean;
  /** New connections are refused, as where nobody listens. Open ones stay. */
  refuse?: boolean;
  /** New connections are accepted and reset at once. */
  resetOnAccept?: boolean;
}

/** Which way bytes go: `request` from whoever connected, `reply` to it. */
export type Direction = 'request' | 'reply';

/** Whether nothing may pass in this direction for now. */
export function isHeld({ blackHole, holdReplies, holdRequests }: LinkBehaviour, direction: Direction): boolean {
  return blackHole === true || (direction === 'reply' ? holdReplies : holdRequests) === true;
}
