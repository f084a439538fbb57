import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { parsePrice } from '@turnpike/money/price';
import { computeUnitCharge } from '@turnpike/money/unitPrice';
import type { PriceText } from '../catalog/mediaCatalog.ts';
import type { MediaOperation, MediaRequest } from '../terms/mediaRequest.ts';

/** Inputs of the charge that are fixed at the admission. A job has them in its row. */
export interface MediaCall extends PriceText {
  callId: string;
  workspaceId: string;
  keyId: string;
  operation: MediaOperation;
  /** Canonical id. */
  model: string;
  priceVersion: number;
  /** The most that can be measured of it: images, characters, whole seconds. */
  unitsBound: number;
  holdNanoUsd: NanoUsd;
}

/** Returns the charge of so many units, at the price of the admission. */
export const chargeOf = (units: number, { billingUnit, unitPrice }: PriceText): NanoUsd =>
  computeUnitCharge(units, { billingUnit, price: parsePrice(unitPrice) });

/** Returns the charge of one unit at the lowest of these prices; 0 if there are none. */
export function leastCharge(prices: readonly PriceText[]): NanoUsd {
  const [least = 0n] = prices.map((price) => chargeOf(1, price)).sort((a, b) => (a < b ? -1 : 1));
  return least;
}

/** How many units an amount pays for, up to `most`. */
export function payableUnits(availableNanoUsd: NanoUsd, { most, ...price }: PriceText & { most: number }): number {
  let [payable, tooMany] = [0, most + 1];
  while (tooMany - payable > 1) {
    const units = Math.floor((payable + tooMany) / 2);
    if (chargeOf(units, price) <= availableNanoUsd) payable = units;
    else tooMany = units;
  }
  return payable;
}

/** Returns the most units that can be measured of a request. A recording is decoded before anything is held: its seconds are rounded up. */
export function boundUnits(request: MediaRequest, { heardSeconds }: { heardSeconds?: number } = {}): number {
  switch (request.operation) {
    case 'images.generations':
      return request.n;
    case 'videos':
      return request.seconds;
    case 'audio.speech':
      return request.characters;
    case 'audio.transcriptions':
    case 'audio.translations':
      if (heardSeconds === undefined) throw new Error('a recording is measured before its call is admitted');
      return Math.ceil(heardSeconds);
  }
}
