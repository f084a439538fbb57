import { callInstantMs } from './callInstant.ts';

/** The smallest call id of the UTC month that a call id lies in: where the partition of both begins. */
export function firstCallIdOfMonth(callId: string): string {
  const instant = new Date(callInstantMs(callId));
  const monthMs = Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth());
  const hex = monthMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
