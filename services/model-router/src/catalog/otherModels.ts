import { pathsOfModel } from '@turnpike/internal-api/modelNames';
import type { PricedModel } from './catalog.ts';

const MAX_NAMED = 5;

/** Ends a refusal with the served models that have what the refused one lacks. Empty where none has it. */
export function nameModelsThat(served: () => readonly PricedModel[], can: (model: PricedModel) => boolean): string {
  const names = served()
    .filter(can)
    .slice(0, MAX_NAMED)
    .map(({ id }) => id);
  return names.length === 0 ? '' : `; models that do: ${names.join(', ')}`;
}

/** Refuses an operation, and says at which paths the model is called. */
export const toWrongOperation = (model: PricedModel, operation: string): string =>
  `${model.id} does not serve ${operation}; call it at ${pathsOfModel(model).join(' or ')}`;
