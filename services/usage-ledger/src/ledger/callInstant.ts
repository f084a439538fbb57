/** The instant inside a call id, a UUIDv7: when the call was admitted, in milliseconds. It decides on the row's partition. */
export function callInstantMs(callId: string): number {
  return Number.parseInt(callId.slice(0, 8) + callId.slice(9, 13), 16);
}
