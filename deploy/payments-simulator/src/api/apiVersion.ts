import type { Stripe } from 'stripe';

/** The version of the API that the simulator plays. It has to be the client's own. */
export const API_VERSION: Stripe.LatestApiVersion = '2026-10-28.endive';
