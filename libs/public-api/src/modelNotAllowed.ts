import { NEVER_RETRY } from './headers.ts';
import { envelope, type WireError } from './wireError.ts';

/** The key is limited to other models. */
export interface ModelNotAllowed {
  kind: 'model_not_allowed';
  /** Catalog id. */
  model: string;
  allowedModels: readonly string[];
}

const MOST_NAMED = 5;
const ALL_OF = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** Words the refusal of a model, for text as for media. */
export function toModelNotAllowedError({ model, allowedModels }: ModelNotAllowed): WireError {
  const named = allowedModels.slice(0, MOST_NAMED);
  const more = allowedModels.length - named.length;
  const all = ALL_OF.format(more > 0 ? [...named, `${more} more`] : named);
  const message = `This key may not call ${model}, so nothing was run or charged. It may call ${all}; ask your administrator for others.`;
  return envelope(403, { message, type: 'permission_error', param: 'model', code: 'model_not_allowed' }, NEVER_RETRY);
}
