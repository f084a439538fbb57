import { z } from 'zod';
import { defineApi } from './internalApi.ts';

/** The routes of the control plane for services of the regions. */
export const controlPlaneApi = defineApi('control-plane', {
  readFeed: {
    callers: ['auth', 'usage-ledger'],
    method: 'GET',
    path: '/internal/feed',
    promise:
      "The entries of the caller's own region behind `after`, at most 500, as a page that the control plane signed. Which region it is, the caller's token says.",
    params: z.object({ after: z.coerce.number().int().min(0) }),
    answer: z.object({ page: z.string() }),
  },
});
